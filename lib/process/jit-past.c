// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Sections that a process's list has no more. Copies of stacks are unwound
 * some time after they were taken, and the list is read as it is then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "process/jit-priv.h"

/* Each end is told, so that few wait for it. */
#define PAST_MAX 256

static void drop_oldest(struct seam_jit *j)
{
	seam_jit_table_put(j, j->past[0]);
	j->n_past--;
	memmove(&j->past[0], &j->past[1], j->n_past * sizeof(j->past[0]));
}

void seam_jit_past_add(struct seam_jit *j, struct seam_jit_table *t)
{
	/* What went while it was read may be another's bytes. */
	if (!t->size || !t->is_sure ||
	    seam_grow(&j->past, j->n_past + 1, &j->room_past,
		      sizeof(j->past[0]))) {
		seam_jit_table_put(j, t);
		return;
	}
	if (j->n_past == PAST_MAX)
		drop_oldest(j);
	j->past[j->n_past++] = t;
}

void seam_jit_past_keep(struct seam_jit *j,
			bool (*keep)(const struct seam_jit_table *t, void *ctx),
			void *ctx)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n_past; i++)
		if (keep(j->past[i], ctx))
			j->past[n++] = j->past[i];
		else
			seam_jit_table_put(j, j->past[i]);
	j->n_past = n;
}

const struct seam_jit_table *seam_jit_find_at(const struct seam_jit *j,
					      uint64_t addr, uint64_t time_ns)
{
	const struct seam_jit_table *t = seam_jit_find(j, addr);

	if (t && t->since_ns <= time_ns)
		return t;
	for (size_t i = j->n_past; i--;) {
		t = j->past[i];
		if (t->code <= addr && addr < t->end && t->since_ns <= time_ns)
			return t;
	}
	return NULL;
}

int seam_jit_past_copy(struct seam_jit *to, const struct seam_jit *from)
{
	if (!from->n_past)
		return 0;
	if (seam_grow(&to->past, from->n_past, &to->room_past,
		      sizeof(to->past[0])))
		return -ENOMEM;
	for (size_t i = 0; i < from->n_past; i++) {
		to->past[i] = from->past[i];
		to->past[i]->refs++;
		to->bytes += from->past[i]->size;
	}
	to->n_past = from->n_past;
	return 0;
}

void seam_jit_past_fini(struct seam_jit *j)
{
	for (size_t i = 0; i < j->n_past; i++)
		seam_jit_table_put(j, j->past[i]);
	free(j->past);
	j->past = NULL;
	j->n_past = j->room_past = 0;
}
