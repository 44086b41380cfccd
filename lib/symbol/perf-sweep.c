// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* From the lowest address to the highest, with a heap of the symbols that have
 * begun, the last one of the table on top: n log n, whatever overlaps. */
#include "symbol/perf-sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

struct order {
	uint64_t start;
	uint32_t sym;
};

struct sweep {
	const struct seam_symtab *tab;
	struct order *order; /* by start */
	size_t at; /* the next one to begin */
	uint32_t *heap;
	size_t n_heap;
	struct seam_perf_piece *v;
	size_t n, cap;
};

static int compare(const void *pa, const void *pb)
{
	const struct order *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void push(struct sweep *s, uint32_t sym)
{
	size_t i = s->n_heap++;

	for (; i && s->heap[(i - 1) / 2] < sym; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = sym;
}

static void pop(struct sweep *s)
{
	uint32_t last = s->heap[--s->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->n_heap) {
		if (child + 1 < s->n_heap &&
		    s->heap[child + 1] > s->heap[child])
			child++;
		if (s->heap[child] <= last)
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
}

static int add_piece(struct sweep *s, uint32_t sym, uint64_t from, uint64_t to)
{
	struct seam_perf_piece *last = s->n ? &s->v[s->n - 1] : NULL;

	if (last && last->sym == sym && last->end == from) {
		last->end = to;
		return 0;
	}
	if (seam_grow(&s->v, s->n + 1, &s->cap, sizeof(*s->v)))
		return -ENOMEM;
	s->v[s->n++] = (struct seam_perf_piece){from, to, sym};
	return 0;
}

/* Each step ends a symbol or begins one. */
static int sweep(struct sweep *s)
{
	const size_t count = s->tab->count;
	uint64_t pos = 0, to;
	int rc = 0;

	while (!rc && (s->n_heap || s->at < count)) {
		if (!s->n_heap)
			pos = s->order[s->at].start;
		while (s->at < count && s->order[s->at].start <= pos)
			push(s, s->order[s->at++].sym);
		while (s->n_heap && s->tab->syms[s->heap[0]].end <= pos)
			pop(s);
		if (!s->n_heap)
			continue;
		to = s->tab->syms[s->heap[0]].end;
		if (s->at < count && s->order[s->at].start < to)
			to = s->order[s->at].start;
		rc = add_piece(s, s->heap[0], pos, to);
		pos = to;
	}
	return rc;
}

int seam_perf_sweep(const struct seam_symtab *tab, struct seam_perf_piece **ret,
		    size_t *ret_n)
{
	struct sweep s = {.tab = tab};
	int rc = -ENOMEM;

	if (!tab->count)
		return 0;
	s.order = malloc(tab->count * sizeof(*s.order));
	s.heap = malloc(tab->count * sizeof(*s.heap));
	for (size_t i = 0; s.order && i < tab->count; i++)
		s.order[i] = (struct order){tab->syms[i].start, (uint32_t)i};
	if (s.order && s.heap) {
		qsort(s.order, tab->count, sizeof(*s.order), compare);
		rc = sweep(&s);
	}
	free(s.order);
	free(s.heap);
	if (rc) {
		free(s.v);
		return rc;
	}
	*ret = s.v;
	*ret_n = s.n;
	return 0;
}
