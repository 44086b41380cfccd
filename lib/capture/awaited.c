// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/awaited.h"

#include <errno.h>
#include <stdlib.h>

#include "core/err.h"
#include "process/target.h"

#define SWEEP_NS 1000000000ULL
/* A stack that did not come before its task's next entry may yet: the library
 * unwinds copies aside, and may first have to read a large file. */
#define LOST_NS 30000000000ULL
/* Whether a task sleeps in its entry still, /proc is asked of so many in one
 * sweep, and of each when it has waited twice as
 * long as the last time. */
#define ASKED_MAX 64
/* A task whose stack came and that was quiet for so long is forgotten. Samples
 * that come later in an exec or exit are of that stack. */
#define FORGET_NS 10000000000ULL
/* The sample that a stack was taken for at once comes behind it, and whoever
 * interrupts in between is in the task's next entry. */
#define EARLY_NS 1000000000ULL

/* A sleep's sample may have been lost. */
#define ASLEEP_NS (3600 * 1000000000ULL)

struct entry {
	uint64_t cookie;
	uint64_t last_ns; /* of the last sample or the stack */
	uint64_t ip; /* where the kernel was entered; 0: it is not sure */
	uint64_t asked_ns; /* how long it had waited when /proc was asked */
	uint32_t pid, tid, cpu;
	bool waits;
	bool sampled; /* a sample of it has come */
	bool due; /* the one that its stack was taken for has not */
	bool lost; /* its stack: whoever comes later is to be told, too */
	bool tail; /* of an exec or exit */
	bool asleep; /* see seam_user_stack */
	uint64_t swept_ns; /* the first sweep that saw it over; 0: none has */
};

/* What is handed out on the way through a map. */
struct sweep {
	uint64_t now_ns;
	seam_awaited_fn *fn;
	void *ctx;
	uint32_t asks; /* that are left */
};

static void give_up(const struct sweep *sw, const struct entry *e)
{
	const struct seam_user_stack stack = {
		.sz = sizeof(stack),
		.time_ns = e->last_ns,
		.cookie = e->cookie,
		.pid = e->pid,
		.tid = e->tid,
		.cpu = e->cpu,
		.end = SEAM_LOST,
		.ips = e->ip ? &e->ip : NULL,
		.n_ips = e->ip != 0,
	};

	sw->fn(sw->ctx, &stack);
}

static int keep_over(struct seam_awaited *a, const struct entry *e)
{
	struct entry *over = malloc(sizeof(*over));

	if (!over)
		return -ENOMEM;
	*over = *e;
	if (seam_idmap_put(&a->over, e->cookie, over)) {
		free(over);
		return -ENOMEM;
	}
	return 0;
}

/* The task is in another entry now. Or another task has its tid, in an exec:
 * samples of this one may come yet, if its stack was taken at an exec or exit,
 * or at an event whose sample is still to be sent. */
static int move_over(struct seam_awaited *a, struct entry *e)
{
	if (!e->cookie || (!e->waits && !e->tail && !e->due))
		return 0;
	if (keep_over(a, e))
		return -ENOMEM;
	e->waits = false;
	e->tail = false;
	return 0;
}

static void note(struct entry *e, const struct seam_sample *sample)
{
	if (sample->time_ns > e->last_ns)
		e->last_ns = sample->time_ns;
	e->asked_ns = 0;
	e->sampled = true;
	e->due = false;
	e->waits |= e->lost;
	if (!e->ip)
		e->ip = sample->user ? sample->ip : sample->user_ip;
	e->cpu = sample->cpu;
	e->tail |= sample->tail_ns != 0;
}

int seam_awaited_sample(struct seam_awaited *a,
			const struct seam_sample *sample)
{
	struct entry *e =
		seam_idmap_make(&a->tasks, sample->stack_tid, sizeof(*e));
	struct entry *over;

	if (!e)
		return -ENOMEM;
	if (e->cookie == sample->cookie) {
		note(e, sample);
		return 0;
	}
	over = seam_idmap_get(&a->over, sample->cookie);
	if (over) {
		note(over, sample);
		return 0;
	}
	if (move_over(a, e))
		return -ENOMEM;
	*e = (struct entry){
		.cookie = sample->cookie,
		.pid = sample->pid,
		.tid = sample->stack_tid,
		.waits = true,
	};
	note(e, sample);
	return 0;
}

static void note_stack(const struct seam_awaited *a, struct entry *e,
		       const struct seam_user_stack *stack)
{
	if (stack->time_ns > e->last_ns)
		e->last_ns = stack->time_ns;
	e->tail |= stack->before_exec || stack->at_exit;
	e->asleep |= stack->asleep;
	e->waits = false;
	e->lost = stack->end == SEAM_LOST;
	/* At once: samples that came are of who interrupted its being taken.
	 * What the library unwound comes behind that which it was taken for,
	 * unless that is a sleep's. */
	e->due = !e->sampled ||
		 (a->at_once && (!stack->by_library || stack->asleep));
}

