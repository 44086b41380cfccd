/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* seam's own BPF programs: core/entry-ask.h, and what bpf/ask.h does for it on
 * the model's kernel. For world.c alone. */
#ifndef SEAM_TESTS_ENTRY_WORLD_ASK_H
#define SEAM_TESTS_ENTRY_WORLD_ASK_H

#include "world-kernel.h"

struct ask {
	struct seam_turn turn;
	uint32_t clients, depth; /* who asks: bits */
	bool in_user;
	uint32_t tells; /* of missing pages, yet */
	/* What its first turn was. */
	uint32_t all; /* clients */
	struct seam_entry_env env;
};

#include "core/entry-ask.h"

static void asker(struct seam_entry_task *t, struct seam_entry_env *env,
		  const struct ask *a)
{
	entry_task(t, env, a->clients);
	t->depth = a->depth;
}

int seam_ask_begin(struct ask *a)
{
	struct seam_entry_env env;
	struct seam_entry_task t;
	int next;

	asker(&t, &env, a);
	a->all = t.clients;
	next = seam_turn_begin(&t, a->in_user, &a->turn);
	a->env = env;
	return next;
}

int seam_ask_scheduled(struct ask *a, int err)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	asker(&t, &env, a);
	return seam_turn_scheduled(&t, &a->turn, err);
}

int seam_ask_return(struct ask *a)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	asker(&t, &env, a);
	a->tells = MAX_FAULTS;
	return seam_turn_return(&t, &a->turn);
}

int seam_ask_tail(struct ask *a)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	asker(&t, &env, a);
	return seam_turn_tail(&t, &a->turn);
}

int seam_ask_taken(struct ask *a)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	asker(&t, &env, a);
	a->tells = 0;
	return seam_turn_taken(&t, &a->turn);
}

static struct seam_turn *ask_turn(struct ask *a)
{
	return &a->turn;
}

static struct seam_element *ask_element(struct ask *a)
{
	step();
	return element_of(self()->self, group_of(a->clients));
}

static int ask_schedule(struct ask *a)
{
	struct seam_element *el = ask_element(a);

	return el && !limits->at_once ? schedule(el, false) : -SEAM_ENTRY_NEVER;
}

static uint64_t ask_take(struct ask *a, struct seam_element *el)
{
	if (!a->turn.clients)
		return 0;
	return take_or_miss(el, a->turn.cookie, a->turn.clients,
			    a->turn.why_not, a->tells);
}

static void ask_bring(struct ask *a, struct seam_element *el, uint64_t missing)
{
	(void)el;
	(void)missing;
	a->tells--;
	step();
}

/* What the program at an event is told. */
static void request_own(uint32_t client, bool in_user,
			struct seam_entry_task *t, struct seam_asked *asked)
{
	struct ask a = {
		.clients = client, .depth = t->depth, .in_user = in_user};

	ask(&a);
	*asked = a.turn.asked;
	t->clients = a.all;
	*t->env = a.env;
}

/* At exec and exit: of these clients, one of which it is. */
static void tail_own(uint32_t clients, bool exits)
{
	struct ask a = {.clients = clients, .depth = DEEP, .turn.exits = exits};

	ask_tail(&a);
}

/* The task work that such a program scheduled. */
static void return_own(struct seam_element *el)
{
	struct ask a = {.clients = el->group ? SECOND : 1, .depth = DEEP};

	ask_at_return(&a, el);
}

#endif
