/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When memory runs out. A test puts its own allocators in the place of the C
 * library's, and asks here. */
#ifndef SEAM_TESTS_OOM_H
#define SEAM_TESTS_OOM_H

#include <errno.h>
#include <stdbool.h>

static long left = -1; /* allocations until they fail; -1: never */

/* In several threads at once, too. */
static bool may_allocate(void)
{
	long now = __atomic_load_n(&left, __ATOMIC_RELAXED);

	while (now > 0 &&
	       !__atomic_compare_exchange_n(&left, &now, now - 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (!now)
		errno = ENOMEM;
	return now;
}

#endif
