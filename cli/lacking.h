/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Files that stack copies could not be unwound for lack of, on stderr. */
#ifndef SEAM_CLI_LACKING_H
#define SEAM_CLI_LACKING_H

#include <stdint.h>

struct lacking {
	const char *recording;
	unsigned long long files, more;
};

/* One of them; ctx: struct lacking. */
void lacking_file(void *ctx, const char *path, const char *why,
		  uint64_t stacks);
/* After the last: how many were not worth a line. */
void lacking_end(const struct lacking *l);

#endif
