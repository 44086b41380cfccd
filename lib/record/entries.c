// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/tails.h"

/* After this an entry whose stack came has no more late samples, but for
 * exec and exit, which can take long. */
#define SETTLED_NS 100000000ULL
/* A task that was quiet for so long is forgotten; it may be gone. The session
 * forgets sooner which cookies it has told the stack of. */
#define FORGET_NS 20000000000ULL
/* A stack taken at the event is sent before the event's sample. Whoever
 * interrupts in between opens the task's next entry, and is seen first. */
#define EARLY_NS 1000000000ULL
/* And one of a task that went to sleep before its sample, which may be lost. */
#define ASLEEP_NS (3600 * 1000000000ULL)

/*
 * The tids that an entry's samples have: the stack's own, or the one that an
 * exec gave the thread, or both. Readers know a stack by tid and cookie, so
 * it is written under each, behind its samples: from then on the own tid may
 * be another thread's.
 */
struct names {
	uint32_t other; /* 0: none */
	uint64_t own_ns; /* of the last sample under the own; 0: none */
};

/* Samples, all and of each event: each event shows as much of their stack as
 * it wants. */
struct tally {
	uint64_t n;
	uint32_t by_event[SEAM_CLIENT_MAX_EVENTS];
};

/* What there is of one entry. */
struct stay {
	/* Of the samples, by their time: one that interrupts another is taken
	 * later, but comes first. last_ns: or of the stack. */
	uint64_t first_ns, last_ns;
	struct tally waiting; /* samples without a stack yet */
	struct tally served; /* samples that have one */
	struct names names;
	bool has_stack, written;
	bool tail; /* the stack was taken at exec or exit */
	bool asleep; /* or as the task went to sleep: the sample comes later */
	struct seam_pd_stack stack;
	uint64_t *ips; /* and behind them their methods, if said */
};

/* The open or last entry of one task. */
struct entry {
	uint64_t cookie;
	struct stay stay;
	struct seam_tails tails;
};

/* Moves a time on, never back. */
static void reach(uint64_t *ns, uint64_t to_ns)
{
	if (to_ns > *ns)
		*ns = to_ns;
}

static void tally_sample(struct tally *t, const struct seam_sample *sample)
{
	t->n++;
	t->by_event[sample->event]++;
}

static void tally_move(struct tally *to, struct tally *from)
{
	to->n += from->n;
	for (size_t i = 0; i < SEAM_CLIENT_MAX_EVENTS; i++)
		to->by_event[i] += from->by_event[i];
	*from = (struct tally){0};
}

static void note(struct seam_entries *es, int err)
{
	if (err && !es->err)
		es->err = err;
}

static void entry_free(void *value)
{
	struct entry *e = value;

	free(e->stay.ips);
	seam_tails_fini(&e->tails);
	free(e);
}

static void stay_free(void *value)
{
	struct stay *s = value;

	free(s->ips);
	free(s);
}

static struct entry *entry_of(struct seam_entries *es, uint32_t tid)
{
	struct entry *e = seam_idmap_make(&es->tasks, tid, sizeof(*e));

	if (!e)
		note(es, -ENOMEM);
	return e;
}

/* The record of a stack, but for its time. */
static struct seam_pd_stack record_of(const struct seam_entries *es,
				      const struct seam_user_stack *stack,
				      const uint64_t *ips)
{
	struct seam_pd_stack record = {
		.id = {stack->pid, stack->tid, 0, stack->cpu, es->id},
		.cookie = stack->cookie,
		.ips = ips,
		.n_ips = stack->n_ips,
		.end = stack->end,
		.flags = stack->before_exec ? SEAM_PD_STACK_EXEC : 0,
		.methods = stack->methods,
	};

	/* How frames were found takes room, too. */
	if (record.methods && record.n_ips > SEAM_PD_MAX_IPS_METHODS) {
		record.n_ips = SEAM_PD_MAX_IPS_METHODS;
		record.end = SEAM_MAX_STACK;
	}
	return record;
}

/* Writes a stack that serves samples behind the last of them. */
static void write_behind(struct seam_entries *es,
			 const struct seam_pd_stack *stack, uint64_t last_ns,
			 const struct names *names)
{
	struct seam_pd_stack record = *stack;

	if (names->other && names->own_ns) {
		record.id.time_ns = names->own_ns + 1;
		note(es, es->write(es->ctx, &record));
	}
	if (names->other) {
		record.id.tid = names->other;
		record.flags |= SEAM_PD_STACK_EXEC;
	}
	record.id.time_ns = last_ns + 1;
	note(es, es->write(es->ctx, &record));
}

