// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/cookie.h"

#include <errno.h>
#include <stdlib.h>

#include "core/uapi.h"
#include "stitch/cookie-areas.h"

#define AHEAD 8 /* records */
#define CPUS 65536 /* a cookie says which in its lower bits */
#define APART_MIN 1024 /* fewer are sorted in no time */
#define LATE_MOST 8 /* one of so many */

struct task {
	uint64_t last_cookie; /* of its samples */
	uint64_t last_stack_ns; /* of its user stacks */
	uint64_t missed; /* the cookie of one that left without its stack */
	bool has_stack, exited, has_missed;
};

bool seam_chain_deferred(struct seam_pd_words chain)
{
	return seam_pd_chain_deferred(chain);
}

uint64_t seam_chain_cookie(struct seam_pd_words chain)
{
	return seam_chain_deferred(chain) ? seam_pd_word(chain, chain.n - 1)
					  : 0;
}

static struct task *task_of(struct cookie_index *ix, uint32_t tid)
{
	return seam_idmap_make(&ix->tasks, tid, sizeof(struct task));
}

/* One of which nothing is known is one that has ended. */
void seam_cookie_gone(void *index, uint32_t tid)
{
	struct cookie_index *ix = index;

	free(seam_idmap_remove(&ix->tasks, tid));
}

static int add_stack(struct cookie_index *ix, struct world *w,
		     const struct seam_pd_rec *rec, size_t i, bool late)
{
	struct process *p = seam_idmap_get(&w->processes, rec->pid);
	struct task *t = task_of(ix, rec->tid);

	if (!t || seam_spill_grow(&ix->room, ix->n + 1, sizeof(*ix->v)))
		return -ENOMEM;
	ix->v = ix->room.p;
	ix->v[ix->n++] = (struct cookie_entry){
		.cookie = rec->stack.cookie,
		.time_ns = rec->time_ns,
		.tid = rec->tid,
		.pid = rec->pid,
		.record = i,
		.has_tid = rec->has_tid,
		.late = late ||
			(t->has_missed && t->missed == rec->stack.cookie),
	};
	t->has_stack = true;
	t->last_stack_ns = rec->time_ns;
	if (!p || !p->fresh)
		return 0;
	p->fresh = false;
	return seam_cookie_keep(ix, &ix->v[ix->n - 1], p, &rec->stack);
}

static int note_cookie(struct cookie_index *ix, const struct seam_pd_rec *rec)
{
	uint64_t cookie = seam_chain_cookie(rec->sample.chain);
	struct task *t = cookie ? task_of(ix, rec->tid) : NULL;

	if (!cookie)
		return 0;
	if (!t)
		return -ENOMEM;
	t->last_cookie = cookie;
	return 0;
}

int seam_cookie_note(struct cookie_index *ix, struct world *w,
		     const struct seam_pd_rec *rec, size_t i,
		     struct seam_stitch_stats *stats, bool late)
{
	struct task *t;

	switch (rec->type) {
	case SEAM_RECORD_CALLCHAIN_DEFERRED:
		if (!rec->stack.cookie) { /* of none: no more come */
			ix->complete = true;
			return 0;
		}
		stats->stacks++;
		return add_stack(ix, w, rec, i, late);
	case PERF_RECORD_SAMPLE:
		return note_cookie(ix, rec);
	case PERF_RECORD_EXIT:
		t = seam_idmap_get(&ix->tasks, rec->tid);
		if (t)
			t->exited = true;
		return 0;
	}
	return 0;
}

int seam_cookie_by_cookie(const void *a, const void *b)
{
	return seam_cookie_compare(a, b);
}

struct cpu {
	size_t at; /* how many; then the place of the next one */
	const struct cookie_entry *last;
};

/* Return: whether it comes in the order of its CPU's. */
static bool is_in_turn(struct cpu *cpu, const struct cookie_entry *e)
{
	if (cpu->last && seam_cookie_compare(e, cpu->last) < 0)
		return false;
	cpu->last = e;
	return true;
}

/* Return: how many come late. cpus: how many of each do not. */
static size_t count_late(const struct cookie_index *ix, struct cpu *cpus)
{
	size_t n = 0;

	for (size_t i = 0; i < ix->n; i++) {
		struct cpu *cpu = &cpus[ix->v[i].cookie % CPUS];
		bool in_turn = is_in_turn(cpu, &ix->v[i]);

		cpu->at += in_turn;
		n += !in_turn;
	}
	return n;
}

static void place(const struct cookie_index *ix, struct cpu *cpus,
		  struct cookie_entry *to, size_t late)
{
	size_t before = 0;

	for (size_t i = 0; i < CPUS; i++) {
		size_t n = cpus[i].at;

		cpus[i] = (struct cpu){.at = before};
		before += n;
	}
	for (size_t i = 0; i < ix->n; i++) {
		struct cpu *cpu = &cpus[ix->v[i].cookie % CPUS];

		to[is_in_turn(cpu, &ix->v[i]) ? cpu->at++ : late++] = ix->v[i];
	}
}