static void over_stack(struct seam_awaited *a, struct entry *over,
		       const struct seam_user_stack *stack)
{
	note_stack(a, over, stack);
	if (!over->tail && !over->due)
		free(seam_idmap_remove(&a->over, stack->cookie));
}

/* A stack that comes late. Its samples came before it, and another entry may
 * have begun since; but those of a long exec or exit. */
static int late_stack(struct seam_awaited *a,
		      const struct seam_user_stack *stack)
{
	struct entry e = {.cookie = stack->cookie, .tid = stack->tid};

	note_stack(a, &e, stack);
	return e.tail ? keep_over(a, &e) : 0;
}

int seam_awaited_stack(struct seam_awaited *a,
		       const struct seam_user_stack *stack)
{
	struct entry *over = seam_idmap_get(&a->over, stack->cookie), *e;

	if (over) {
		over_stack(a, over, stack);
		return 0;
	}
	e = seam_idmap_get(&a->tasks, stack->tid);
	if (stack->by_library && !stack->asleep &&
	    (!e || e->cookie != stack->cookie))
		return late_stack(a, stack);
	e = seam_idmap_make(&a->tasks, stack->tid, sizeof(*e));
	if (!e)
		return -ENOMEM;
	if (e->cookie != stack->cookie) {
		if (move_over(a, e))
			return -ENOMEM;
		*e = (struct entry){.cookie = stack->cookie, .tid = stack->tid};
	}
	note_stack(a, e, stack);
	return 0;
}

/* Whether its task is gone; not that it is not, where that was not asked. */
static bool is_gone(struct sweep *sw, struct entry *e, uint32_t tid)
{
	uint64_t waited_ns = sw->now_ns - e->last_ns;

	if (!sw->asks || waited_ns < 2 * e->asked_ns)
		return false;
	sw->asks--;
	e->asked_ns = waited_ns;
	return seam_task_gone(tid);
}

/* It may be long until its sample comes. */
static bool is_asleep(const struct entry *e)
{
	return e->asleep && e->due;
}

static uint64_t kept_ns(const struct entry *e)
{
	if (e->waits)
		return LOST_NS;
	return e->tail ? FORGET_NS : EARLY_NS;
}

static bool sweep_over(void *ctx, uint64_t cookie, void *value)
{
	struct sweep *sw = ctx;
	struct entry *e = value;

	(void)cookie;
	/* Who reads late may find it old before what comes next is read. One
	 * sweep may come to it twice. */
	if (!e->swept_ns)
		e->swept_ns = sw->now_ns;
	if (e->swept_ns == sw->now_ns)
		return false;
	if (e->last_ns + kept_ns(e) >= sw->now_ns)
		return false;
	/* Of a task that is in another entry. */
	if (is_asleep(e) && e->last_ns + ASLEEP_NS >= sw->now_ns &&
	    !is_gone(sw, e, e->tid))
		return false;
	if (e->waits)
		give_up(sw, e);
	free(e);
	return true;
}

static bool sweep_task(void *ctx, uint64_t tid, void *value)
{
	struct sweep *sw = ctx;
	struct entry *e = value;

	if (e->last_ns + (e->waits ? LOST_NS : FORGET_NS) >= sw->now_ns)
		return false;
	if ((e->waits || is_asleep(e)) && !is_gone(sw, e, (uint32_t)tid))
		return false;
	if (e->waits)
		give_up(sw, e);
	free(e);
	return true;
}

void seam_awaited_sweep(struct seam_awaited *a, uint64_t now_ns,
			seam_awaited_fn *fn, void *ctx)
{
	struct sweep sw = {now_ns, fn, ctx, ASKED_MAX};

	if (now_ns - a->swept_ns < SWEEP_NS)
		return;
	a->swept_ns = now_ns;
	seam_idmap_sweep(&a->over, sweep_over, &sw);
	seam_idmap_sweep(&a->tasks, sweep_task, &sw);
}

static void end(void *ctx, uint64_t id, void *value)
{
	struct entry *e = value;

	(void)id;
	if (e->waits)
		give_up(ctx, e);
	e->waits = false;
}

void seam_awaited_end(struct seam_awaited *a, seam_awaited_fn *fn, void *ctx)
{
	struct sweep sw = {UINT64_MAX, fn, ctx, 0};

	seam_idmap_each(&a->over, end, &sw);
	seam_idmap_each(&a->tasks, end, &sw);
	seam_awaited_fini(a);
}

void seam_awaited_fini(struct seam_awaited *a)
{
	seam_idmap_fini(&a->over, free);
	seam_idmap_fini(&a->tasks, free);
	*a = (struct seam_awaited){0};
}
