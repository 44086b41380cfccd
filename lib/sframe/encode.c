// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/encode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/sframe-format.h"
#include "sframe/encode-row.h"

#define MAX_FRES 65535
#define RADIX_BITS 11

struct entry {
	uint64_t start;
	uint32_t size;
	uint32_t fre_off;
};

struct seam_sframe_builder {
	uint32_t flags;
	bool in_func;
	struct seam_sframe_builder_func func;
	struct seam_sframe_in_row *rows; /* of the current function */
	size_t num_rows, cap_rows;
	struct entry *entries;
	size_t num_entries, cap_entries;
	uint8_t *fres;
	size_t fres_len, cap_fres;
};

int seam_sframe_builder_new(uint32_t flags, struct seam_sframe_builder **ret)
{
	struct seam_sframe_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->flags = flags;
	*ret = b;
	return 0;
}

struct seam_sframe_builder *
seam_sframe_builder_free(struct seam_sframe_builder *b)
{
	if (!b)
		return NULL;
	free(b->rows);
	free(b->entries);
	free(b->fres);
	free(b);
	return NULL;
}

int seam_sframe_builder_begin(struct seam_sframe_builder *b,
			      const struct seam_sframe_builder_func *func)
{
	b->func = *func;
	b->num_rows = 0;
	b->in_func = true;
	return 0;
}

int seam_sframe_builder_row(struct seam_sframe_builder *b, uint32_t off,
			    const struct seam_rule *rule)
{
	struct seam_sframe_in_row *row;
	int r;

	if (!b->in_func || (b->func.rep_size && off >= b->func.rep_size))
		return -EINVAL;
	if (b->num_rows && off <= b->rows[b->num_rows - 1].off)
		return -EINVAL;
	r = seam_grow(&b->rows, b->num_rows + 1, &b->cap_rows, sizeof(*row));
	if (r)
		return r;
	row = &b->rows[b->num_rows];
	row->off = off;
	r = seam_sframe_normalise(b->flags, rule, &row->rule);
	if (r)
		return r;
	if (!b->num_rows || !seam_sframe_rule_equal(&row[-1].rule, &row->rule))
		b->num_rows++;
	return 0;
}

/* x86-64 only: this machine's byte order is the target's. */
static uint8_t *put(uint8_t *p, uint64_t value, size_t size)
{
	memcpy(p, &value, size);
	return p + size;
}

static unsigned int addr_size_log2(uint32_t func_size)
{
	return func_size < 0x100 ? 0 : func_size < 0x10000 ? 1 : 2;
}

/* One descriptor: rows[0..num) of the current function. */
static int put_fde(struct seam_sframe_builder *b,
		   const struct seam_sframe_in_row *rows, size_t num,
		   uint64_t start, uint32_t size, uint32_t base)
{
	unsigned int log2 = addr_size_log2(size);
	uint8_t type = seam_sframe_rows_type(rows, num);
	struct entry entry = {start, size, (uint32_t)b->fres_len};
	uint8_t info = (uint8_t)log2;
	uint8_t *p;
	int r;

	r = seam_grow(&b->fres,
		      b->fres_len + SEAM_SFRAME_ATTR_SIZE +
			      num * SEAM_SFRAME_ROW_ROOM,
		      &b->cap_fres, 1);
	if (!r)
		r = seam_grow(&b->entries, b->num_entries + 1, &b->cap_entries,
			      sizeof(entry));
	if (r)
		return r;
	if (b->func.rep_size)
		info |= SEAM_SFRAME_INFO_PCMASK;
	if (b->func.signal)
		info |= SEAM_SFRAME_INFO_SIGNAL;
	p = put(b->fres + b->fres_len, num, 2);
	*p++ = info;
	*p++ = type;
	*p++ = b->func.rep_size;
	for (size_t i = 0; i < num; i++)
		p = seam_sframe_put_row(p, rows[i].off - base, log2,
					&rows[i].rule, type);
	/* fre_off is 32 bits wide, with room for the next descriptor. */
	if (p - b->fres > UINT32_MAX)
		return -EFBIG;
	b->fres_len = (size_t)(p - b->fres);
	b->entries[b->num_entries++] = entry;
	return 0;
}

