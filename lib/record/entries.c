// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/entries.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "record/stay.h"
#include "record/tails.h"

/* The open or last entry of one task. */
struct entry {
	uint64_t cookie;
	struct seam_stay stay;
	struct seam_tails tails;
};

static void entry_free(void *value)
{
	struct entry *e = value;

	free(e->stay.ips);
	seam_tails_fini(&e->tails);
	free(e);
}

static struct entry *entry_of(struct seam_entries *es, uint32_t tid)
{
	struct entry *e = seam_idmap_make(&es->tasks, tid, sizeof(*e));

	if (!e)
		seam_entries_note(es, -ENOMEM);
	return e;
}

/* The task is in another entry, or will be. A thread's exec gives its tid to
 * another, which may be in its exit still, and vice versa: their samples come
 * in turns. */
static void entry_end(struct seam_entries *es, struct entry *e)
{
	struct seam_stay *s = &e->stay;
	bool kept = false;

	if (!e->cookie)
		return;
	if (s->has_stack && s->served.n && !s->written)
		seam_stay_write(es, s);
	if (s->waiting.n) {
		if (!seam_stay_keep(es, &es->orphans, e->cookie, s))
			seam_stay_lose(es, s);
	} else if (s->has_stack && (s->tail || s->due)) {
		kept = seam_stay_keep(es, &es->told, e->cookie, s);
	}
	if (!kept)
		seam_stay_over(es, s);
	*s = (struct seam_stay){.ips = s->ips};
	e->cookie = 0;
}

/* Makes cookie the task's entry; another that was open is over. */
static void entry_is(struct seam_entries *es, struct entry *e, uint64_t cookie)
{
	if (e->cookie == cookie)
		return;
	entry_end(es, e);
	e->cookie = cookie;
}

/* A sample that has the tid of its stack. */
static int add_own(struct entry *e, struct seam_stay *s,
		   const struct seam_sample *sample)
{
	/* The stack of a cold program comes late: the sample says it first. */
	if (sample->tail_ns && !s->tail) {
		if (seam_tails_begin(&e->tails, sample->tail_ns, false))
			return -ENOMEM;
		s->tail = true;
	}
	if (s->tail && s != &e->stay)
		seam_tails_late(&e->tails, sample->time_ns);
	else if (s->tail)
		seam_tails_end(&e->tails, sample->time_ns);
	seam_reach(&s->names.own_ns, sample->time_ns);
	return 0;
}

/* One whose thread has swapped tids with another since, in an exec. That one
 * may have an entry of its own. */
static int add_other(struct seam_entries *es, struct seam_stay *s,
		     const struct seam_sample *sample)
{
	uint64_t from_ns = sample->tail_ns ? sample->tail_ns : sample->time_ns;
	struct entry *other = entry_of(es, sample->tid);

	if (!other)
		return -ENOMEM;
	/* It may have been forgotten since it got a tail. */
	if ((s->names.other != sample->tid || !other->tails.n) &&
	    seam_tails_begin(&other->tails, from_ns, true))
		return -ENOMEM;
	seam_tails_end(&other->tails, sample->time_ns);
	if (!other->cookie)
		seam_reach(&other->stay.last_ns, sample->time_ns);
	s->names.other = sample->tid;
	return 0;
}

/* Of an entry that is over. */
static struct seam_stay *stay_of(const struct seam_entries *es, uint64_t cookie)
{
	struct seam_stay *s = seam_idmap_get(&es->orphans, cookie);

	return s ? s : seam_idmap_get(&es->told, cookie);
}

/* A sample of an entry: its stack is there, or will come. */
int seam_entries_sample(struct seam_entries *es,
			const struct seam_sample *sample)
{
	struct entry *e = entry_of(es, sample->stack_tid);
	struct seam_stay *s = NULL;
	int err;

	if (!e)
		return -ENOMEM;
	if (e->cookie != sample->cookie)
		s = stay_of(es, sample->cookie);
	if (!s) {
		entry_is(es, e, sample->cookie);
		s = &e->stay;
	}
	err = sample->tid == sample->stack_tid ? add_own(e, s, sample)
					       : add_other(es, s, sample);
	if (err) {
		seam_entries_note(es, err);
		return err;
	}
	seam_stay_add(es, s, sample);
	if (s != &e->stay && s->has_stack && !s->tail)
		seam_stay_write(es, s); /* there are hardly more */
	return 0;
}

