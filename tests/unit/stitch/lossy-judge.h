/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the stitcher may say of a recording of struct lossy, by looking at all
 * of its records for each sample. LOSSY_CHECK(condition) must be defined, and
 * does not return if it is false.
 */
#ifndef SEAM_TESTS_LOSSY_JUDGE_H
#define SEAM_TESTS_LOSSY_JUDGE_H

#include <stdlib.h>

#include "lossy.h"
#include "stitch/stitch.h"

struct judge {
	const struct lossy *l;
	const struct lossy_rec *v[LOSSY_RECS]; /* in the order of time */
	bool seen[LOSSY_RECS]; /* samples that came; stacks that serve */
	uint64_t missing, joined, differs, of_process, of_other;
};

static inline int judge_by_time(const void *a, const void *b)
{
	const struct lossy_rec *x = *(const struct lossy_rec *const *)a;
	const struct lossy_rec *y = *(const struct lossy_rec *const *)b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x < y ? -1 : 1;
}

static inline void judge_init(struct judge *j, const struct lossy *l)
{
	memset(j, 0, sizeof(*j));
	j->l = l;
	for (size_t i = 0; i < l->n; i++)
		j->v[i] = &l->v[i];
	if (l->has_time)
		qsort(j->v, l->n, sizeof(j->v[0]), judge_by_time);
}

static inline uint64_t judge_time(const struct judge *j, size_t i)
{
	return j->l->has_time ? j->v[i]->time_ns : 0;
}

static inline uint32_t judge_tid(const struct judge *j, size_t i)
{
	return j->l->has_tid ? j->v[i]->tid : 0;
}

/* How far apart two records are, by time or else by place. */
static inline uint64_t judge_apart(const struct judge *j, size_t a, size_t b)
{
	uint64_t x = j->l->has_time ? judge_time(j, a) : a;
	uint64_t y = j->l->has_time ? judge_time(j, b) : b;

	return x > y ? x - y : y - x;
}

/* Whose stack k is, as sample i sees it. */
enum judge_whose { JUDGE_OF_THREAD, JUDGE_OF_PROCESS, JUDGE_OF_OTHER };

static inline enum judge_whose judge_whose(const struct judge *j, size_t k,
					   size_t i)
{
	if (judge_tid(j, k) == judge_tid(j, i))
		return JUDGE_OF_THREAD;
	return j->v[k]->pid == j->v[i]->pid ? JUDGE_OF_PROCESS : JUDGE_OF_OTHER;
}

/* Of the records that could be sample i's: the least distance, or none. */
static inline uint64_t judge_nearest(const struct judge *j, size_t i,
				     enum judge_whose *ret)
{
	uint64_t best = UINT64_MAX;

	for (*ret = JUDGE_OF_THREAD; *ret <= JUDGE_OF_OTHER; ++*ret) {
		for (size_t k = 0; k < j->l->n; k++)
			if (j->v[k]->kind == LOSSY_STACK &&
			    j->v[k]->cookie == j->v[i]->cookie &&
			    judge_whose(j, k, i) == *ret &&
			    judge_apart(j, k, i) < best)
				best = judge_apart(j, k, i);
		if (best != UINT64_MAX)
			return best;
	}
	return best;
}

/* Without its record: whether the task may be where it was sampled. It is not
 * if it was sampled elsewhere later, came out of somewhere later, or was seen
 * and then exited: an EXIT before that was another's of its number. */
static inline int judge_end(const struct judge *j, size_t i)
{
	uint64_t last_cookie = 0, last_stack_ns = 0;
	bool has_stack = false, lost = false;

	for (size_t k = 0; k < j->l->n; k++) {
		const struct lossy_rec *rec = j->v[k];

		lost |= rec->kind == LOSSY_STACKS_END;
		if (judge_tid(j, k) != judge_tid(j, i))
			continue;
		lost |= rec->kind == LOSSY_EXIT && j->l->has_tid &&
			(last_cookie || has_stack);
		if (rec->kind == LOSSY_SAMPLE)
			last_cookie = rec->cookie;
		if (rec->kind != LOSSY_STACK)
			continue;
		has_stack = true;
		last_stack_ns = judge_time(j, k);
	}
	lost |= last_cookie != j->v[i]->cookie;
	lost |= has_stack && last_stack_ns >= judge_time(j, i);
	return lost ? SEAM_LOST : SEAM_PENDING;
}