int seam_sframe_builder_end(struct seam_sframe_builder *b, uint32_t size)
{
	struct seam_sframe_in_row *rows = b->rows;
	size_t left = b->num_rows;
	int r = 0;

	if (!b->in_func)
		return -EINVAL;
	b->in_func = false;
	/* A row may begin at the very end: it covers nothing. */
	while (left && rows[left - 1].off >= size)
		left--;
	if (b->func.rep_size)
		return left && size >= b->func.rep_size
			       ? put_fde(b, rows, left, b->func.start, size, 0)
			       : 0;
	for (uint32_t base = 0; left && !r;) {
		size_t num = left < MAX_FRES ? left : MAX_FRES;
		uint32_t end = num < left ? rows[num].off : size;

		r = put_fde(b, rows, num, b->func.start + base, end - base,
			    base);
		base = end;
		rows += num;
		left -= num;
	}
	return r;
}

struct seam_sframe_builder_mark
seam_sframe_builder_mark(const struct seam_sframe_builder *b)
{
	return (struct seam_sframe_builder_mark){b->num_entries, b->fres_len};
}

void seam_sframe_builder_rewind(struct seam_sframe_builder *b,
				const struct seam_sframe_builder_mark *mark)
{
	b->num_entries = mark->entries;
	b->fres_len = mark->bytes;
	b->in_func = false;
}

/*
 * One pass of a radix sort: by RADIX_BITS of the starts, entries that have
 * the same ones staying in order.
 */
static void sort_pass(const struct entry *from, struct entry *to, size_t num,
		      uint64_t base, unsigned int shift)
{
	size_t at[1 << RADIX_BITS] = {0}, sum = 0;
	size_t mask = (1 << RADIX_BITS) - 1;

	for (size_t i = 0; i < num; i++)
		at[(from[i].start - base) >> shift & mask]++;
	for (size_t i = 0; i <= mask; i++) {
		size_t count = at[i];

		at[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < num; i++)
		to[at[(from[i].start - base) >> shift & mask]++] = from[i];
}

/*
 * By start; of equal starts, the one added first comes first. Files have
 * tens of thousands of functions within a few MiB: three passes.
 */
static int sort_entries(struct seam_sframe_builder *b)
{
	uint64_t low = UINT64_MAX, high = 0;
	struct entry *other;

	for (size_t i = 0; i < b->num_entries; i++) {
		uint64_t start = b->entries[i].start;

		low = start < low ? start : low;
		high = start > high ? start : high;
	}
	if (b->num_entries < 2)
		return 0;
	other = reallocarray(NULL, b->cap_entries, sizeof(*other));
	if (!other)
		return -ENOMEM;
	for (unsigned int shift = 0; shift < 64 && (high - low) >> shift;
	     shift += RADIX_BITS) {
		struct entry *sorted = other;

		sort_pass(b->entries, sorted, b->num_entries, low, shift);
		other = b->entries;
		b->entries = sorted;
	}
	free(other);
	return 0;
}

static uint32_t num_fres(const struct seam_sframe_builder *b,
			 const struct entry *e)
{
	uint16_t num;

	memcpy(&num, b->fres + e->fre_off, sizeof(num));
	return num;
}

/* Shortens a function; rows beyond its new end are cut off its count. */
static void cut_entry(struct seam_sframe_builder *b, struct entry *e,
		      uint32_t size)
{
	uint8_t *p = b->fres + e->fre_off;
	uint8_t info = p[SEAM_SFRAME_ATTR_INFO];
	size_t addr_size = (size_t)1 << (info & SEAM_SFRAME_INFO_FRE_TYPE);
	uint32_t num = num_fres(b, e), kept = 0;

	e->size = size;
	if (info & SEAM_SFRAME_INFO_PCMASK) {
		if (size < p[SEAM_SFRAME_ATTR_REP_SIZE])
			e->size = 0;
		return;
	}
	for (p += SEAM_SFRAME_ATTR_SIZE; kept < num; kept++) {
		uint32_t start = 0;
		uint8_t fre;

		memcpy(&start, p, addr_size);
		if (start >= size)
			break;
		fre = p[addr_size];
		p += addr_size + 1;
		p += SEAM_SFRAME_FRE_COUNT(fre) << SEAM_SFRAME_FRE_SIZE(fre);
	}
	if (!kept)
		e->size = 0;
	put(b->fres + e->fre_off, kept, 2);
}

/* Leaves sorted, disjoint, non-empty functions. */
static void resolve_overlaps(struct seam_sframe_builder *b,
			     struct seam_sframe_builder_totals *totals)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->num_entries; i++) {
		struct entry e = b->entries[i];
		struct entry *prev = kept ? &b->entries[kept - 1] : NULL;

		if (prev && e.start - prev->start < prev->size) {
			uint32_t size = prev->size;

			cut_entry(b, prev, (uint32_t)(e.start - prev->start));
			totals->overlap_bytes += size - prev->size;
			if (!prev->size)
				kept--;
		}
		b->entries[kept++] = e;
	}
	b->num_entries = kept;
	totals->functions = kept;
	for (size_t i = 0; i < kept; i++)
		totals->rows += num_fres(b, &b->entries[i]);
}

