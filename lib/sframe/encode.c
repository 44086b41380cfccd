// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/encode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/sframe-section.h"
#include "sframe/encode-row.h"
#include "sframe/forms.h"

#define MAX_FRES 65535
#define RADIX_BITS 11

struct entry {
	uint64_t start;
	uint32_t size;
	uint32_t fre_off; /* of the rows; in V3 of the attributes before them */
	uint32_t num_rows;
	uint8_t info, rep_size;
};

struct row {
	uint32_t off;
	uint32_t form; /* number in forms */
};

struct seam_sframe_builder {
	struct seam_sframe_target target;
	const char *reason;
	bool in_func;
	struct seam_sframe_builder_func func;
	struct row *rows; /* of the current function */
	size_t num_rows, cap_rows;
	struct seam_sframe_forms forms;
	struct entry *entries;
	size_t num_entries, cap_entries;
	uint8_t *fres;
	size_t fres_len, cap_fres;
};

int seam_sframe_builder_new_for(uint8_t version, uint8_t abi, uint32_t flags,
				struct seam_sframe_builder **ret)
{
	enum seam_arch arch = seam_abi_arch(abi);
	struct seam_sframe_builder *b;

	if (!arch || (version != SEAM_SFRAME_V2 && version != SEAM_SFRAME_V3))
		return -EINVAL;
	if (flags & SEAM_SFRAME_ALLOW_ADD &&
	    (version != SEAM_SFRAME_V3 || arch != SEAM_ARCH_AMD64))
		return -EINVAL;
	if (flags & SEAM_SFRAME_SECTION_RELATIVE && version != SEAM_SFRAME_V2)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->target = (struct seam_sframe_target){
		.version = version,
		.abi = abi,
		.is_big = seam_abi_is_big(abi),
		.arch = arch,
		.flags = flags,
	};
	*ret = b;
	return 0;
}

int seam_sframe_builder_new(uint32_t flags, struct seam_sframe_builder **ret)
{
	return seam_sframe_builder_new_for(SEAM_SFRAME_V3,
					   SEAM_SFRAME_ABI_AMD64, flags, ret);
}

const char *seam_sframe_builder_reason(const struct seam_sframe_builder *b)
{
	return b->reason;
}

struct seam_sframe_builder *
seam_sframe_builder_free(struct seam_sframe_builder *b)
{
	if (!b)
		return NULL;
	free(b->rows);
	seam_sframe_forms_fini(&b->forms);
	free(b->entries);
	free(b->fres);
	free(b);
	return NULL;
}

/* Return: -EINVAL. reason: a static string. */
static int refuse(struct seam_sframe_builder *b, const char *reason)
{
	b->reason = reason;
	return -EINVAL;
}

int seam_sframe_builder_begin(struct seam_sframe_builder *b,
			      const struct seam_sframe_builder_func *func)
{
	bool is_v2 = b->target.version == SEAM_SFRAME_V2;

	b->in_func = false;
	if (is_v2 && (func->signal || func->keep_empty))
		return refuse(b, func->signal
					 ? "a signal trampoline, in V2"
					 : "a function without rows, in V2");
	if (func->pauth_b && b->target.arch != SEAM_ARCH_AARCH64)
		return refuse(b, "a key of signed return addresses");
	b->func = *func;
	b->num_rows = 0;
	seam_sframe_forms_bound(&b->forms);
	b->in_func = true;
	return 0;
}

int seam_sframe_builder_row(struct seam_sframe_builder *b, uint32_t off,
			    const struct seam_rule *rule)
{
	const struct seam_sframe_form *forms;
	struct row *row;
	const char *why = NULL;
	int r;

	if (!b->in_func)
		return refuse(b, "a row outside a function");
	if (b->func.rep_size && off >= b->func.rep_size)
		return refuse(b, "a row outside its block");
	if (b->num_rows && off <= b->rows[b->num_rows - 1].off)
		return refuse(b, "a row that is not behind the last one");
	if (b->num_rows == b->cap_rows) {
		r = seam_grow(&b->rows, b->num_rows + 1, &b->cap_rows,
			      sizeof(*row));
		if (r)
			return r;
	}
	row = b->rows + b->num_rows;
	row->off = off;
	r = seam_sframe_forms_get(&b->forms, &b->target, rule, &row->form,
				  &why);
	if (r)
		return why ? refuse(b, why) : r;
	forms = b->forms.v;
	if (!b->num_rows || (row[-1].form != row->form &&
			     !(b->forms.has_twins &&
			       seam_sframe_rule_equal(&forms[row[-1].form].rule,
						      &forms[row->form].rule))))
		b->num_rows++;
	return 0;
}

