/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A tool's programs that ask for the stack of a task that is not the current
 * one: what <seam/seam.bpf.h> compiles into them, core/entry-other.h, and the
 * callback in that task. For world.c alone. */
#ifndef SEAM_TESTS_ENTRY_WORLD_OTHER_H
#define SEAM_TESTS_ENTRY_WORLD_OTHER_H

#include "world-lent.h"

/* The task that is asked for. */
static struct task *asked_task(void)
{
	return &w.tasks[0];
}

static void other_task(struct seam_entry_task *t, struct seam_entry_env *env)
{
	const struct task *task = asked_task();

	*env = (struct seam_entry_env){.task = asked_task()};
	step();
	*t = (struct seam_entry_task){
		.start = task->start,
		.self = task->self,
		.image = step_value(task->no_mm ? 0 : task->at.image),
		.depth = asking()->depth,
		.clients = asking()->client |
			   (step_value(w.listens) ? LISTENER : 0),
		.exiting = step_value(task->exiting),
		.dead = step_value(task->dead),
		.env = env,
	};
}

static struct other *other_make(struct seam_entry_task *t)
{
	step();
	if (step_value(other_of(t->self) != NULL))
		return &w.other;
	if (step_value(w.tasks[0].over && w.tasks[0].dead) || may(&w.left.full))
		return NULL;
	w.other = (struct other){.self = t->self, .o = {.start = t->start}};
	return &w.other;
}

int seam_lent_other(struct seam_lent *l, struct task_struct *task)
{
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;
	struct other *other;

	(void)task;
	l->cookie = 0;
	other_task(&t, &env);
	asking()->clients = t.clients;
	if (t.exiting || t.dead || !t.image)
		return SEAM_LENT_DONE;
	step();
	el = element_of(t.self, 0);
	step_value(el != NULL);
	if (el)
		l->cookie = seam_other_join(&t, &el->entry);
	if (l->cookie)
		return SEAM_LENT_DONE;
	other = other_make(&t);
	if (!other)
		return SEAM_LENT_DONE;
	l->cookie = seam_other_ask(&t, &other->o);
	if (!l->cookie)
		return SEAM_LENT_DONE;
	l->again = seam_other_work(&other->o);
	/* Its first request may just have made it. */
	step();
	el = element_of(t.self, 0);
	step_value(el != NULL);
	if (el)
		seam_entry_env_outside_again(el);
	return SEAM_LENT_SCHEDULE;
}

int seam_lent_other_scheduled(struct seam_lent *l, int err)
{
	if (err && err != -SEAM_ENTRY_EBUSY)
		l->cookie = 0;
	return SEAM_LENT_DONE;
}

int seam_lent_outside(struct seam_lent_stack *st)
{
	struct seam_turn turn = {0};
	struct seam_entry_env env;
	struct seam_entry_task t;
	int next;

	entry_task(&t, &env, 0);
	next = seam_turn_outside(&t, st->work, &turn);
	turn_keep(st, &turn);
	asking()->tells = MAX_FAULTS;
	return next;
}

/* Each asks for a client of its own, if there are as many. */
static uint32_t asking_client(void)
{
	return w.current < n_clients() ? n_clients() - w.current : 0;
}

/* It is told what the target's next return has to be. */
static void request_other(void)
{
	struct task *target = asked_task();
	struct asking *a = asking();
	struct sample *sample;
	uint32_t number = asking_client();
	struct place before;
	uint64_t cookie;
	bool was_in_user;

	step();
	/* Between two that have its bit there is none. */
	if (step_value(w.ended) >> number & 1)
		return;
	if (w.n_samples == MAX_SAMPLES)
		abort();
	w.asking[number]++;
	w.asks_now++;
	sample = &w.samples[step_value(w.n_samples++)];
	*a = (struct asking){.client = 1u << number,
			     .depth =
				     limits->depths ? pick(2) + SHALLOW : DEEP};
	before = target->at;
	was_in_user = target->in_user;
	step_value(before.entry | before.image << 8 | was_in_user << 16);
	TRACE("request of %x for another", a->client);
	cookie = seam_request_task(__builtin_ctz(a->client), SEAM_FROM_KERNEL,
				   (void *)target->self);
	*sample = (struct sample){
		.cookie = cookie,
		.at = target->at,
		.end = SEAM_LOST,
		.depth = a->depth,
		.client = a->client,
		.heard = (a->clients & LISTENER) != 0,
		.is_other = 1,
		.first = before.entry + was_in_user,
		/* An irq_work of another CPU may be late. */
		.last = target->at.entry + 1 + limits->entries,
	};
	sample->at.image_before = before.image;
	w.asking[number]--;
	w.asks_now--;
	TRACE("cookie %llx for another, of entries %d to %d",
	      (unsigned long long)cookie, sample->first, sample->last);
}

/* The task work that these have scheduled. */
static void return_other(uint64_t which)
{
	struct seam_lent_work key = {w.other.self, which};

	*asking() = (struct asking){.client = 1};
	seam_lent_other_callback(NULL, &key, &w.other.work[which]);
}

static bool others_ask(void)
{
	for (int i = 1; i < MAX_TASKS; i++)
		if (w.tasks[i].begun && !w.tasks[i].over)
			return true;
	return false;
}

/* Before it can be said to be in user space for good. */
static bool waits_for_others(void)
{
	for (int i = 0; i < 2; i++)
		if (w.other.work[i] != WORK_STANDBY)
			return true;
	return false;
}

#endif
