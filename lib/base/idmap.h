/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A map from 64-bit numbers to pointers: open addressing, grows by itself.
 * The values are the caller's; NULL is no value.
 */
#ifndef SEAM_LIB_BASE_IDMAP_H
#define SEAM_LIB_BASE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seam_idmap {
	struct seam_idmap_slot {
		uint64_t id;
		void *value; /* NULL: free */
	} * slots;
	size_t n_slots, used; /* n_slots: 0 or a power of two */
};

void *seam_idmap_get(const struct seam_idmap *map, uint64_t id);
/* Replaces what was there. Return: 0 or -ENOMEM. */
int seam_idmap_put(struct seam_idmap *map, uint64_t id, void *value);
/* What id has; if nothing, a new value of size zeroed bytes by calloc.
 * Return: NULL: no memory. */
void *seam_idmap_make(struct seam_idmap *map, uint64_t id, size_t size);
/* Return: what was removed, or NULL. */
void *seam_idmap_remove(struct seam_idmap *map, uint64_t id);
/* fn may change what a value points to, not the map. */
void seam_idmap_each(const struct seam_idmap *map,
		     void (*fn)(void *ctx, uint64_t id, void *value),
		     void *ctx);
/* Removes each id for which fn says so, which releases its value. fn may be
 * asked again for an id that it kept. */
void seam_idmap_sweep(struct seam_idmap *map,
		      bool (*fn)(void *ctx, uint64_t id, void *value),
		      void *ctx);
/* Frees the slots; each value is first given to release, unless NULL. */
void seam_idmap_fini(struct seam_idmap *map, void (*release)(void *value));

#endif