/* Counts a stack and what it served. */
static void count_stack(struct seam_entries *es, int end, size_t n_ips,
			const struct tally *served)
{
	bool is_served = end != SEAM_PENDING;

	es->sum->stacks += is_served;
	for (size_t i = 0; i < SEAM_CLIENT_MAX_EVENTS; i++)
		es->sum->end[n_ips > es->max_frames[i] ? SEAM_MAX_STACK
						       : end] +=
			served->by_event[i];
	if (is_served && served->n > es->sum->max_served)
		es->sum->max_served = served->n;
}

static void write_held(struct seam_entries *es, struct stay *s)
{
	write_behind(es, &s->stack, s->last_ns, &s->names);
	s->written = true;
}

/* No more samples come to it: those that have its stack are counted. */
static void stay_over(struct seam_entries *es, struct stay *s)
{
	if (!s->has_stack)
		return;
	if (s->served.n && !s->written)
		write_held(es, s);
	if (s->served.n)
		count_stack(es, s->stack.end, s->stack.n_ips, &s->served);
	else
		es->sum->unused++;
	s->has_stack = false;
}

/* Keeps a stay by its cookie in a map, and takes it from where it was. */
static bool stay_keep(struct seam_entries *es, struct seam_idmap *map,
		      uint64_t cookie, struct stay *from)
{
	struct stay *s = malloc(sizeof(*s));

	if (!s || seam_idmap_put(map, cookie, s)) {
		free(s);
		note(es, -ENOMEM);
		return false;
	}
	*s = *from;
	from->ips = NULL;
	return true;
}

/* The task is in another entry, or will be. A thread's exec gives its tid to
 * another, which may be in its exit still, and vice versa: their samples come
 * in turns. */
static void entry_end(struct seam_entries *es, struct entry *e)
{
	struct stay *s = &e->stay;
	bool kept = false;

	if (!e->cookie)
		return;
	if (s->has_stack && s->served.n && !s->written)
		write_held(es, s);
	if (s->waiting.n)
		stay_keep(es, &es->orphans, e->cookie, s);
	else if (s->has_stack && (s->tail || !s->served.n))
		kept = stay_keep(es, &es->told, e->cookie, s);
	if (!kept)
		stay_over(es, s);
	*s = (struct stay){.ips = s->ips};
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
static int add_own(struct entry *e, struct stay *s,
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
	reach(&s->names.own_ns, sample->time_ns);
	return 0;
}

/* One whose thread has swapped tids with another since, in an exec. That one
 * may have an entry of its own. */
static int add_other(struct seam_entries *es, struct stay *s,
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
		reach(&other->stay.last_ns, sample->time_ns);
	s->names.other = sample->tid;
	return 0;
}

static bool has_samples(const struct stay *s)
{
	return s->waiting.n || s->served.n;
}

/* Of an entry that is over. */
static struct stay *stay_of(const struct seam_entries *es, uint64_t cookie)
{
	struct stay *s = seam_idmap_get(&es->orphans, cookie);

	return s ? s : seam_idmap_get(&es->told, cookie);
}

/* A sample of an entry: its stack is there, or will come. */
int seam_entries_sample(struct seam_entries *es,
			const struct seam_sample *sample)
{
	struct entry *e = entry_of(es, sample->stack_tid);
	struct stay *s = NULL;
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
		note(es, err);
		return err;
	}
	if (!has_samples(s) || sample->time_ns < s->first_ns)
		s->first_ns = sample->time_ns;
	reach(&s->last_ns, sample->time_ns);
	s->written = false; /* a late one: the stack comes again */
	es->max_frames[sample->event] = sample->max_frames;
	tally_sample(s->has_stack ? &s->served : &s->waiting, sample);
	if (s != &e->stay && s->has_stack && !s->tail)
		write_held(es, s); /* there are hardly more */
	return 0;
}

bool seam_entries_has(const struct seam_entries *es,
		      const struct seam_sample *sample)
{
	const struct entry *e = seam_idmap_get(&es->tasks, sample->stack_tid);
	const struct stay *s = e && e->cookie == sample->cookie
				       ? &e->stay
				       : stay_of(es, sample->cookie);

	return s && has_samples(s) && s->first_ns <= sample->time_ns;
}

/* Holds a stack for its samples. */
static int hold(struct seam_entries *es, struct stay *s,
		const struct seam_user_stack *stack)
{
	size_t size = stack->n_ips * sizeof(*stack->ips);
	/* For no bytes it would free what there was, and say that it failed. */
	uint64_t *ips = realloc(s->ips, size + stack->n_ips + 1);

	if (!ips)
		return -ENOMEM;
	if (size)
		memcpy(ips, stack->ips, size);
	s->ips = ips;
	s->stack = record_of(es, stack, ips);
	if (stack->methods)
		s->stack.methods = memcpy((uint8_t *)ips + size, stack->methods,
					  stack->n_ips);
	s->has_stack = true;
	s->asleep = stack->asleep;
	tally_move(&s->served, &s->waiting);
	return 0;
}

