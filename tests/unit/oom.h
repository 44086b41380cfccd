/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When memory runs out. A test puts its own allocators in the place of the C
 * library's, and asks here. */
#ifndef SEAM_TESTS_OOM_H
#define SEAM_TESTS_OOM_H

#include <errno.h>
#include <stdbool.h>

static long left = -1; /* allocations until they fail; -1: never */

static bool may_allocate(void)
{
	if (!left) {
		errno = ENOMEM;
		return false;
	}
	if (left > 0)
		left--;
	return true;
}

#endif