static inline void judge_joined(struct judge *j, const struct seam_stitched *s)
{
	const struct lossy_rec *sample = j->v[s->place], *stack;

	LOSSY_CHECK(s->stack < j->l->n);
	stack = j->v[s->stack];
	LOSSY_CHECK(stack->kind == LOSSY_STACK);
	LOSSY_CHECK((s->half == SEAM_HALF_LATE) == (s->stack < s->place));
	LOSSY_CHECK(s->n_stack == LOSSY_FRAMES);
	LOSSY_CHECK(s->n_frames == 1 + LOSSY_FRAMES);
	for (size_t i = 0; i < LOSSY_FRAMES; i++)
		LOSSY_CHECK(s->frames[1 + i].ip ==
			    ((uint64_t)stack->entry << 20 | i));
	j->differs += stack->cookie != sample->cookie;
	j->seen[s->stack] = true;
	j->joined++;
}

/* Nobody else's stack, and the nearest if there are several; none only if
 * there is none. */
static inline void judge_by_cookie(struct judge *j,
				   const struct seam_stitched *s)
{
	const struct lossy_rec *sample = j->v[s->place], *stack;
	enum judge_whose whose;
	uint64_t nearest = judge_nearest(j, s->place, &whose);
	bool is_none = whose >= JUDGE_OF_OTHER;

	LOSSY_CHECK((s->half == SEAM_HALF_MISSING) == is_none);
	j->of_process += whose == JUDGE_OF_PROCESS;
	j->of_other += whose == JUDGE_OF_OTHER;
	if (s->half == SEAM_HALF_MISSING) {
		LOSSY_CHECK(s->end == judge_end(j, s->place));
		return;
	}
	stack = j->v[s->stack];
	LOSSY_CHECK(stack->cookie == sample->cookie);
	LOSSY_CHECK(judge_whose(j, s->stack, s->place) == whose);
	LOSSY_CHECK(judge_apart(j, s->stack, s->place) == nearest);
	if (j->l->cookies == LOSSY_OF_ALL || j->l->cookies == LOSSY_OF_THREAD)
		LOSSY_CHECK(stack->entry == sample->entry);
}

/* The next stack of the task, whosever it is. */
static inline void judge_by_order(struct judge *j,
				  const struct seam_stitched *s)
{
	size_t k = s->place + 1;

	while (k < j->l->n && (j->v[k]->kind != LOSSY_STACK ||
			       judge_tid(j, k) != judge_tid(j, s->place)))
		k++;
	LOSSY_CHECK((s->half == SEAM_HALF_MISSING) == (k == j->l->n));
	if (s->half != SEAM_HALF_MISSING)
		LOSSY_CHECK(s->stack == k);
}

static inline void judge_sample(struct judge *j, const struct seam_stitched *s,
				enum seam_join rule)
{
	const struct lossy_rec *rec;

	LOSSY_CHECK(s->place < j->l->n && !j->seen[s->place]);
	j->seen[s->place] = true;
	rec = j->v[s->place];
	LOSSY_CHECK(s->rec->sample.ip == LOSSY_KERNEL + rec->serial);
	LOSSY_CHECK(s->n_kernel == 1 && s->frames[0].ip == s->rec->sample.ip);
	LOSSY_CHECK((rec->kind == LOSSY_PLAIN) == (s->half == SEAM_HALF_NONE));
	if (rec->kind == LOSSY_PLAIN)
		return;
	LOSSY_CHECK(rec->kind == LOSSY_SAMPLE && s->cookie == rec->cookie);
	if (s->half == SEAM_HALF_MISSING)
		j->missing++;
	else
		judge_joined(j, s);
	if (rule == SEAM_JOIN_COOKIE)
		judge_by_cookie(j, s);
	else
		judge_by_order(j, s);
}

/* Of the records that share a cookie and a thread with stack i: whether any
 * serves, and whether it is the first of them. */
