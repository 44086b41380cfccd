// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A builder's functions by their starts. What does not come in order is sorted
 * by keys of eight bytes, which caches hold where entries would not fit.
 */
#include <stdlib.h>

#include "sframe/encode-private.h"

#define RADIX_BITS 11

/* A key is a start's distance from the lowest, above the entry's number. */
struct keys {
	uint64_t *v, *scratch;
	size_t num;
	unsigned int number_bits, bits;
};

static unsigned int bits_of(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}

/* Return: false: they do not fit, of a file that spans half of what addresses
 * there are. */
static bool make_keys(struct keys *k, const struct seam_sframe_entry *v,
		      uint64_t base)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < k->num; i++) {
		uint64_t at = v[i].start - base;

		low = at < low ? at : low;
		high = at > high ? at : high;
	}
	k->number_bits = bits_of(k->num);
	k->bits = k->number_bits + bits_of(k->num ? high - low : 0);
	if (k->bits > 64)
		return false;
	for (size_t i = 0; i < k->num; i++)
		k->v[i] = (v[i].start - base - low) << k->number_bits | i;
	return true;
}

/* One pass of a radix sort: those with the same RADIX_BITS stay in order. */
static void sort_pass(struct keys *k, unsigned int shift)
{
	size_t at[1 << RADIX_BITS] = {0}, sum = 0;
	size_t mask = (1 << RADIX_BITS) - 1;
	uint64_t *from = k->v, *to = k->scratch;

	for (size_t i = 0; i < k->num; i++)
		at[from[i] >> shift & mask]++;
	for (size_t i = 0; i <= mask; i++) {
		size_t count = at[i];

		at[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < k->num; i++)
		to[at[from[i] >> shift & mask]++] = from[i];
	k->v = to;
	k->scratch = from;
}

/* Rows of what was added first lie first. */
static int compare(const void *a, const void *b, void *base)
{
	const struct seam_sframe_entry *x = a, *y = b;
	uint64_t at_x = x->start - *(uint64_t *)base;
	uint64_t at_y = y->start - *(uint64_t *)base;

	if (at_x != at_y)
		return at_x < at_y ? -1 : 1;
	return x->fre_off < y->fre_off ? -1 : x->fre_off > y->fre_off;
}

/* Leaves the numbers of v's entries, by start, in the keys' number_bits. Text
 * of a few MiB takes two or three passes. */
static void sort_any(struct keys *k, struct seam_sframe_entry *v, uint64_t base)
{
	if (make_keys(k, v, base)) {
		for (unsigned int shift = k->number_bits; shift < k->bits;
		     shift += RADIX_BITS)
			sort_pass(k, shift);
		return;
	}
	qsort_r(v, k->num, sizeof(*v), compare, &base);
	for (size_t i = 0; i < k->num; i++)
		k->v[i] = i;
}

/*
 * Those that are not below all before them stay in v, in front. Return: how
 * many; the others are in rest, one behind the other as they were.
 */
static size_t split(struct seam_sframe_entry *v, size_t num,
		    struct seam_sframe_entry *rest, uint64_t base)
{
	uint64_t top = 0;
	size_t stay = 0;

	for (size_t i = 0; i < num; i++) {
		if (v[i].start - base < top) {
			rest[i - stay] = v[i];
			continue;
		}
		top = v[i].start - base;
		v[stay++] = v[i];
	}
	return stay;
}

/* From the back, so that v has room. Of equal ones those of v came first. */
static void merge(struct seam_sframe_entry *v, size_t stay,
		  const struct seam_sframe_entry *rest, const struct keys *k,
		  uint64_t base)
{
	uint64_t mask = ((uint64_t)1 << k->number_bits) - 1;

	for (size_t num = k->num; num;) {
		const struct seam_sframe_entry *e = &rest[k->v[num - 1] & mask];

		if (stay && v[stay - 1].start - base > e->start - base) {
			v[stay + num - 1] = v[stay - 1];
			stay--;
		} else {
			v[stay + num - 1] = *e;
			num--;
		}
	}
}

int seam_sframe_sort_entries(struct seam_sframe_entry *v, size_t num,
			     uint64_t base)
{
	struct seam_sframe_entry *rest;
	struct keys k = {0};
	uint64_t *keys;
	size_t stay;

	if (num < 2)
		return 0;
	rest = reallocarray(NULL, num, sizeof(*rest));
	keys = reallocarray(NULL, num, 2 * sizeof(*keys));
	if (!rest || !keys) {
		free(rest);
		free(keys);
		return -ENOMEM;
	}
	stay = split(v, num, rest, base);
	k.num = num - stay;
	k.v = keys;
	k.scratch = keys + num;
	sort_any(&k, rest, base);
	merge(v, stay, rest, &k, base);
	free(rest);
	free(keys);
	return 0;
}
