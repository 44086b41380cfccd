// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/grow.h"

#define HUGE (2u << 20)

/* Each record behind its size, both in 8-byte steps. */
static size_t step(size_t size)
{
	return sizeof(uint64_t) + ((size + 7) & ~(size_t)7);
}

/* Stack copies fill it as fast as the kernel brings pages in, and where it is
 * a virtual machine's that is slow: 64 MiB took 250 ms in small pages, 6 in
 * huge ones. */
static int grow_huge(struct seam_batch *b, size_t need)
{
	size_t n = HUGE;
	uint8_t *p;

	if (need > PTRDIFF_MAX / 2)
		return -ENOMEM;
	while (n < need)
		n *= 2;
	p = aligned_alloc(HUGE, n);
	if (!p)
		return -ENOMEM;
	/* Where it may not be, small ones do. */
	(void)madvise(p, n, MADV_HUGEPAGE);
	if (b->used)
		memcpy(p, b->bytes, b->used);
	free(b->bytes);
	b->bytes = p;
	b->room = n;
	return 0;
}

static int grow(struct seam_batch *b, size_t need)
{
	if (need <= b->room)
		return 0;
	return need <= HUGE / 2 ? seam_grow(&b->bytes, need, &b->room, 1)
				: grow_huge(b, need);
}

bool seam_batch_add(struct seam_batch *b, const struct seam_wire *rec,
		    size_t size)
{
	uint64_t size64 = size;

	if (grow(b, b->used + step(size))) {
		b->err = -ENOMEM;
		b->n_dropped++;
		return false;
	}
	memcpy(b->bytes + b->used, &size64, sizeof(size64));
	memcpy(b->bytes + b->used + sizeof(size64), rec, size);
	b->used += step(size);
	return true;
}

const struct seam_wire *seam_batch_next(const struct seam_batch *b, size_t *at,
					size_t *ret_size)
{
	const uint8_t *p = b->bytes + *at;
	uint64_t size;

	if (*at >= b->used)
		return NULL;
	memcpy(&size, p, sizeof(size));
	*at += step((size_t)size);
	*ret_size = (size_t)size;
	return (const struct seam_wire *)(const void *)(p + sizeof(size));
}

void seam_batch_clear(struct seam_batch *b)
{
	b->used = 0;
	b->err = 0;
}

void seam_batch_fini(struct seam_batch *b)
{
	free(b->bytes);
	*b = (struct seam_batch){0};
}