static uint8_t *put(const struct seam_sframe_builder *b, uint8_t *p,
		    uint64_t value, size_t size)
{
	uint8_t bytes[8];

	seam_sframe_put(&b->target, bytes, value, size);
	memcpy(p, bytes, size);
	return p + size;
}

static unsigned int addr_size_log2(uint32_t func_size)
{
	return func_size < 0x100 ? 0 : func_size < 0x10000 ? 1 : 2;
}

static uint8_t info_of(const struct seam_sframe_builder_func *func,
		       unsigned int addr_log2)
{
	return (uint8_t)(addr_log2 |
			 (func->rep_size ? SEAM_SFRAME_INFO_PCMASK : 0) |
			 (func->pauth_b ? SEAM_SFRAME_INFO_PAUTH_B : 0) |
			 (func->signal ? SEAM_SFRAME_INFO_SIGNAL : 0));
}

/* In V3 some of what the index has in V2 is in front of the rows. */
static size_t attr_size(const struct seam_sframe_builder *b)
{
	return b->target.version == SEAM_SFRAME_V3 ? SEAM_SFRAME_ATTR_SIZE : 0;
}

static uint8_t *put_attr(const struct seam_sframe_builder *b, uint8_t *p,
			 const struct entry *e, uint8_t type)
{
	if (!attr_size(b))
		return p;
	p = put(b, p, e->num_rows, 2);
	*p++ = e->info;
	*p++ = type;
	*p++ = e->rep_size;
	return p;
}

/* The simplest type that holds every row; they are numbered by that. */
static uint8_t type_of(const struct seam_sframe_builder *b,
		       const struct row *rows, size_t num)
{
	uint8_t type = SEAM_SFRAME_FDE_DEFAULT;

	for (size_t i = 0; i < num; i++)
		if (b->forms.v[rows[i].form].type > type)
			type = b->forms.v[rows[i].form].type;
	return type;
}

static uint8_t *put_row(const struct seam_sframe_target *t, uint8_t *p,
			uint32_t start, unsigned int start_log2,
			const struct seam_sframe_form *form, uint8_t type)
{
	if (type != SEAM_SFRAME_FDE_DEFAULT)
		return seam_sframe_put_row(t, p, start, start_log2, &form->rule,
					   type);
	p = seam_sframe_put(t, p, start, (size_t)1 << start_log2);
	memcpy(p, form->bytes, sizeof(form->bytes));
	return p + form->len;
}

/* One descriptor: rows[0..num) of the current function. */
static int put_fde(struct seam_sframe_builder *b, const struct row *rows,
		   size_t num, uint64_t start, uint32_t size, uint32_t base)
{
	unsigned int log2 = addr_size_log2(size);
	uint8_t type = type_of(b, rows, num);
	struct entry entry = {start,
			      size,
			      (uint32_t)b->fres_len,
			      (uint32_t)num,
			      info_of(&b->func, log2),
			      b->func.rep_size};
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
	p = put_attr(b, b->fres + b->fres_len, &entry, type);
	for (size_t i = 0; i < num; i++)
		p = put_row(&b->target, p, rows[i].off - base, log2,
			    &b->forms.v[rows[i].form], type);
	/* fre_off is 32 bits wide, with room for the next descriptor. */
	if (p - b->fres > UINT32_MAX)
		return -EFBIG;
	b->fres_len = (size_t)(p - b->fres);
	b->entries[b->num_entries++] = entry;
	return 0;
}

