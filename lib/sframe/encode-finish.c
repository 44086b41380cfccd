// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* From a builder's functions, in whatever order they came, to a section. */
#include <stdlib.h>
#include <string.h>

#include "core/sframe-section.h"
#include "sframe/encode-private.h"

static uint32_t get(const struct seam_sframe_builder *b, const uint8_t *p,
		    size_t size)
{
	uint32_t v = 0;

	for (size_t i = 0; i < size; i++)
		v = v << 8 | p[b->target.is_big ? i : size - 1 - i];
	return v;
}

/* Shortens a function; rows beyond its new end are cut off its count. */
static void cut_entry(struct seam_sframe_builder *b,
		      struct seam_sframe_entry *e, uint32_t size)
{
	size_t addr_size = (size_t)1 << (e->info & SEAM_SFRAME_INFO_FRE_TYPE);
	uint8_t *p = b->fres + e->fre_off + seam_sframe_attr_size(b);
	uint32_t kept = 0;

	e->size = size;
	if (e->info & SEAM_SFRAME_INFO_PCMASK) {
		if (size < e->rep_size)
			e->size = 0;
		return;
	}
	/* One that had no rows holds all over what is left of it. */
	if (!e->num_rows)
		return;
	for (; kept < e->num_rows; kept++) {
		uint8_t fre;

		if (get(b, p, addr_size) >= size)
			break;
		fre = p[addr_size];
		p += addr_size + 1;
		p += SEAM_SFRAME_FRE_COUNT(fre) << SEAM_SFRAME_FRE_SIZE(fre);
	}
	if (!kept)
		e->size = 0;
	e->num_rows = kept;
	if (seam_sframe_attr_size(b))
		seam_sframe_builder_put(b, b->fres + e->fre_off, kept, 2);
}

/* Leaves sorted, disjoint, non-empty functions. */
static void resolve_overlaps(struct seam_sframe_builder *b,
			     struct seam_sframe_builder_totals *totals)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->num_entries; i++) {
		struct seam_sframe_entry e = b->entries[i];
		struct seam_sframe_entry *prev =
			kept ? &b->entries[kept - 1] : NULL;

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
		totals->rows += b->entries[i].num_rows;
}

static uint8_t *put_header(const struct seam_sframe_builder *b, uint8_t *p,
			   uint64_t rows, uint64_t index_len)
{
	bool is_pcrel = !(b->target.flags & SEAM_SFRAME_SECTION_RELATIVE);

	p = seam_sframe_builder_put(b, p, SEAM_SFRAME_MAGIC, 2);
	*p++ = b->target.version;
	*p++ = SEAM_SFRAME_F_SORTED | (is_pcrel ? SEAM_SFRAME_F_PCREL : 0);
	*p++ = b->target.abi;
	*p++ = 0; /* FP is in no fixed place */
	*p++ = (uint8_t)seam_arch_ra_off(b->target.arch);
	*p++ = 0; /* no auxiliary header */
	p = seam_sframe_builder_put(b, p, b->num_entries, 4);
	p = seam_sframe_builder_put(b, p, rows, 4);
	p = seam_sframe_builder_put(b, p, b->fres_len, 4);
	p = seam_sframe_builder_put(b, p, 0, 4);
	return seam_sframe_builder_put(b, p, index_len, 4);
}

/* Return: 0, or -EFBIG: the function is too far from the section. */
static int put_v2_entry(struct seam_sframe_builder *b, uint8_t *p,
			const struct seam_sframe_entry *e, uint64_t anchor)
{
	int64_t start = (int64_t)(e->start - anchor);

	if (start != (int32_t)start) {
		seam_sframe_refuse(
			b, "a function 2 GiB or more from the section, in V2");
		return -EFBIG;
	}
	p = seam_sframe_builder_put(b, p, (uint64_t)start, 4);
	p = seam_sframe_builder_put(b, p, e->size, 4);
	p = seam_sframe_builder_put(b, p, e->fre_off, 4);
	p = seam_sframe_builder_put(b, p, e->num_rows, 4);
	*p++ = e->info;
	*p++ = e->rep_size;
	seam_sframe_builder_put(b, p, 0, 2);
	return 0;
}

/* In an order of bytes that is known where this is inlined. */
SEAM_INLINE void put_v3_index(const struct seam_sframe_builder *b, bool is_big,
			      uint8_t *p, uint64_t anchor)
{
	const struct seam_sframe_entry *e = b->entries;
	const struct seam_sframe_entry *end = e + b->num_entries;

	for (; e < end; e++) {
		p = seam_sframe_put_exact(is_big, p, e->start - anchor, 8);
		p = seam_sframe_put_exact(is_big, p, e->size, 4);
		p = seam_sframe_put_exact(is_big, p, e->fre_off, 4);
		/* Each start counts from itself. */
		anchor += sizeof(struct seam_sframe_fde3);
	}
}

static int put_index(struct seam_sframe_builder *b, uint8_t *bytes,
		     uint64_t section_addr)
{
	uint64_t at = sizeof(struct seam_sframe_header);
	bool is_pcrel = !(b->target.flags & SEAM_SFRAME_SECTION_RELATIVE);
	int r = 0;

	if (b->target.version == SEAM_SFRAME_V3) {
		if (b->target.is_big)
			put_v3_index(b, true, bytes + at, section_addr + at);
		else
			put_v3_index(b, false, bytes + at, section_addr + at);
		return 0;
	}
	for (size_t i = 0; !r && i < b->num_entries; i++) {
		r = put_v2_entry(b, bytes + at, &b->entries[i],
				 section_addr + (is_pcrel ? at : 0));
		at += seam_sframe_fde_size(b->target.version);
	}
	return r;
}

int seam_sframe_builder_finish(struct seam_sframe_builder *b,
			       uint64_t section_addr, uint8_t **ret_bytes,
			       size_t *ret_size,
			       struct seam_sframe_builder_totals *ret_totals)
{
	struct seam_sframe_builder_totals totals = {0};
	uint64_t index_len;
	uint8_t *bytes;
	size_t fres;
	/* By a signed distance from the section, the lowest there is first: so
	 * readers search. */
	int r = seam_sframe_sort_entries(b->entries, b->num_entries,
					 section_addr + ((uint64_t)1 << 63));

	if (r)
		return r;
	resolve_overlaps(b, &totals);
	index_len = (uint64_t)b->num_entries *
		    seam_sframe_fde_size(b->target.version);
	if (index_len > UINT32_MAX)
		return -EFBIG;
	/* The rows are most of it: they stay where they are, but for room
	 * in front. */
	fres = sizeof(struct seam_sframe_header) + index_len;
	bytes = reallocarray(b->fres, fres + b->fres_len, 1);
	if (!bytes)
		return -ENOMEM;
	b->fres = bytes;
	memmove(bytes + fres, bytes, b->fres_len);
	put_header(b, bytes, totals.rows, index_len);
	r = put_index(b, bytes, section_addr);
	if (r)
		return r;
	b->fres = NULL;
	*ret_bytes = bytes;
	*ret_size = fres + b->fres_len;
	if (ret_totals)
		*ret_totals = totals;
	return 0;
}
