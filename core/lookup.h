/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A table laid out for finding rules: what the kernel side reads.
 *
 * An SFrame section costs some eight memory accesses a rule that depend on
 * each other, and a sampler finds none of them in a cache: the program has
 * had a millisecond to itself since the last sample. Here it is one line: the
 * bucket of the code's page, which has nearly every rule in itself.
 *
 *   rules   8 bytes each: packed (packed-rule.h)
 *   wide    32 bytes each: those that do not fit into a word; then zeros,
 *           so that pages are 32-aligned
 *   pages   32 bytes for each page of code, if there are buckets (bucket.h);
 *           else 4 bytes for each, and 4 more: the number of its first row
 *   rows    4 bytes each: bits 16.. offset in the page; bits 0..15 the rule:
 *           0 none, 1.. rules, then wide
 *
 * A page is 1 << shift bytes of code, and its first row is at offset 0: what
 * holds at its beginning. Where code is too sparse for that, pages are larger
 * than 256 bytes and have no buckets.
 */
#ifndef SEAM_CORE_LOOKUP_H
#define SEAM_CORE_LOOKUP_H

#include "core/bucket.h"
#include "core/err.h"

#define SEAM_LOOKUP_MIN_SHIFT 8
#define SEAM_LOOKUP_MAX_SHIFT 16
#define SEAM_LOOKUP_MAX_RULES 65535
#define SEAM_LOOKUP_WIDE_SIZE 32

struct seam_lookup {
	uint32_t first_page, num_pages, shift;
	uint32_t num_rules, num_wide, num_rows;
	/* Offsets from the table's beginning; its rules are there. */
	uint32_t wide, pages, rows;
	uint32_t size; /* of it all */
};

SEAM_INLINE bool seam_lookup_has_buckets(const struct seam_lookup *l)
{
	return l->shift == SEAM_LOOKUP_MIN_SHIFT;
}

/* Places the parts, by their numbers. Return: the size in bytes. */
SEAM_INLINE uint64_t seam_lookup_place(struct seam_lookup *l)
{
	uint64_t bucket = SEAM_BUCKET_SIZE;
	uint64_t wide = 8ULL * l->num_rules, pages, rows, size;

	pages = wide + 1ULL * SEAM_LOOKUP_WIDE_SIZE * l->num_wide;
	/* A bucket that lay across two lines would cost both. */
	pages = (pages + bucket - 1) & ~(bucket - 1);
	rows = pages + (seam_lookup_has_buckets(l) ? bucket * l->num_pages
						   : 4 * (l->num_pages + 1ULL));
	size = rows + 4ULL * l->num_rows;
	l->wide = (uint32_t)wide;
	l->pages = (uint32_t)pages;
	l->rows = (uint32_t)rows;
	l->size = (uint32_t)size;
	return size;
}

SEAM_INLINE void seam_lookup_value(uint64_t word, struct seam_value *ret)
{
	ret->off = (int32_t)word;
	ret->kind = (uint8_t)(word >> 32);
	ret->reg = (uint8_t)(word >> 40);
	ret->pad = 0;
}

SEAM_INLINE void seam_lookup_wide(const uint8_t SEAM_TABLE *p,
				  struct seam_rule *ret)
{
	uint64_t rest = seam_load_u64(p + 24);

	seam_lookup_value(seam_load_u64(p), &ret->cfa);
	seam_lookup_value(seam_load_u64(p + 8), &ret->ra);
	seam_lookup_value(seam_load_u64(p + 16), &ret->fp);
	ret->cfa_add = (int32_t)rest;
	ret->flags = (uint32_t)(rest >> 32);
}

/* The last row at or before off, of those from lo to hi. */
SEAM_INLINE uint32_t seam_lookup_row(const uint8_t SEAM_TABLE *rows,
				     uint32_t lo, uint32_t hi, uint32_t off)
{
	uint32_t row = seam_load_u32(rows + 4ULL * lo);

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;
		uint32_t at = seam_load_u32(rows + 4ULL * mid);

		SEAM_LOOP_GUARD;
		if (at >> 16 <= off) {
			lo = mid;
			row = at;
		} else {
			hi = mid;
		}
	}
	return row;
}

/*
 * The rule for a pc: *ret_packed, or where that is 0 *ret_wide. The table was
 * built by us; were its bytes to change under us, what is read could be
 * wrong, so that in BPF the caller asks again whether the table is there.
 * Return: 0; SEAM_NO_RULE.
 */
SEAM_INLINE int seam_lookup_find(const struct seam_lookup *l,
				 const uint8_t SEAM_TABLE *table, uint64_t pc,
				 uint64_t *ret_packed,
				 struct seam_rule *ret_wide)
{
	uint64_t page = (pc >> l->shift) - l->first_page;
	const uint8_t SEAM_TABLE *at = table + l->pages;
	uint32_t off = (uint32_t)(pc & ((1ULL << l->shift) - 1));
	uint32_t lo, hi, id;

	if (page >= l->num_pages)
		return SEAM_NO_RULE;
	if (seam_lookup_has_buckets(l)) {
		at += SEAM_BUCKET_SIZE * page;
		id = seam_bucket_find(at, off);
		if (id == SEAM_SHORT_NONE)
			return SEAM_NO_RULE;
		*ret_packed = seam_short_unpack(id);
		if (id != SEAM_SHORT_IN_ROWS)
			return SEAM_OK;
		lo = seam_load_u32(at + SEAM_BUCKET_FIRST_ROW);
		hi = lo + seam_load_u16(at + SEAM_BUCKET_NUM_ROWS);
	} else {
		lo = seam_load_u32(at + 4 * page);
		hi = seam_load_u32(at + 4 * page + 4);
	}
	id = seam_lookup_row(table + l->rows, lo, hi, off) & 0xffff;
	if (!id)
		return SEAM_NO_RULE;
	*ret_packed = 0;
	if (id <= l->num_rules)
		*ret_packed = seam_load_u64(table + 8ULL * (id - 1));
	else
		seam_lookup_wide(table + l->wide +
					 (uint64_t)SEAM_LOOKUP_WIDE_SIZE *
						 (id - l->num_rules - 1),
				 ret_wide);
	return SEAM_OK;
}

#endif
