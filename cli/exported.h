/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A recording on its way into a format of other tools. */
#ifndef SEAM_CLI_EXPORTED_H
#define SEAM_CLI_EXPORTED_H

#include "cli/input.h"
#include "export/export.h"

struct exported_to {
	int fd;
	const char *path; /* NULL: standard output */
	int err; /* what writing failed with, -errno */
};

/* The samples that the options of an open input let through. ret may be NULL.
 * Return: 0, or -1, said on stderr. */
int exported_write(struct input *in, enum seam_export_format format,
		   struct exported_to *to, struct seam_export_counts *ret);

#endif
