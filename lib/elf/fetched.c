// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "elf/fetched.h"

#include <stdio.h>
#include <stdlib.h>

bool seam_fetched_name(char to[static PATH_MAX], const char *hex,
		       const char *what)
{
	static const struct {
		const char *variable, *below;
	} place[] = {
		{"DEBUGINFOD_CACHE_PATH", ""},
		{"XDG_CACHE_HOME", "/debuginfod_client"},
		{"HOME", "/.cache/debuginfod_client"},
	};
	const char *dir, *below;
	size_t i = 0;
	int n;

	do {
		dir = getenv(place[i].variable);
		below = place[i].below;
	} while ((!dir || !dir[0]) && ++i < 3);
	/* Of these only debuginfod's own may be a relative one. */
	if (!dir || !dir[0] || (i && dir[0] != '/'))
		return false;
	n = snprintf(to, PATH_MAX, "%s%s/%s/%s", dir, below, hex, what);
	return n > 0 && n < PATH_MAX;
}

bool seam_perf_kept_name(char to[static PATH_MAX], const char *hex,
			 const char *what)
{
	const char *dir = getenv("HOME");
	int n;

	if (!dir || dir[0] != '/')
		return false;
	n = snprintf(to, PATH_MAX, "%s/.debug/.build-id/%.2s/%s/%s", dir, hex,
		     hex + 2, what);
	return n > 0 && n < PATH_MAX;
}