static inline bool judge_served(const struct judge *j, size_t i,
				bool *ret_first)
{
	bool served = false;

	*ret_first = true;
	for (size_t k = 0; k < j->l->n; k++)
		if (j->v[k]->kind == LOSSY_STACK &&
		    j->v[k]->cookie == j->v[i]->cookie &&
		    judge_tid(j, k) == judge_tid(j, i)) {
			served |= j->seen[k];
			*ret_first &= k >= i;
		}
	return served;
}

/* Every sample came once, every stack serves or is counted by why not. */
static inline void judge_stats(const struct judge *j,
			       const struct seam_stitch_stats *st,
			       enum seam_join rule)
{
	uint64_t n[LOSSY_LOST + 1] = {0}, unused = 0, repeated = 0, other = 0;
	bool alone = rule == SEAM_JOIN_COOKIE && !j->l->has_tid, first;

	for (size_t i = 0; i < j->l->n; i++) {
		n[j->v[i]->kind]++;
		if (j->v[i]->kind == LOSSY_SAMPLE ||
		    j->v[i]->kind == LOSSY_PLAIN)
			LOSSY_CHECK(j->seen[i]);
		if (j->v[i]->kind != LOSSY_STACK)
			continue;
		unused += !j->seen[i];
		repeated += !j->seen[i] && judge_served(j, i, &first);
		judge_served(j, i, &first);
		other += !first;
	}
	LOSSY_CHECK(st->samples == n[LOSSY_SAMPLE] + n[LOSSY_PLAIN]);
	LOSSY_CHECK(st->wanted == n[LOSSY_SAMPLE]);
	LOSSY_CHECK(st->half[SEAM_HALF_NONE] == n[LOSSY_PLAIN]);
	LOSSY_CHECK(st->half[SEAM_HALF_MISSING] == j->missing);
	LOSSY_CHECK(st->half[SEAM_HALF_JOINED] + st->half[SEAM_HALF_LATE] ==
		    j->joined);
	LOSSY_CHECK(st->end[SEAM_LOST] + st->end[SEAM_PENDING] == j->missing);
	LOSSY_CHECK(st->stacks == n[LOSSY_STACK]);
	LOSSY_CHECK(st->stacks_repeated == other);
	LOSSY_CHECK(st->stacks_unused == unused);
	LOSSY_CHECK(st->unused_repeated == repeated);
	LOSSY_CHECK(st->lost_records == n[LOSSY_LOST]);
	LOSSY_CHECK(st->unused_lost == (n[LOSSY_LOST] ? unused - repeated : 0));
	LOSSY_CHECK(st->unused_foreign + st->unused_lost == unused - repeated);
	LOSSY_CHECK(st->by_cookie_alone == (alone ? j->joined : 0));
	LOSSY_CHECK(st->by_order_differs ==
		    (rule == SEAM_JOIN_ORDER ? j->differs : 0));
	LOSSY_CHECK(st->by_process == j->of_process);
	LOSSY_CHECK(st->other_task == j->of_other);
}

/* The reader is closed. */
static inline void judge_reader(const struct lossy *l, enum seam_join rule,
				struct seam_pd_reader *r)
{
	struct seam_stitched out;
	struct seam_stitch *s;
	struct judge j;
	int rc;

	judge_init(&j, l);
	LOSSY_CHECK(!seam_stitch_new(r, &s));
	LOSSY_CHECK(!seam_stitch_join_by(s, rule));
	while ((rc = seam_stitch_next(s, &out)) > 0)
		judge_sample(&j, &out, rule);
	LOSSY_CHECK(!rc);
	LOSSY_CHECK(!seam_pd_damage(r)->damaged);
	LOSSY_CHECK(seam_pd_n_records(r) == l->n);
	judge_stats(&j, seam_stitch_stats(s), rule);
	seam_stitch_free(s);
	seam_pd_close(r);
}

static inline void judge(const struct lossy *l, enum seam_join rule)
{
	struct seam_pd_reader *r;

	LOSSY_CHECK(!seam_pd_open_mem(l->words, 8 * l->n_words, &r, NULL));
	judge_reader(l, rule, r);
}

#endif
