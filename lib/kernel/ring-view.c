// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "kernel/ring-view.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* A ring's first page has the one position, the second the other, then come its
 * records. */
int seam_ring_view_open(struct seam_ring_view *v, int ring_fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, ring_fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	v->taken = at;
	v->put = (const uint64_t *)((const char *)at + page);
	return 0;
}

void seam_ring_view_close(struct seam_ring_view *v)
{
	if (v->taken)
		munmap((void *)(uintptr_t)v->taken,
		       2 * (size_t)sysconf(_SC_PAGESIZE));
	v->taken = v->put = NULL;
}

uint64_t seam_ring_put(const struct seam_ring_view *v)
{
	return v->put ? __atomic_load_n(v->put, __ATOMIC_ACQUIRE) : 0;
}

bool seam_ring_taken(const struct seam_ring_view *v, uint64_t put)
{
	return !v->taken ||
	       (int64_t)(__atomic_load_n(v->taken, __ATOMIC_ACQUIRE) - put) >=
		       0;
}