/* And says of when it is. */
static int hold_now(struct seam_entries *es, struct entry *e,
		    const struct seam_user_stack *stack)
{
	if (hold(es, &e->stay, stack))
		return -ENOMEM;
	if (!e->stay.tail && (stack->before_exec || stack->at_exit)) {
		if (seam_tails_begin(&e->tails, stack->time_ns, false))
			return -ENOMEM;
		e->stay.tail = true;
	}
	return 0;
}

/* Return: true if the stack was one that samples had been waiting for. */
static bool orphan_claim(struct seam_entries *es,
			 const struct seam_user_stack *stack)
{
	struct stay *s = seam_idmap_remove(&es->orphans, stack->cookie);
	bool kept = false;

	if (!s)
		return false;
	reach(&s->last_ns, stack->time_ns);
	if (hold(es, s, stack)) {
		note(es, -ENOMEM);
		stay_free(s);
		return true;
	}
	write_held(es, s);
	/* Its samples may all be of before. */
	s->tail |= stack->before_exec || stack->at_exit;
	if (s->tail)
		kept = stay_keep(es, &es->told, stack->cookie, s);
	if (!kept)
		stay_over(es, s);
	stay_free(s);
	return true;
}

/* Readers take a sample whose stack is in no record for lost. */
static void lose(struct seam_entries *es, const struct seam_user_stack *stack)
{
	struct stay *s = seam_idmap_remove(&es->orphans, stack->cookie);
	struct entry *e = seam_idmap_get(&es->tasks, stack->tid);

	if (s) {
		es->sum->end[SEAM_LOST] += s->waiting.n;
		stay_free(s);
	} else if (e && e->cookie == stack->cookie) {
		es->sum->end[SEAM_LOST] += e->stay.waiting.n;
		e->stay.waiting = (struct tally){0};
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
	/* Its samples came before it; another entry may have begun since. */
	if (stack->by_library && !stack->asleep &&
	    (!e || e->cookie != stack->cookie)) {
		es->sum->unused++;
		return;
	}
	e = entry_of(es, stack->tid);
	if (!e)
		return;
	entry_is(es, e, stack->cookie);
	/* The first is the one that samples were told of. */
	if (e->stay.has_stack && e->stay.stack.end != SEAM_PENDING)
		return;
	if (hold_now(es, e, stack)) {
		note(es, -ENOMEM);
		return;
	}
	/* Not so at exec and exit: what the kernel says of them may have
	 * come before the stack was written. */
	if (!e->stay.tail || !e->stay.served.n)
		reach(&e->stay.last_ns, stack->time_ns);
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

static void settle_stay(struct seam_entries *es, struct stay *s)
{
	if (s->has_stack && s->served.n && !s->written &&
	    s->last_ns + SETTLED_NS < es->now_ns)
		write_held(es, s);
}

static void settle(void *ctx, uint64_t tid, void *value)
{
	struct entry *e = value;

	(void)tid;
	settle_stay(ctx, &e->stay);
}

/* How long samples may be behind their stack. */
static uint64_t kept_ns(const struct stay *s)
{
	if (s->asleep && !s->served.n)
		return ASLEEP_NS;
	return s->tail ? FORGET_NS : EARLY_NS;
}

static bool settle_told(void *ctx, uint64_t cookie, void *value)
{
	struct seam_entries *es = ctx;
	struct stay *s = value;

	(void)cookie;
	settle_stay(es, s);
	if (s->last_ns + kept_ns(s) >= es->now_ns)
		return false;
	stay_over(es, s);
	stay_free(s);
	return true;
}

static bool stale(void *ctx, uint64_t tid, void *value)
{
	struct seam_entries *es = ctx;
	struct entry *e = value;

	(void)tid;
	if (e->stay.last_ns + FORGET_NS >= es->now_ns)
		return false;
	/* Its stack is awaited until the session says that it is lost. */
	if (e->stay.waiting.n)
		return false;
	if (e->stay.has_stack &&
	    e->stay.last_ns + kept_ns(&e->stay) >= es->now_ns)
		return false;
	stay_over(es, &e->stay);
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
	stay_over(ctx, value);
}

void seam_entries_end(struct seam_entries *es)
{
	seam_idmap_each(&es->tasks, end, es);
	seam_idmap_each(&es->told, end_told, es);
}

void seam_entries_fini(struct seam_entries *es)
{
	seam_idmap_fini(&es->tasks, entry_free);
	seam_idmap_fini(&es->orphans, stay_free);
	seam_idmap_fini(&es->told, stay_free);
}