static uint8_t *put_header(const struct seam_sframe_builder *b, uint8_t *p,
			   uint64_t rows)
{
	struct seam_sframe_header h = {
		.magic = SEAM_SFRAME_MAGIC,
		.version = SEAM_SFRAME_V3,
		.flags = SEAM_SFRAME_F_SORTED | SEAM_SFRAME_F_PCREL,
		.abi = SEAM_SFRAME_ABI_AMD64,
		.fixed_ra_off = -8,
		.num_fdes = (uint32_t)b->num_entries,
		.num_fres = (uint32_t)rows,
		.fre_len = (uint32_t)b->fres_len,
		.freoff = (uint32_t)(b->num_entries *
				     sizeof(struct seam_sframe_fde3)),
	};

	memcpy(p, &h, sizeof(h));
	return p + sizeof(h);
}

int seam_sframe_builder_finish(struct seam_sframe_builder *b,
			       uint64_t section_addr, uint8_t **ret_bytes,
			       size_t *ret_size,
			       struct seam_sframe_builder_totals *ret_totals)
{
	struct seam_sframe_builder_totals totals = {0};
	uint8_t *bytes, *p;
	size_t index_len, fres;
	int r = sort_entries(b);

	if (r)
		return r;
	resolve_overlaps(b, &totals);
	index_len = b->num_entries * sizeof(struct seam_sframe_fde3);
	if (index_len > UINT32_MAX)
		return -EFBIG;
	/* The rows are most of it: they stay where they are, but for room
	 * in front. */
	fres = sizeof(struct seam_sframe_header) + index_len;
	bytes = reallocarray(b->fres, fres + b->fres_len, 1);
	if (!bytes)
		return -ENOMEM;
	b->fres = NULL;
	memmove(bytes + fres, bytes, b->fres_len);
	p = put_header(b, bytes, totals.rows);
	for (size_t i = 0; i < b->num_entries; i++) {
		const struct entry *e = &b->entries[i];
		uint64_t field = section_addr + (uint64_t)(p - bytes);

		p = put(p, e->start - field, 8);
		p = put(p, e->size, 4);
		p = put(p, e->fre_off, 4);
	}
	*ret_bytes = bytes;
	*ret_size = fres + b->fres_len;
	if (ret_totals)
		*ret_totals = totals;
	return 0;
}