/* Each CPU's cookies come in their order, but for those of tasks that slept,
 * and those of all come mixed. Apart, and what comes late behind them, they are
 * sorted by as many passes as doublings make their number. Without memory they
 * stay as they are. */
static void set_apart(struct cookie_index *ix)
{
	struct seam_spill other = {0};
	struct cookie_entry *to;
	struct cpu *cpus;
	size_t n_late;

	if (ix->n < APART_MIN)
		return;
	cpus = calloc(CPUS, sizeof(*cpus));
	if (!cpus || seam_spill_grow(&other, ix->n, sizeof(*to))) {
		free(cpus);
		return;
	}
	to = other.p;
	n_late = count_late(ix, cpus);
	/* Sorting them takes memory, of which there is a limit. */
	if (n_late > ix->n / LATE_MOST) {
		seam_spill_fini(&other);
		free(cpus);
		return;
	}
	place(ix, cpus, to, ix->n - n_late);
	free(cpus);
	qsort(to + ix->n - n_late, n_late, sizeof(*to), seam_cookie_by_cookie);
	seam_spill_fini(&ix->room);
	ix->room = other;
	ix->v = to;
}

int seam_cookie_index(struct cookie_index *ix, const struct seam_pd_reader *r,
		      struct world *world, struct seam_stitch_stats *stats)
{
	size_t n = seam_pd_n_records(r);
	struct seam_pd_rec rec;
	int rc = 0;

	if (n > UINT32_MAX)
		return -E2BIG;
	stats->lost_records = seam_pd_lost_records(r);
	stats->lost_samples = seam_pd_lost_samples(r);
	stats->filtered_samples = seam_pd_filtered_samples(r);
	ix->has_gaps = seam_pd_damage(r)->lacks_records;
	if (!seam_pd_has_cookies(r))
		return 0;
	for (size_t i = 0; i < n && !rc; i++) {
		seam_pd_prefetch(r, i + AHEAD);
		if (seam_pd_tells_no_join(r, i))
			continue;
		seam_pd_record(r, i, &rec);
		rc = seam_world_apply(world, r, &rec);
		if (!rc)
			rc = seam_cookie_note(ix, world, &rec, i, stats, false);
	}
	if (!rc)
		set_apart(ix);
	if (!rc)
		rc = seam_spill_sort(&ix->room, ix->n, sizeof(*ix->v),
				     seam_cookie_by_cookie);
	ix->v = ix->room.p;
	ix->n_sorted = ix->n;
	for (size_t i = 1; i < ix->n; i++)
		stats->stacks_repeated +=
			seam_cookie_same(&ix->v[i], &ix->v[i - 1]);
	return rc;
}

void seam_cookie_fini(struct cookie_index *ix)
{
	seam_idmap_fini(&ix->tasks, free);
	seam_spill_fini(&ix->room);
	seam_spill_fini(&ix->area_room);
	free(ix->hit);
	seam_spill_fini(&ix->order_room);
	seam_near_forget(&ix->near);
}

static int why_missing(const struct cookie_index *ix, uint64_t cookie,
		       const struct seam_pd_rec *sample, const struct task *t)
{
	if (ix->complete || !t || t->exited || t->last_cookie != cookie)
		return SEAM_LOST;
	if (t->has_stack && t->last_stack_ns >= sample->time_ns)
		return SEAM_LOST;
	return SEAM_PENDING;
}

int seam_cookie_missing(const struct cookie_index *ix, uint64_t cookie,
			const struct seam_pd_rec *sample)
{
	struct task *t = seam_idmap_get(&ix->tasks, sample->tid);
	int why = why_missing(ix, cookie, sample, t);

	if (t) {
		t->has_missed = true;
		t->missed = cookie;
	}
	if (why != SEAM_PENDING)
		return why;
	if (ix->is_open)
		return SEAM_WINDOW;
	return ix->has_gaps ? SEAM_LOST : SEAM_PENDING;
}

/* From the back, so that what is sorted moves to its place at once. */
static void merge(struct cookie_entry *v, size_t n,
		  const struct cookie_entry *add, size_t n_add)
{
	while (n_add)
		if (n && seam_cookie_compare(&v[n - 1], &add[n_add - 1]) > 0) {
			v[n + n_add - 1] = v[n - 1];
			n--;
		} else {
			v[n + n_add - 1] = add[n_add - 1];
			n_add--;
		}
}

int seam_cookie_put_in(struct cookie_index *ix, struct seam_stitch_stats *stats)
{
	struct cookie_entry *add;
	size_t n = ix->n - ix->n_sorted;

	if (!n)
		return 0;
	seam_near_forget(&ix->near);
	add = malloc(n * sizeof(*add));
	if (!add)
		return -ENOMEM;
	memcpy(add, ix->v + ix->n_sorted, n * sizeof(*add));
	qsort(add, n, sizeof(*add), seam_cookie_by_cookie);
	merge(ix->v, ix->n_sorted, add, n);
	free(add);
	ix->n_sorted = ix->n;
	stats->stacks_repeated = ix->gone.pairs;
	for (size_t i = 1; i < ix->n; i++)
		stats->stacks_repeated +=
			seam_cookie_same(&ix->v[i], &ix->v[i - 1]);
	return 0;
}
