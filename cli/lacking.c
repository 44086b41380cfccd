// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/lacking.h"

#include <stdio.h>

#include "cli/messages.h"

/* Not every file of a large recording is worth a line. */
#define LINES_MAX 8

void lacking_file(void *ctx, const char *path, const char *why, uint64_t stacks)
{
	struct lacking *l = ctx;

	if (l->files++ < LINES_MAX)
		say("seam: %s: %llu stacks end in %s: %s\n", l->recording,
		    (unsigned long long)stacks, path, why);
	else
		l->more += stacks;
}

void lacking_end(const struct lacking *l)
{
	if (l->more)
		say("seam: %s: %llu stacks end in %llu more files\n",
		    l->recording, l->more, l->files - LINES_MAX);
}
