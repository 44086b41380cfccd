/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The files whose code this process has mapped. */
#ifndef SEAM_TESTS_OWN_TEXT_H
#define SEAM_TESTS_OWN_TEXT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

struct own_text {
	uint64_t start, end, off;
	char path[512];
};

/* The next of /proc/self/maps. Return: false: there is none. */
static bool next_own_text(FILE *maps, struct own_text *ret)
{
	char line[1024], prot[8];

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64
			   " %*s %*s %511s",
			   &ret->start, &ret->end, prot, &ret->off,
			   ret->path) == 5 &&
		    prot[2] == 'x' && ret->path[0] == '/')
			return true;
	return false;
}

#endif
