/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The closing summary of `seam record`, for people and as JSON. */
#ifndef SEAM_CLI_SUMMARY_H
#define SEAM_CLI_SUMMARY_H

#include "cli/messages.h"
#include "record/summary.h"

void summary_print(struct message *to, const struct seam_summary *sum,
		   const char *output);
/* Return: 0 or -errno. */
int summary_write_json(const char *path, const struct seam_summary *sum);

#endif
