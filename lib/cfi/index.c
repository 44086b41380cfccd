/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which FDE and which row hold for an address. */
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "cfi/private.h"

struct index_build {
	struct seam_cfi *cfi;
	struct seam_cfi_range *v;
	size_t len, cap;
};

static int index_add(void *ctx, const struct seam_cfi_section *sec,
		     const struct seam_fde *fde)
{
	struct index_build *b = ctx;

	/* .eh_frame comes first, and has the last word on its functions. */
	if (sec != b->cfi->sections && seam_cfi_range_find(b->cfi, fde->start))
		return 0;
	if (seam_grow(&b->v, b->len + 1, &b->cap, sizeof(*b->v)))
		return -ENOMEM;
	b->v[b->len++] = (struct seam_cfi_range){
		.start = fde->start,
		.end = fde->end,
		.off = fde->off,
		.section = (uint8_t)(sec - b->cfi->sections),
	};
	return 0;
}

/* By start; of equal starts the later entry comes last, and wins. */
static int range_cmp(const void *va, const void *vb)
{
	const struct seam_cfi_range *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

static void push_range(struct seam_cfi_range *out, size_t *n,
		       const struct seam_cfi_range *r, uint64_t start,
		       uint64_t end)
{
	if (start >= end)
		return;
	out[*n] = *r;
	out[*n].start = start;
	out[(*n)++].end = end;
}

/*
 * Overlaps are resolved once, so that a look-up is one binary search even in
 * a file that lies: at each address the FDE that starts last answers. open[]
 * holds those which began before the current one, in order of their starts.
 * Return: the number of ranges in out, at most 2 * len.
 */
static size_t flatten(const struct seam_cfi_range *in, size_t len,
		      struct seam_cfi_range *out,
		      const struct seam_cfi_range **open)
{
	size_t n = 0, depth = 0;
	uint64_t at = 0, next;

	for (size_t i = 0; i <= len; i++) {
		next = i < len ? in[i].start : UINT64_MAX;
		while (depth && at < next) {
			const struct seam_cfi_range *top = open[depth - 1];
			uint64_t end = top->end < next ? top->end : next;

			push_range(out, &n, top, at, end);
			if (end > at)
				at = end;
			if (top->end > next)
				break;
			depth--;
		}
		at = next;
		if (i < len)
			open[depth++] = &in[i];
	}
	return n;
}

static bool sorted(const struct seam_cfi_range *v, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (range_cmp(&v[i - 1], &v[i]) > 0)
			return false;
	return true;
}

/* Makes cfi->ranges anew from all FDEs so far. */
static int set_ranges(struct seam_cfi *cfi, struct index_build *b)
{
	const struct seam_cfi_range **open;
	struct seam_cfi_range *out;

	if (!sorted(b->v, b->len))
		qsort(b->v, b->len, sizeof(*b->v), range_cmp);
	out = reallocarray(NULL, 2 * b->len, sizeof(*out));
	open = reallocarray(NULL, b->len, sizeof(*open));
	if (!out || !open) {
		free(out);
		free(open);
		return -ENOMEM;
	}
	free(cfi->ranges);
	cfi->ranges = out;
	cfi->num_ranges = flatten(b->v, b->len, out, open);
	free(open);
	return 0;
}

static void index_bad(void *ctx, const struct seam_cfi_section *sec,
		      const struct seam_fde *fde,
		      const struct seam_cfi_fault *fault)
{
	struct index_build *b = ctx;

	(void)fde;
	if (!b->cfi->n_bad++)
		seam_cfi_errinfo(&b->cfi->first_bad, sec, fault);
}

uint64_t seam_cfi_n_bad(const struct seam_cfi *cfi,
			struct seam_errinfo *ret_why)
{
	if (cfi->n_bad)
		*ret_why = cfi->first_bad;
	return cfi->n_bad;
}

int seam_cfi_index(struct seam_cfi *cfi)
{
	struct index_build b = {.cfi = cfi};
	const struct seam_cfi_visitor v = {
		.fde = index_add, .bad = index_bad, .ctx = &b};
	size_t before;
	int rc = 0;

	if (cfi->indexed)
		return 0;
	cfi->n_bad = 0;
	/* index_add looks at the ranges of the section before. */
	for (unsigned int i = 0; i < cfi->num_sections && !rc; i++) {
		before = b.len;
		rc = seam_cfi_walk(cfi, &cfi->sections[i], &v);
		if (!rc && b.len > before)
			rc = set_ranges(cfi, &b);
	}
	cfi->indexed = !rc;
	free(b.v);
	return rc;
}

/* The first range that starts above svma. */
static size_t upper_range(const struct seam_cfi *cfi, uint64_t svma)
{
	return SEAM_SEARCH(i, cfi->num_ranges, cfi->ranges[i].start <= svma);
}

struct seam_cfi_range *seam_cfi_range_find(const struct seam_cfi *cfi,
					   uint64_t svma)
{
	size_t i = upper_range(cfi, svma);

	if (!i || svma >= cfi->ranges[i - 1].end)
		return NULL;
	return &cfi->ranges[i - 1];
}

bool seam_cfi_next(struct seam_cfi *cfi, uint64_t svma, uint64_t *ret_start)
{
	size_t i;

	if (seam_cfi_index(cfi))
		return false;
	i = upper_range(cfi, svma);
	if (i == cfi->num_ranges)
		return false;
	*ret_start = cfi->ranges[i].start;
	return true;
}

struct row_search {
	uint64_t svma;
	bool found;
	bool stop; /* at the row, the FDE is known to be good */
	struct seam_cfi_row *row;
};

static int keep_row(void *ctx, const struct seam_cfi_row *row)
{
	struct row_search *s = ctx;

	if (s->svma < row->start || s->svma >= row->end)
		return 0;
	*s->row = *row;
	s->found = true;
	return s->stop;
}

/* Of a cfi that has its index. Return: as seam_cfi_find; -EINVAL: *fault is in
 * *ret_sec. */
static int fde_at(struct seam_cfi *cfi, uint64_t svma,
		  struct seam_cfi_range **ret_range,
		  const struct seam_cfi_section **ret_sec, struct seam_fde *ret,
		  struct seam_cfi_fault *fault)
{
	struct seam_cfi_range *range = seam_cfi_range_find(cfi, svma);
	struct seam_cfi_entry entry;

	if (!range)
		return -ENOENT;
	*ret_range = range;
	*ret_sec = &cfi->sections[range->section];
	if (!seam_cfi_entry_read(*ret_sec, range->off, &entry, fault) ||
	    !seam_fde_parse(cfi, *ret_sec, &entry, ret, fault))
		return -EINVAL;
	return 0;
}

/* The first time the FDE is run to its end, since it is believed as a whole or
 * not at all. */
int seam_cfi_search(struct seam_cfi *cfi, uint64_t svma,
		    struct seam_cfi_row *ret_row, struct seam_errinfo *reterr)
{
	struct row_search s = {.svma = svma, .row = ret_row};
	const struct seam_cfi_section *sec;
	struct seam_cfi_range *range;
	struct seam_cfi_fault fault;
	struct seam_fde fde;
	int rc = fde_at(cfi, svma, &range, &sec, &fde, &fault);

	if (rc == -ENOENT)
		return rc;
	if (!rc) {
		s.stop = __atomic_load_n(&range->is_good, __ATOMIC_RELAXED);
		rc = seam_fde_run(cfi, &fde, keep_row, &s, &fault);
	}
	if (rc < 0) {
		if (reterr)
			seam_cfi_errinfo(reterr, sec, &fault);
		return -EINVAL;
	}
	if (!s.stop)
		__atomic_store_n(&range->is_good, true, __ATOMIC_RELAXED);
	return s.found ? 0 : -ENOENT;
}

int seam_cfi_find_extent(struct seam_cfi *cfi, uint64_t svma,
			 struct seam_cfi_extent *ret)
{
	const struct seam_cfi_section *sec;
	struct seam_cfi_range *range;
	struct seam_cfi_fault fault;
	struct seam_fde fde;
	int rc = seam_cfi_index(cfi);

	if (!rc)
		rc = fde_at(cfi, svma, &range, &sec, &fde, &fault);
	if (!rc)
		*ret = (struct seam_cfi_extent){fde.start, fde.end,
						fde.cie->signal};
	return rc;
}

/* As many as there are functions: a small library has few return addresses. */
static unsigned int found_bits(const struct seam_cfi *cfi)
{
	unsigned int bits = 0;

	while (bits < SEAM_CFI_FOUND_BITS && cfi->num_ranges >> bits)
		bits++;
	return bits ? bits : 1;
}

size_t seam_cfi_found_slots(const struct seam_cfi *cfi)
{
	return (size_t)1 << found_bits(cfi);
}

int seam_cfi_find(struct seam_cfi *cfi, uint64_t svma,
		  struct seam_cfi_row *ret_row, struct seam_errinfo *reterr)
{
	struct seam_cfi_found *slot;
	int rc = seam_cfi_index(cfi);

	if (rc)
		return rc;
	if (!cfi->found) {
		cfi->found =
			calloc(seam_cfi_found_slots(cfi), sizeof(*cfi->found));
		if (!cfi->found)
			return -ENOMEM;
	}
	/* Samples of one program share most of their return addresses, and a
	 * large function's FDE takes microseconds to run. */
	slot = &cfi->found[(svma * 0x9e3779b97f4a7c15) >>
			   (64 - found_bits(cfi))];
	if (!slot->used || slot->svma != svma) {
		slot->used = false;
		rc = seam_cfi_search(cfi, svma, &slot->row, reterr);
		if (rc)
			return rc;
		slot->svma = svma;
		slot->used = true;
	}
	*ret_row = slot->row;
	return 0;
}
