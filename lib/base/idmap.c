// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/idmap.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 64

static size_t home(const struct seam_idmap *map, uint64_t id)
{
	return (size_t)((id * 0x9e3779b97f4a7c15ULL) >> 20) &
	       (map->n_slots - 1);
}

/* The slot that holds id, or the free one where it would go. */
static struct seam_idmap_slot *probe(const struct seam_idmap *map, uint64_t id)
{
	size_t i = home(map, id);

	while (map->slots[i].value && map->slots[i].id != id)
		i = (i + 1) & (map->n_slots - 1);
	return &map->slots[i];
}

static int grow(struct seam_idmap *map)
{
	struct seam_idmap next = {
		.n_slots = map->n_slots ? map->n_slots * 2 : FIRST_SLOTS,
		.used = map->used,
	};

	next.slots = calloc(next.n_slots, sizeof(*next.slots));
	if (!next.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_slots; i++)
		if (map->slots[i].value)
			*probe(&next, map->slots[i].id) = map->slots[i];
	free(map->slots);
	*map = next;
	return 0;
}

void *seam_idmap_get(const struct seam_idmap *map, uint64_t id)
{
	return map->n_slots ? probe(map, id)->value : NULL;
}

int seam_idmap_put(struct seam_idmap *map, uint64_t id, void *value)
{
	struct seam_idmap_slot *slot;

	if (!value) {
		seam_idmap_remove(map, id);
		return 0;
	}
	if (map->used * 4 >= map->n_slots * 3) {
		int err = grow(map);

		if (err)
			return err;
	}
	slot = probe(map, id);
	if (!slot->value)
		map->used++;
	slot->id = id;
	slot->value = value;
	return 0;
}

void *seam_idmap_make(struct seam_idmap *map, uint64_t id, size_t size)
{
	void *value = seam_idmap_get(map, id);

	if (value)
		return value;
	value = calloc(1, size);
	if (value && seam_idmap_put(map, id, value)) {
		free(value);
		return NULL;
	}
	return value;
}

/* Frees a slot; what it had pushed along must be found again. */
static void vacate(struct seam_idmap *map, size_t i)
{
	map->slots[i].value = NULL;
	map->used--;
	for (;;) {
		struct seam_idmap_slot moved;

		i = (i + 1) & (map->n_slots - 1);
		if (!map->slots[i].value)
			return;
		moved = map->slots[i];
		map->slots[i].value = NULL;
		*probe(map, moved.id) = moved;
	}
}

void *seam_idmap_remove(struct seam_idmap *map, uint64_t id)
{
	struct seam_idmap_slot *slot;
	void *value;

	if (!map->n_slots)
		return NULL;
	slot = probe(map, id);
	value = slot->value;
	if (value)
		vacate(map, (size_t)(slot - map->slots));
	return value;
}

void seam_idmap_each(const struct seam_idmap *map,
		     void (*fn)(void *ctx, uint64_t id, void *value), void *ctx)
{
	for (size_t i = 0; i < map->n_slots; i++)
		if (map->slots[i].value)
			fn(ctx, map->slots[i].id, map->slots[i].value);
}

/* To vacate a slot moves others only to where the walk still comes, or from
 * where it has been. */
void seam_idmap_sweep(struct seam_idmap *map,
		      bool (*fn)(void *ctx, uint64_t id, void *value),
		      void *ctx)
{
	for (size_t i = 0; i < map->n_slots; i++)
		while (map->slots[i].value &&
		       fn(ctx, map->slots[i].id, map->slots[i].value))
			vacate(map, i);
}

void seam_idmap_fini(struct seam_idmap *map, void (*release)(void *value))
{
	for (size_t i = 0; release && i < map->n_slots; i++)
		if (map->slots[i].value)
			release(map->slots[i].value);
	free(map->slots);
	*map = (struct seam_idmap){0};
}
