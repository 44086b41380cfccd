/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Finds the items of an array by what they hold: a hash table of their
 * numbers. What makes two items equal is the caller's to say:
 *
 *	for (size_t at = 0; seam_index_next(&ix, hash, &at, &i);)
 *		if (is_wanted(&items[i]))
 *			return i;
 *	seam_index_add(&ix, hash, n_items);
 */
#ifndef SEAM_LIB_BASE_INDEX_H
#define SEAM_LIB_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seam_index {
	struct seam_index_slot {
		uint32_t hash; /* the upper half of what was mixed */
		uint32_t number; /* + 1; 0: free */
	} * slots;
	size_t n, n_slots; /* n_slots: 0 or a power of two */
};

/* The next number under a hash, from *at on, which begins as 0. Return: false:
 * no more. */
bool seam_index_next(const struct seam_index *ix, uint64_t hash, size_t *at,
		     uint32_t *ret_number);
/* Return: 0; -ENOMEM; -EOVERFLOW: number is UINT32_MAX or more. */
int seam_index_add(struct seam_index *ix, uint64_t hash, size_t number);
void seam_index_fini(struct seam_index *ix);

/* The hash of bytes behind those that gave the hash so far. */
#define SEAM_HASH_START 0xcbf29ce484222325ULL
uint64_t seam_hash(uint64_t hash, const void *bytes, size_t len);

#endif
