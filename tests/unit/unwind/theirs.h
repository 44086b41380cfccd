/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The C library's stack, to compare with. AddressSanitizer puts a frame of its
 * own in front. */
#ifndef SEAM_TESTS_UNIT_UNWIND_THEIRS_H
#define SEAM_TESTS_UNIT_UNWIND_THEIRS_H

#include <execinfo.h>
#include <string.h>

/* The stack of a function that will return to ra: its caller is v[1]. */
static inline __attribute__((always_inline)) int take_theirs(void **v, int max,
							     const void *ra)
{
	int n = backtrace(v, max), skip = 0;

	while (skip + 1 < n && v[skip + 1] != ra)
		skip++;
	memmove(v, v + skip, sizeof(*v) * (size_t)(n - skip));
	return n - skip;
}

#endif
