// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 64

/* The upper half depends on all bits of a hash, however it was made. */
static uint32_t mix(uint64_t hash)
{
	return (uint32_t)(((hash ^ hash >> 29) * 0x9e3779b97f4a7c15ULL) >> 32);
}

static struct seam_index_slot *slot_at(const struct seam_index *ix, size_t i)
{
	return &ix->slots[i & (ix->n_slots - 1)];
}

bool seam_index_next(const struct seam_index *ix, uint64_t hash, size_t *at,
		     uint32_t *ret_number)
{
	uint32_t wanted = mix(hash);

	if (!ix->n_slots)
		return false;
	for (;;) {
		const struct seam_index_slot *slot =
			slot_at(ix, wanted + (*at)++);

		if (!slot->number)
			return false;
		if (slot->hash == wanted) {
			*ret_number = slot->number - 1;
			return true;
		}
	}
}

static void place(struct seam_index *ix, struct seam_index_slot slot)
{
	size_t i = slot.hash;

	while (slot_at(ix, i)->number)
		i++;
	*slot_at(ix, i) = slot;
}

static int grow(struct seam_index *ix)
{
	struct seam_index next = {
		.n = ix->n,
		.n_slots = ix->n_slots ? ix->n_slots * 2 : FIRST_SLOTS,
	};

	next.slots = calloc(next.n_slots, sizeof(*next.slots));
	if (!next.slots)
		return -ENOMEM;
	for (size_t i = 0; i < ix->n_slots; i++)
		if (ix->slots[i].number)
			place(&next, ix->slots[i]);
	free(ix->slots);
	*ix = next;
	return 0;
}

int seam_index_add(struct seam_index *ix, uint64_t hash, size_t number)
{
	if (number >= UINT32_MAX)
		return -EOVERFLOW;
	if (ix->n >= ix->n_slots / 2 && grow(ix))
		return -ENOMEM;
	place(ix, (struct seam_index_slot){mix(hash), (uint32_t)number + 1});
	ix->n++;
	return 0;
}

void seam_index_fini(struct seam_index *ix)
{
	free(ix->slots);
	*ix = (struct seam_index){0};
}

/* FNV-1a */
uint64_t seam_hash(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * 0x100000001b3;
	return hash;
}
