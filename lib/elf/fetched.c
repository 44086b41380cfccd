// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "elf/fetched.h"

#include <stdio.h>
#include <stdlib.h>

bool seam_fetched_name(char to[static PATH_MAX], const char *hex,
		       const char *what)
{
	const char *dir = getenv("DEBUGINFOD_CACHE_PATH"), *below = "";
	int n;

	if (!dir || !dir[0]) {
		dir = getenv("XDG_CACHE_HOME");
		below = "/debuginfod_client";
	}
	if (!dir || !dir[0]) {
		dir = getenv("HOME");
		below = "/.cache/debuginfod_client";
	}
	if (!dir || dir[0] != '/')
		return false;
	n = snprintf(to, PATH_MAX, "%s%s/%s/%s", dir, below, hex, what);
	return n > 0 && n < PATH_MAX;
}
