// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/proc-stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool seam_proc_stat_read(uint32_t pid, struct seam_proc_stat *ret)
{
	/* Fifty numbers, of twenty digits at most, and a name. */
	char path[32], text[2048];
	const char *behind;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	/* Not a line: some kernels write the name's newlines as they are. */
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	behind = strrchr(text, ')');
	return behind && sscanf(behind + 1,
				" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
				"%*u %*u %*d %*d %*d %*d %*d %*d %llu",
				&ret->state, &ret->start_ticks) == 2;
}
