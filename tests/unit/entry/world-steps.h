/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What may come between two steps of core/entry.h: other tasks, irq_works and
 * interrupts, which ask for stacks as well. For world.c alone. */
#ifndef SEAM_TESTS_ENTRY_WORLD_STEPS_H
#define SEAM_TESTS_ENTRY_WORLD_STEPS_H

#include "world-other.h"

static uint32_t pick(uint32_t n)
{
	struct task *t = self();
	uint32_t at = n > 1 ? choose(&s, n) : 0;

	t = self();
	t->known[t->level] = mix(t->known[t->level], at + 1);
	return at;
}

/* Something that may happen so many times. */
static bool may(uint8_t *left)
{
	if (!*left || !pick(2))
		return false;
	--*left;
	return true;
}

static uint64_t step_value(uint64_t value)
{
	struct task *t = self();

	t->known[t->level] = mix(t->known[t->level], value);
	return value;
}

/* Who runs is no task of those that are sampled. */
static bool is_outside(void)
{
	return (plan == PLAN_OUTSIDE || is_swept() || is_asked()) && w.current;
}

static bool is_ready(const struct task *t)
{
	return t->begun && !t->over && !t->waits;
}

static __attribute__((noinline)) void go_on(uint32_t with)
{
	uint32_t from = w.current;

	w.current = with;
	if (from != with && !_setjmp(contexts[from]))
		_longjmp(contexts[with], 1);
}

/* The irq_work of an element comes: it queues the task work. */
static void irq_work(struct seam_element *el)
{
	struct task *to = &w.tasks[el->worker];

	el->work = to->no_work || el->dropped ? WORK_STANDBY : WORK_QUEUED;
	TRACE("irq_work: task work %s",
	      el->work == WORK_QUEUED ? "queued" : "refused, silently");
}

/* Likewise, where another task has asked. */
static void other_irq_work(uint8_t *work)
{
	const struct task *to = &w.tasks[w.other.worker];

	*work = to->no_work || !w.other.self ? WORK_STANDBY : WORK_QUEUED;
	TRACE("irq_work: task work of another's %s",
	      *work == WORK_QUEUED ? "queued" : "refused, silently");
}

static uint8_t *other_pending(void)
{
	for (int i = 0; i < 2; i++)
		if (w.other.work[i] == WORK_PENDING)
			return &w.other.work[i];
	return NULL;
}

static void request(bool in_user);

static void interrupt(void)
{
	struct task *t = self();

	w.left.interrupts--;
	t->level++;
	t->known[t->level] = 0;
	TRACE("an interrupt");
	request(false);
	self()->level--;
}

/* Anything that may come between two steps does. */
static void step(void)
{
	struct task *t = self();

	for (;;) {
		struct seam_element *pending = NULL;
		uint8_t *other = other_pending();
		uint32_t n = 1, at, others[MAX_TASKS], n_others = 0;

		if (!t->level)
			for (int i = 0; i < w.n_elements && !pending; i++)
				if (w.elements[i].work == WORK_PENDING &&
				    w.elements[i].cpu == t->cpu)
					pending = &w.elements[i];
		if (w.left.switches)
			for (int i = 0; i < MAX_TASKS; i++)
				if (i != w.current && is_ready(&w.tasks[i]))
					others[n_others++] = i;
		n += n_others + (pending != NULL) + (other != NULL);
		n += !is_outside() && w.left.interrupts &&
		     w.n_samples < limits->samples && t->level + 1 < MAX_LEVELS;
		at = pick(n);
		if (!at)
			return;
		if (--at < n_others) {
			w.left.switches--;
			TRACE("task %d goes on", others[at]);
			go_on(others[at]);
			continue;
		}
		at -= n_others;
		if (pending && !at) {
			irq_work(pending);
			continue;
		}
		at -= pending != NULL;
		if (other && !at)
			other_irq_work(other);
		else
			interrupt();
	}
}

/* No other task has to be waited for but goes on by itself. */
static void let_others(void)
{
	for (int i = 0; i < MAX_TASKS; i++)
		if (i != w.current && is_ready(&w.tasks[i])) {
			go_on(i);
			return;
		}
	WRONG("every task waits");
}