bool seam_entries_has(const struct seam_entries *es,
		      const struct seam_sample *sample)
{
	const struct entry *e = seam_idmap_get(&es->tasks, sample->stack_tid);
	const struct seam_stay *s = e && e->cookie == sample->cookie
					    ? &e->stay
					    : stay_of(es, sample->cookie);

	return s && seam_stay_has_samples(s) && s->first_ns <= sample->time_ns;
}

static bool is_tails(const struct seam_user_stack *stack)
{
	return stack->before_exec || stack->at_exit;
}

/* And says of when it is. s: the task's, be it not its open entry. */
static int hold_now(struct seam_entries *es, struct entry *e,
		    struct seam_stay *s, const struct seam_user_stack *stack)
{
	if (seam_stay_hold(es, s, stack))
		return -ENOMEM;
	if (!s->tail && is_tails(stack)) {
		if (seam_tails_begin(&e->tails, stack->time_ns, false))
			return -ENOMEM;
		s->tail = true;
	}
	return 0;
}

/* A stack that comes late. Its samples came before it, and another entry may
 * have begun since; but those of a long exec or exit. */
static int late_stack(struct seam_entries *es,
		      const struct seam_user_stack *stack)
{
	struct seam_stay s = {.last_ns = stack->time_ns};
	struct entry *e;
	int err;

	if (!is_tails(stack)) {
		es->sum->unused++;
		return 0;
	}
	e = entry_of(es, stack->tid);
	err = e ? hold_now(es, e, &s, stack) : -ENOMEM;
	if (err || !seam_stay_keep(es, &es->told, stack->cookie, &s))
		seam_stay_over(es, &s);
	free(s.ips);
	return err;
}

/* Return: true if the stack was one that samples had been waiting for. */
static bool orphan_claim(struct seam_entries *es,
			 const struct seam_user_stack *stack)
{
	struct seam_stay *s = seam_idmap_remove(&es->orphans, stack->cookie);
	bool kept = false;

	if (!s)
		return false;
	seam_reach(&s->last_ns, stack->time_ns);
	if (seam_stay_hold(es, s, stack)) {
		seam_entries_note(es, -ENOMEM);
		seam_stay_lose(es, s);
		seam_stay_free(s);
		return true;
	}
	seam_stay_write(es, s);
	/* Its samples may all be of before. */
	s->tail |= is_tails(stack);
	s->due = es->at_once && stack->asleep;
	if (s->tail || s->due)
		kept = seam_stay_keep(es, &es->told, stack->cookie, s);
	if (!kept)
		seam_stay_over(es, s);
	seam_stay_free(s);
	return true;
}

/* Readers take a sample whose stack is in no record for lost. */
static void lose(struct seam_entries *es, const struct seam_user_stack *stack)
{
	struct seam_stay *s = seam_idmap_remove(&es->orphans, stack->cookie);
	struct entry *e = seam_idmap_get(&es->tasks, stack->tid);

	if (s) {
		seam_stay_lose(es, s);
		seam_stay_free(s);
	} else if (e && e->cookie == stack->cookie) {
		seam_stay_lose(es, &e->stay);
	}
}

void seam_entries_stack(struct seam_entries *es,
			const struct seam_user_stack *stack)
{
	struct entry *e;

	if (stack->end == SEAM_LOST) {
		lose(es, stack);
		return;
	}
	/* Of an exec it may come twice. */
	if (orphan_claim(es, stack) || seam_idmap_get(&es->told, stack->cookie))
		return;
	e = seam_idmap_get(&es->tasks, stack->tid);
	if (stack->by_library && !stack->asleep &&
	    (!e || e->cookie != stack->cookie)) {
		seam_entries_note(es, late_stack(es, stack));
		return;
	}
	e = entry_of(es, stack->tid);
	if (!e)
		return;
	entry_is(es, e, stack->cookie);
	/* As lib/capture/awaited.c has it. */
	e->stay.due = !seam_stay_has_samples(&e->stay) ||
		      (es->at_once && (!stack->by_library || stack->asleep));
	/* The first is the one that samples were told of. */
	if (e->stay.has_stack && e->stay.stack.end != SEAM_PENDING)
		return;
	if (hold_now(es, e, &e->stay, stack)) {
		seam_entries_note(es, -ENOMEM);
		return;
	}
	/* Not so at exec and exit: what the kernel says of them may have
	 * come before the stack was written. */
	if (!e->stay.tail || !e->stay.served.n)
		seam_reach(&e->stay.last_ns, stack->time_ns);
}

