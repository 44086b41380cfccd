// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/maps-path.h"

#include <string.h>

#include "core/arch.h"

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

bool seam_maps_is_probe_page(const char *path)
{
	return !strncmp(path, SEAM_AMD64_PROBE_PAGE,
			sizeof(SEAM_AMD64_PROBE_PAGE) - 1);
}
