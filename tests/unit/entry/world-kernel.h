/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the model's kernel does for core/entry.h (core/entry-env.h). For world.c
 * alone; world-steps.h has its steps. */
#ifndef SEAM_TESTS_ENTRY_WORLD_KERNEL_H
#define SEAM_TESTS_ENTRY_WORLD_KERNEL_H

#include <stdlib.h>

#include "world-state.h"

static uint32_t pick(uint32_t n);
static bool may(uint8_t *left);

static struct seam_element *element_of(uint64_t task, uint32_t group)
{
	for (int i = 0; i < w.n_elements; i++)
		if (!w.elements[i].dropped && w.elements[i].self == task &&
		    w.elements[i].group == group)
			return &w.elements[i];
	return NULL;
}

static struct seam_element *seam_entry_env_element(struct seam_entry_task *t)
{
	struct seam_element *found;

	step();
	found = element_of(t->self, t->env->group);
	step_value(found ? found - w.elements + 1 : 0);
	return found;
}

static void seam_entry_env_element_make(struct seam_entry_task *t)
{
	step();
	if (element_of(t->self, t->env->group) || may(&w.left.full))
		return;
	if (w.n_elements == MAX_ELEMENTS)
		abort();
	w.elements[w.n_elements++] =
		(struct seam_element){.self = t->self, .group = t->env->group};
	TRACE("an element is made");
}

/* limits->told: all are known to watch the task. */
static void seam_entry_env_note(struct seam_entry_task *t,
				struct seam_element *el)
{
	(void)t;
	(void)el;
}

/* A tick, or what the unwind does; or what has only interrupted it. */
static bool seam_entry_env_is_own(struct seam_entry_task *t)
{
	t->env->was_asked = true;
	t->env->is_own = pick(2);
	TRACE(t->env->is_own ? "the unwind's own" : "not the unwind's doing");
	return t->env->is_own;
}

static void seam_entry_env_renew(struct seam_entry_task *t,
				 struct seam_element *el)
{
	(void)t;
	step();
	el->left = (struct place){0};
}

/* Of the task that is given. */
static struct other *other_of(uint64_t task)
{
	return task && w.other.self == task ? &w.other : NULL;
}

static struct seam_outside *seam_entry_env_outside(struct seam_entry_task *t,
						   struct seam_element *el)
{
	struct other *other;

	if (el && limits->asks) {
		if (SEAM_ENTRY_GET(el->no_outside))
			return NULL;
		SEAM_ENTRY_PUT(el->no_outside, 1);
	}
	step();
	other = limits->asks ? other_of(t->self) : NULL;
	step_value(other != NULL);
	return other ? &other->o : NULL;
}

static void seam_entry_env_outside_again(struct seam_element *el)
{
	if (limits->asks)
		SEAM_ENTRY_PUT(el->no_outside, 0);
}

static void lose(uint64_t cookie, uint32_t clients);

static void seam_entry_env_lose(struct seam_entry_task *t, uint64_t cookie,
				uint32_t clients)
{
	(void)t;
	TRACE("what %x asked is lost", clients);
	lose(cookie, clients);
}

static struct seam_entry *seam_entry_env_entry(struct seam_element *el)
{
	return &el->entry;
}

static uint64_t seam_entry_env_count_next(struct seam_entry_task *t,
					  uint32_t *ret_cpu)
{
	(void)t;
	step();
	*ret_cpu = self()->cpu;
	return step_value(++w.counts[self()->cpu]);
}

static void seam_entry_env_count(struct seam_entry_task *t,
				 enum seam_count what)
{
	TRACE("count %d", what);
	w.n_again += what == SEAM_COUNT_AGAIN;
	if (what == SEAM_COUNT_WANTED || what == SEAM_COUNT_LOST_SAMPLE)
		w.counted[__builtin_ctz(t->clients)][what]++;
}

static bool is_same(struct place a, struct place b)
{
	return a.task == b.task && a.entry == b.entry && a.image == b.image;
}

static bool seam_entry_env_is_as_left(struct seam_entry_task *t,
				      struct seam_element *el)
{
	step();
	return step_value(is_same(el->left, t->env->task->at));
}

static void seam_entry_env_keep_regs(struct seam_entry_task *t,
				     struct seam_element *el, bool in_user)
{
	(void)in_user;
	step();
	el->regs = t->env->task->at;
	step();
}

static int schedule(struct seam_element *el, bool is_lent)
{
	struct task *task = self();

	HOLDS(!limits->at_once, "task work where there is none");
	step();
	if (el->work != WORK_STANDBY) {
		TRACE("schedule: busy");
		return -(int)step_value(SEAM_ENTRY_EBUSY);
	}
	if (may(&w.left.refusals)) {
		TRACE("schedule: refused");
		return -ENOROOM;
	}
	el->work = WORK_PENDING;
	el->lent = is_lent;
	el->worker = task - w.tasks;
	el->cpu = task->cpu;
	TRACE("schedule: accepted");
	return 0;
}

