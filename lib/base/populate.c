// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/populate.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE_MIN 4096u
/* Of a few pages it is not worth a system call. */
#define WORTH (8 * PAGE_MIN)

/* Where the kernel does not know this, faults do it. */
void seam_populate(void *p, size_t size)
{
#ifdef MADV_POPULATE_WRITE
	const uintptr_t at = (uintptr_t)p;
	const uintptr_t first = (at + PAGE_MIN - 1) & -(uintptr_t)PAGE_MIN;
	const uintptr_t last = (at + size) & -(uintptr_t)PAGE_MIN;
	const int saved_errno = errno;

	if (last > first && last - first >= WORTH)
		(void)madvise((void *)first, last - first, MADV_POPULATE_WRITE);
	errno = saved_errno;
#else
	(void)p;
	(void)size;
#endif
}
