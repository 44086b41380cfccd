// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/maps-path.h"

#include <string.h>

static const char newline[] = "\\012";

bool seam_maps_path_is_unsure(const char *path)
{
	return strstr(path, newline);
}

char *seam_maps_path_other(const char *path)
{
	char *other = seam_maps_path_is_unsure(path) ? strdup(path) : NULL;
	char *at = other;

	while (at && (at = strstr(at, newline)) != NULL) {
		*at++ = '\n';
		memmove(at, at + sizeof(newline) - 2,
			strlen(at + sizeof(newline) - 2) + 1);
	}
	return other;
}
