// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What becomes of sections whose code is unmapped without a word. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/jit-priv.h"

static bool is_in(const struct seam_jit_table *t, uint64_t start, uint64_t end)
{
	return t->code < end && start < t->end;
}

/* What stays of a listed one, so that its entry is not read again. */
static struct seam_jit_table *emptied(const struct seam_jit_table *from)
{
	struct seam_jit_table *t = malloc(sizeof(*t));

	if (!t)
		return NULL;
	*t = *from;
	t->refs = 1;
	t->size = 0;
	t->sf = (struct seam_sframe){0};
	return t;
}

/* *ret: what is left of it, NULL: nothing. */
static void end_table(struct seam_jit *j, struct seam_jit_table *t,
		      uint64_t *count, struct seam_jit_table **ret)
{
	struct seam_jit_table *rest = NULL;

	if (t->is_listed) {
		/* Without memory for it the entry may be read again, and is
		 * over by what note_range kept. */
		rest = emptied(t);
	} else {
		j->untaken++;
	}
	seam_jit_table_put(j, t);
	j->edits++;
	(*count)++;
	*ret = rest;
}

/* One range for all: what is between is at worst not believed where the list
 * could not be read in time. */
static void note_range(struct seam_jit *j, uint64_t start, uint64_t end,
		       uint64_t time_ns)
{
	if (!j->unmapped_end || start < j->unmapped_start)
		j->unmapped_start = start;
	if (end > j->unmapped_end)
		j->unmapped_end = end;
	if (time_ns > j->unmapped_ns)
		j->unmapped_ns = time_ns;
}

struct gone {
	uint64_t start, end, time_ns;
};

static bool is_left(const struct seam_jit_table *t, void *ctx)
{
	const struct gone *g = ctx;

	return !is_in(t, g->start, g->end) || t->since_ns > g->time_ns;
}

/* Counts in *count the tables that it ends. */
static void end_range(struct seam_jit *j, uint64_t start, uint64_t end,
		      uint64_t time_ns, uint64_t *count)
{
	struct gone gone = {start, end, time_ns};
	size_t n, i;

	seam_jit_past_keep(j, is_left, &gone);
	note_range(j, start, end, time_ns);
	n = i = seam_jit_search(j, start);
	for (; i < j->n && j->v[i]->code < end; i++) {
		struct seam_jit_table *t = j->v[i];

		if (t->since_ns <= time_ns && (t->size || !t->is_listed))
			end_table(j, t, count, &t);
		if (t)
			j->v[n++] = t;
	}
	if (n < i)
		memmove(&j->v[n], &j->v[i], (j->n - i) * sizeof(j->v[0]));
	j->n -= i - n;
}

void seam_jit_unmap(struct seam_jit *j, uint64_t start, uint64_t size,
		    uint64_t time_ns)
{
	struct seam_jit_stats *st = &j->reader->stats;
	const uint64_t before = st->unmapped;

	if (start + size <= start)
		return;
	end_range(j, start, start + size, time_ns, &st->unmapped);
	if (st->unmapped == before)
		st->vain++;
}

void seam_jit_untold(struct seam_jit *j, uint64_t start, uint64_t size,
		     uint64_t time_ns)
{
	if (start + size <= start)
		return;
	end_range(j, start, start + size, time_ns, &j->reader->stats.untold);
}

bool seam_jit_is_over(const struct seam_jit *j,
		      const struct seam_jit_section *s)
{
	return s->since_ns < j->unmapped_ns && s->code < j->unmapped_end &&
	       s->code + s->code_size > j->unmapped_start;
}

void seam_jit_doubt(struct seam_jit *j, uint64_t start, uint64_t end,
		    uint64_t time_ns)
{
	for (size_t i = 0; i < j->n; i++) {
		struct seam_jit_table *t = j->v[i];

		if (!is_in(t, start, end) || t->since_ns >= time_ns ||
		    !t->size || t->is_doubtful)
			continue;
		t->is_doubtful = true;
		j->reader->stats.unseen++;
	}
}
