// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "core/sframe-read.h"

struct entry {
	uint64_t start;
	uint32_t size, index;
};

struct seam_sframe_walk {
	struct seam_sframe sf;
	struct entry *v; /* by start; of equal starts, the largest last */
	size_t n;
	uint64_t rows;

	/* The row that was found last, and where those behind it are. */
	size_t at; /* in v; n: none */
	struct seam_sframe_func func;
	struct seam_sframe_row row, next;
	uint32_t left; /* rows behind next */
	bool has_row, has_next;
};

static int by_start(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

int seam_sframe_walk_new(const struct seam_sframe *sf,
			 struct seam_sframe_walk **ret)
{
	struct seam_sframe_walk *w = calloc(1, sizeof(*w));
	struct seam_sframe_func func;

	if (!w)
		return -ENOMEM;
	w->sf = *sf;
	w->v = calloc(sf->num_fdes ?: 1, sizeof(*w->v));
	if (!w->v) {
		free(w);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < sf->num_fdes; i++) {
		if (seam_sframe_func_at(sf, i, &func))
			continue;
		w->rows += func.num_rows;
		w->v[w->n++] = (struct entry){func.start, func.size, i};
	}
	qsort(w->v, w->n, sizeof(*w->v), by_start);
	w->at = w->n;
	*ret = w;
	return 0;
}

struct seam_sframe_walk *seam_sframe_walk_free(struct seam_sframe_walk *w)
{
	if (!w)
		return NULL;
	free(w->v);
	free(w);
	return NULL;
}

uint64_t seam_sframe_walk_rows(const struct seam_sframe_walk *w)
{
	return w->rows;
}

/* How many functions start at or before pc. */
static size_t starts_before(const struct seam_sframe_walk *w, uint64_t pc)
{
	size_t lo = 0, hi = w->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->v[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Reads the row behind those read: next becomes row. */
static int advance(struct seam_sframe_walk *w)
{
	uint32_t at = w->has_next ? w->next.next : w->func.rows;

	w->row = w->next;
	w->has_row = w->has_next;
	w->has_next = w->left > 0;
	if (!w->has_next)
		return 0;
	w->left--;
	return seam_sframe_row_at(&w->sf, &w->func, at, &w->next);
}

static int enter(struct seam_sframe_walk *w, size_t at)
{
	w->at = w->n;
	if (seam_sframe_func_at(&w->sf, w->v[at].index, &w->func))
		return SEAM_SFRAME_FUNC;
	w->at = at;
	w->left = w->func.num_rows;
	w->has_row = w->has_next = false;
	return advance(w);
}

/* The size of the blocks that a function repeats itself in, else 0. */
static uint32_t block_size(const struct seam_sframe_walk *w)
{
	if (!(w->func.info & SEAM_SFRAME_INFO_PCMASK))
		return 0;
	return w->func.rep_size;
}

/* Moves to the row for an offset in the function, or its block. */
static int seek(struct seam_sframe_walk *w, size_t at, uint32_t off)
{
	int err = 0;

	if (w->at != at || (w->has_row && off < w->row.start))
		err = enter(w, at);
	while (!err && w->has_next && w->next.start <= off)
		err = advance(w);
	if (err)
		w->at = w->n;
	return err;
}

/* The pc is in function at; ret->end is that of the function. */
static void find_row(struct seam_sframe_walk *w, size_t at, uint64_t pc,
		     struct seam_sframe_span *ret)
{
	uint64_t off = pc - w->v[at].start, base = 0;
	uint64_t row_end;
	uint32_t block;

	if (w->at != at && enter(w, at)) {
		ret->err = SEAM_SFRAME_FUNC;
		return;
	}
	if (!w->func.num_rows) {
		ret->err = seam_sframe_empty_rule(&w->sf, &w->func, &ret->rule);
		return;
	}
	block = block_size(w);
	if (w->func.info & SEAM_SFRAME_INFO_PCMASK && !block) {
		/* V1: starts are masks, which are in no order. */
		ret->end = pc + 1;
		ret->err = seam_sframe_find(&w->sf, pc, &ret->rule);
		return;
	}
	if (block) {
		base = off - off % block;
		off -= base;
	}
	ret->err = seek(w, at, (uint32_t)off);
	if (ret->err)
		return;
	row_end = w->has_next ? w->next.start : block ? block : w->v[at].size;
	row_end += w->v[at].start + base;
	if (row_end < ret->end)
		ret->end = row_end;
	ret->err = w->has_row ? seam_sframe_rule(&w->sf, &w->func, &w->row,
						 &ret->rule)
			      : SEAM_NO_RULE;
}

void seam_sframe_walk_at(struct seam_sframe_walk *w, uint64_t pc,
			 struct seam_sframe_span *ret)
{
	size_t at = starts_before(w, pc);
	const struct entry *e;

	ret->end = at < w->n ? w->v[at].start : UINT64_MAX;
	ret->err = SEAM_NO_RULE;
	if (!at)
		return;
	e = &w->v[at - 1];
	if (pc - e->start >= e->size)
		return;
	if (e->start + e->size < ret->end)
		ret->end = e->start + e->size;
	find_row(w, at - 1, pc, ret);
}