int seam_sframe_builder_end(struct seam_sframe_builder *b, uint32_t size)
{
	struct row *rows = b->rows;
	size_t left = b->num_rows;
	int r = 0;

	if (!b->in_func)
		return refuse(b, "an end outside a function");
	b->in_func = false;
	/* A row may begin at the very end: it covers nothing. */
	while (left && rows[left - 1].off >= size)
		left--;
	if (!left && size && b->func.keep_empty)
		return put_fde(b, rows, 0, b->func.start, size, 0);
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
 * One pass of a radix sort: by RADIX_BITS of the starts' distance from base,
 * entries that have the same ones staying in order.
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
 * By start, as a signed distance from the section: so readers search. Of equal
 * starts, the one added first comes first. Files have tens of thousands of
 * functions within a few MiB: three passes.
 */
static int sort_entries(struct seam_sframe_builder *b, uint64_t section_addr)
{
	int64_t low = INT64_MAX, high = INT64_MIN;
	uint64_t base, range;
	struct entry *other;

	for (size_t i = 0; i < b->num_entries; i++) {
		int64_t at = (int64_t)(b->entries[i].start - section_addr);

		low = at < low ? at : low;
		high = at > high ? at : high;
	}
	base = (uint64_t)low + section_addr;
	range = (uint64_t)high - (uint64_t)low;
	if (b->num_entries < 2)
		return 0;
	other = reallocarray(NULL, b->cap_entries, sizeof(*other));
	if (!other)
		return -ENOMEM;
	for (unsigned int shift = 0; shift < 64 && range >> shift;
	     shift += RADIX_BITS) {
		struct entry *sorted = other;

		sort_pass(b->entries, sorted, b->num_entries, base, shift);
		other = b->entries;
		b->entries = sorted;
	}
	free(other);
	return 0;
}

static uint32_t get(const struct seam_sframe_builder *b, const uint8_t *p,
		    size_t size)
{
	uint32_t v = 0;

	for (size_t i = 0; i < size; i++)
		v = v << 8 | p[b->target.is_big ? i : size - 1 - i];
	return v;
}

/* Shortens a function; rows beyond its new end are cut off its count. */
static void cut_entry(struct seam_sframe_builder *b, struct entry *e,
		      uint32_t size)
{
	size_t addr_size = (size_t)1 << (e->info & SEAM_SFRAME_INFO_FRE_TYPE);
	uint8_t *p = b->fres + e->fre_off + attr_size(b);
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
	if (attr_size(b))
		put(b, b->fres + e->fre_off, kept, 2);
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
		totals->rows += b->entries[i].num_rows;
}

static uint8_t *put_header(const struct seam_sframe_builder *b, uint8_t *p,
			   uint64_t rows, uint64_t index_len)
{
	bool is_pcrel = !(b->target.flags & SEAM_SFRAME_SECTION_RELATIVE);

	p = put(b, p, SEAM_SFRAME_MAGIC, 2);
	*p++ = b->target.version;
	*p++ = SEAM_SFRAME_F_SORTED | (is_pcrel ? SEAM_SFRAME_F_PCREL : 0);
	*p++ = b->target.abi;
	*p++ = 0; /* FP is in no fixed place */
	*p++ = (uint8_t)seam_arch_ra_off(b->target.arch);
	*p++ = 0; /* no auxiliary header */
	p = put(b, p, b->num_entries, 4);
	p = put(b, p, rows, 4);
	p = put(b, p, b->fres_len, 4);
	p = put(b, p, 0, 4);
	return put(b, p, index_len, 4);
}

/* Return: 0, or -EFBIG: the function is too far from the section. */
static int put_entry(struct seam_sframe_builder *b, uint8_t *p,
		     const struct entry *e, uint64_t anchor)
{
	int64_t start = (int64_t)(e->start - anchor);

	if (b->target.version == SEAM_SFRAME_V3) {
		p = put(b, p, (uint64_t)start, 8);
		p = put(b, p, e->size, 4);
		put(b, p, e->fre_off, 4);
		return 0;
	}
	if (start != (int32_t)start) {
		refuse(b, "a function 2 GiB or more from the section, in V2");
		return -EFBIG;
	}
	p = put(b, p, (uint64_t)start, 4);
	p = put(b, p, e->size, 4);
	p = put(b, p, e->fre_off, 4);
	p = put(b, p, e->num_rows, 4);
	*p++ = e->info;
	*p++ = e->rep_size;
	put(b, p, 0, 2);
	return 0;
}

static int put_index(struct seam_sframe_builder *b, uint8_t *bytes,
		     uint64_t section_addr)
{
	uint64_t at = sizeof(struct seam_sframe_header);
	bool is_pcrel = !(b->target.flags & SEAM_SFRAME_SECTION_RELATIVE);
	int r = 0;

	for (size_t i = 0; !r && i < b->num_entries; i++) {
		r = put_entry(b, bytes + at, &b->entries[i],
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
	int r = sort_entries(b, section_addr);

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
