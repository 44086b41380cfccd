// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/tails.h"

#include <errno.h>
#include <stdlib.h>

struct seam_tail {
	uint64_t from_ns, to_ns;
	bool moved;
};

/* Between two readings: more than these are forgotten. Threads that exec in
 * turn do so under one tid. */
#define TAILS 1024
#define FIRST_TAILS 2

/* Moves its end on, never back. */
static void reach(struct seam_tail *t, uint64_t time_ns)
{
	if (time_ns > t->to_ns)
		t->to_ns = time_ns;
}

int seam_tails_begin(struct seam_tails *ts, uint64_t time_ns, bool moved)
{
	if (ts->n == ts->max && ts->max < TAILS) {
		uint32_t max = ts->max ? 2 * ts->max : FIRST_TAILS;
		struct seam_tail *last =
			reallocarray(ts->last, max, sizeof(*last));

		if (!last)
			return -ENOMEM;
		ts->last = last;
		ts->max = max;
	}
	ts->last[ts->n++ % ts->max] = (struct seam_tail){time_ns, 0, moved};
	return 0;
}

void seam_tails_end(struct seam_tails *ts, uint64_t time_ns)
{
	reach(&ts->last[(ts->n - 1) % ts->max], time_ns);
}

void seam_tails_late(struct seam_tails *ts, uint64_t time_ns)
{
	struct seam_tail *of = NULL;

	for (uint32_t i = 0; i < ts->n && i < ts->max; i++) {
		struct seam_tail *t = &ts->last[i];

		if (!t->moved && t->from_ns <= time_ns &&
		    (!of || t->from_ns > of->from_ns))
			of = t;
	}
	if (of)
		reach(of, time_ns);
}

/* The first that moved and ends behind a time: how the exec began that ended
 * the tid's first owner may not be known. */
static uint64_t next_moved(const struct seam_tails *ts, uint64_t time_ns)
{
	uint64_t to_ns = 0;

	for (uint32_t i = 0; i < ts->n && i < ts->max; i++) {
		const struct seam_tail *t = &ts->last[i];

		if (t->moved && t->to_ns >= time_ns &&
		    (!to_ns || t->to_ns < to_ns))
			to_ns = t->to_ns;
	}
	return to_ns;
}

uint64_t seam_tails_at(const struct seam_tails *ts, uint64_t time_ns,
		       bool exits)
{
	uint64_t to_ns = exits ? next_moved(ts, time_ns) : 0;

	for (uint32_t i = 0; i < ts->n && i < ts->max; i++) {
		const struct seam_tail *t = &ts->last[i];

		if (t->from_ns <= time_ns && time_ns <= t->to_ns &&
		    t->to_ns > to_ns)
			to_ns = t->to_ns;
	}
	return to_ns;
}

void seam_tails_fini(struct seam_tails *ts)
{
	free(ts->last);
	*ts = (struct seam_tails){0};
}