/* Where there are no interrupts, any request may; else those of the task do,
 * and of what interrupts it. */
static bool wants_less(void)
{
	return limits->interrupts ? self()->level + 1 < MAX_LEVELS : pick(2);
}

static uint32_t pick_client(void)
{
	uint32_t all[MAX_CLIENTS], n = 0;

	for (uint32_t i = 0; i < n_clients(); i++)
		if (!(w.ended >> i & 1))
			all[n++] = i;
	return all[pick(n)];
}

/* What others had asked of the task, and been answered, before it asked itself,
 * with no entry open: that is the entry's cookie. 0: nothing, or they are not
 * done, or whom we interrupt is at it. */
static uint64_t asked_before(void)
{
	const struct seam_element *el = element_of(self()->self, 0);
	const struct seam_outside *o = &w.other.o;

	if (!limits->asks || w.asks_now || self()->level || self()->exiting ||
	    !el || el->entry.cookie || el->entry.flags ||
	    el->work != WORK_STANDBY || (o->word & SEAM_OUTSIDE_HELD) ||
	    !(o->word & SEAM_WHO_MASK) ||
	    o->images[seam_outside_slot(o->word)] != self()->at.image)
		return 0;
	return o->cookies[seam_outside_slot(o->word)];
}

static void request(bool in_user)
{
	uint64_t before =
		limits->asks && !is_swept() ? step_value(asked_before()) : 0;
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_asked asked;
	struct sample *sample;
	struct place at = self()->at;
	uint32_t number, client, group;
	bool unwinding, inside;

	/* Its room is taken before others can come in between. */
	sample = &w.samples[step_value(w.n_samples++)];
	number = pick_client();
	client = 1u << number;
	w.came |= (uint8_t)client;
	group = group_of(client);
	unwinding = self()->unwinding[group];
	inside = self()->inside[group];
	w.asking[number]++;
	if (limits->listener && !step_value(w.listens))
		w.listens = pick(2);
	TRACE("request of %x%s", client, in_user ? " from user code" : "");
	entry_task(&t, &env, client);
	if (limits->depths && wants_less())
		t.depth = SHALLOW;
	self()->inside[group]++;
	if (limits->lent & client)
		request_lent(number, in_user, &t, &asked);
	else
		request_own(client, in_user, &t, &asked);
	self()->inside[group]--;
	*sample = (struct sample){asked.cookie,
				  at,
				  asked.cookie ? 0 : asked.end,
				  asked.flags,
				  t.depth,
				  client,
				  (t.clients & LISTENER) != 0,
				  0,
				  0,
				  0,
				  0};
	if (seam_sample_asked(&t, &asked)) {
		sample->lost = may(&w.left.sample_drops);
		seam_sample_sent(&t, sample->lost);
	}
	w.asking[number]--;
	TRACE("cookie %llx, end %d, flags %d, depth %d",
	      (unsigned long long)sample->cookie, sample->end, sample->flags,
	      sample->depth);
	HOLDS(asked.cookie || asked.end || (asked.flags & SEAM_SAMPLE_OWN),
	      "neither a stack to come nor a reason");
	HOLDS(!before || !asked.cookie || asked.cookie == before,
	      "cookie %llx, and others had asked with %llx before",
	      (unsigned long long)asked.cookie, (unsigned long long)before);
	HOLDS(asked.stack_tid, "a sample whose stack comes under tid 0");
	HOLDS(unwinding ? env.was_asked : true,
	      "a sample of the unwind that does not say so");
	HOLDS(env.is_own == !!(asked.flags & SEAM_SAMPLE_OWN),
	      "a sample is kept back, or is not, and is not the unwind's "
	      "doing");
	HOLDS(!unwinding || env.is_own || asked.cookie || limits->depths,
	      "a request amid the unwind is not delivered");
	HOLDS(inside || !(asked.flags & SEAM_SAMPLE_OWN),
	      "a sample said to be of the unwind is not");
}

#endif