uint64_t seam_entries_tail(const struct seam_entries *es, uint32_t tid,
			   uint64_t time_ns, bool exits)
{
	const struct entry *e = seam_idmap_get(&es->tasks, tid);

	return e ? seam_tails_at(&e->tails, time_ns, exits) : 0;
}

bool seam_entries_await(const struct seam_entries *es)
{
	return es->orphans.used != 0;
}

static void settle(void *ctx, uint64_t tid, void *value)
{
	struct entry *e = value;

	(void)tid;
	seam_stay_settle(ctx, &e->stay);
}

static bool settle_told(void *ctx, uint64_t cookie, void *value)
{
	struct seam_entries *es = ctx;
	struct seam_stay *s = value;

	(void)cookie;
	seam_stay_settle(es, s);
	/* Who reads late may find it old before what comes next is read. This
	 * may come to it twice in one round. */
	if (!s->settled_ns)
		s->settled_ns = es->now_ns;
	if (s->settled_ns == es->now_ns)
		return false;
	if (s->last_ns + seam_stay_kept_ns(s) >= es->now_ns)
		return false;
	seam_stay_over(es, s);
	seam_stay_free(s);
	return true;
}

/* Whether the task is in the sleep whose stack there is: who waits for a lock
 * for good may be so for days. Asked once an hour. */
static bool sleeps_on(const struct seam_entries *es, struct seam_stay *s,
		      uint32_t tid)
{
	if (!s->asleep || !s->due ||
	    s->last_ns + seam_stay_kept_ns(s) >= es->now_ns)
		return false;
	if (s->alive_ns + seam_stay_kept_ns(s) >= es->now_ns)
		return true;
	if (kill((pid_t)tid, 0) && errno == ESRCH)
		return false;
	s->alive_ns = es->now_ns;
	return true;
}

static bool stale(void *ctx, uint64_t tid, void *value)
{
	struct seam_entries *es = ctx;
	struct entry *e = value;

	if (e->stay.last_ns + SEAM_STAY_FORGET_NS >= es->now_ns)
		return false;
	/* Its stack is awaited until the session says that it is lost. */
	if (e->stay.waiting.n || sleeps_on(es, &e->stay, (uint32_t)tid))
		return false;
	if (e->stay.has_stack &&
	    e->stay.last_ns + seam_stay_kept_ns(&e->stay) >= es->now_ns)
		return false;
	seam_stay_over(es, &e->stay);
	entry_free(e);
	return true;
}

void seam_entries_settle(struct seam_entries *es, uint64_t now_ns)
{
	es->now_ns = now_ns;
	seam_idmap_each(&es->tasks, settle, es);
	seam_idmap_sweep(&es->tasks, stale, es);
	seam_idmap_sweep(&es->told, settle_told, es);
}

static void end(void *ctx, uint64_t tid, void *value)
{
	struct seam_entries *es = ctx;
	struct entry *e = value;

	(void)tid;
	entry_end(es, e);
}

static void end_told(void *ctx, uint64_t cookie, void *value)
{
	(void)cookie;
	seam_stay_over(ctx, value);
}

void seam_entries_end(struct seam_entries *es)
{
	seam_idmap_each(&es->tasks, end, es);
	seam_idmap_each(&es->told, end_told, es);
}

void seam_entries_fini(struct seam_entries *es)
{
	seam_idmap_fini(&es->tasks, entry_free);
	seam_idmap_fini(&es->orphans, seam_stay_free);
	seam_idmap_fini(&es->told, seam_stay_free);
}
