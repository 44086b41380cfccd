// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/opts.h"

#include <errno.h>
#include <string.h>

#include "event/fail.h"

/* No version had less in one, or has more: else it is not a size. */
#define MIN_SIZE (2 * sizeof(size_t))
#define MAX_SIZE 4096

static size_t size_of(const void *opts)
{
	size_t size;

	memcpy(&size, opts, sizeof(size));
	return size < MIN_SIZE || size > MAX_SIZE ? 0 : size;
}

int seam_opts_take(void *to, size_t size, const void *from, const char *what,
		   struct seam_errinfo *reterr)
{
	size_t theirs = size_of(from);
	const unsigned char *bytes = from;

	if (!theirs)
		return seam_fail(reterr, -EINVAL,
				 "%s: sz is not its size: set it to sizeof",
				 what);
	for (size_t i = size; i < theirs; i++)
		if (bytes[i])
			return seam_fail(reterr, -E2BIG,
					 "%s asks for what a later version of "
					 "seam has: this is " SEAM_VERSION,
					 what);
	memset(to, 0, size);
	memcpy(to, from, theirs < size ? theirs : size);
	memcpy(to, &size, sizeof(size));
	return 0;
}

int seam_opts_give(void *to, const void *from, size_t size)
{
	size_t theirs = size_of(to);

	if (!theirs)
		return -EINVAL;
	memset(to, 0, theirs);
	memcpy(to, from, theirs < size ? theirs : size);
	memcpy(to, &theirs, sizeof(theirs));
	return 0;
}