/* These clients do not get the stack, and are told so, if there is room. */
static void lose(uint64_t cookie, uint32_t clients)
{
	for (uint32_t i = 0; i < MAX_CLIENTS; i++) {
		if (!(clients >> i & 1))
			continue;
		if (may(&w.left.untold)) {
			w.counted[i][SEAM_COUNT_LOST_UNTOLD]++;
			continue;
		}
		if (w.n_losses == MAX_STACKS)
			abort();
		w.losses[w.n_losses++] = (struct loss){cookie, 1u << i};
		TRACE("told %x that %llx is lost", 1u << i,
		      (unsigned long long)cookie);
	}
}

/* A stack is made known, of where its registers were kept. */
static void send(struct place at, uint32_t depth, uint64_t cookie,
		 uint32_t clients, uint32_t end)
{
	struct stack *stack = &w.stacks[w.n_stacks];

	HOLDS(cookie, "a stack without a cookie");
	HOLDS(clients, "a stack for nobody");
	for (int i = 0; i < w.n_stacks; i++)
		HOLDS(w.stacks[i].cookie != cookie ||
			      !(w.stacks[i].clients & clients),
		      "cookie %llx: two stacks", (unsigned long long)cookie);
	if (w.n_stacks == MAX_STACKS)
		abort();
	stack->cookie = cookie;
	stack->clients = clients;
	stack->at = at;
	stack->end = end;
	stack->depth = depth;
	w.n_stacks++;
	TRACE("stack %llx, end %d, depth %d, to %x", (unsigned long long)cookie,
	      end, depth, clients);
	for (uint32_t i = 0; i < MAX_CLIENTS; i++) {
		bool is_lost;

		if (!(clients >> i & 1))
			continue;
		is_lost = may(&w.left.drops);
		seam_stack_sent(w.counted[i], is_lost);
		stack->lost |= is_lost << i;
		if (is_lost)
			TRACE("lost to %x", 1u << i);
	}
	lose(cookie, stack->lost);
}

/* The current task's. */
static void deliver(const struct seam_element *el, uint32_t depth,
		    uint64_t cookie, uint32_t clients, uint32_t end)
{
	struct task *t = self();

	HOLDS(el->regs.task == t->at.task && el->regs.entry == t->at.entry,
	      "registers of another entry are unwound");
	HOLDS(end || is_same(el->regs, t->at),
	      "registers of the program before an exec are unwound");
	/* Where the end is not seen, there is a reason in place of it. */
	HOLDS(!t->no_mm || (end && limits->unseen),
	      "a stack is taken where there is no memory");
	/* What is for a client that was swept since comes to the next one as a
	 * stray, which readers know. */
	if (is_swept())
		clients &= seam_who_done(el->entry.who);
	if (clients)
		send(el->left, depth, cookie, clients, end);
}

static void take_stack(struct seam_element *el, uint64_t cookie,
		       uint32_t clients, uint32_t why_not)
{
	uint32_t depth;

	step();
	el->left = why_not ? el->regs : self()->at;
	self()->unwinding[el->group]++;
	/* Whatever is wanted from here on. */
	depth = step_value(seam_who_depth(el->entry.who));
	step();
	deliver(el, depth, cookie, clients, why_not);
	step();
	self()->unwinding[el->group]--;
}

/* Where a page is missing nothing goes out, and it is brought in by who may
 * sleep. tells: so often that is said. Return: it. */
static uint64_t take_or_miss(struct seam_element *el, uint64_t cookie,
			     uint32_t clients, uint32_t why_not, uint32_t tells)
{
	if (!tells || !may(&w.left.faults)) {
		take_stack(el, cookie, clients, why_not);
		return 0;
	}
	self()->unwinding[el->group]++;
	TRACE("a page is missing");
	step();
	self()->unwinding[el->group]--;
	return 0x1000;
}

static void entry_task(struct seam_entry_task *t, struct seam_entry_env *env,
		       uint32_t clients)
{
	struct task *task = self();

	env->task = task;
	env->was_asked = env->is_own = false;
	env->group = group_of(clients);
	*t = (struct seam_entry_task){
		.start = task->start,
		.self = task->self,
		.image = task->no_mm ? 0 : task->at.image,
		.tid = task->tid,
		.depth = DEEP,
		.clients = clients | (step_value(w.listens) ? LISTENER : 0),
		.exiting = task->exiting,
		.gone = task->no_mm,
		.dead = task->dead,
		.at_once = limits->at_once,
		.env = env,
	};
}

#endif
