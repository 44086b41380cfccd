/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What seam's own programs do at an event, an exec or exit, and on the way back
 * to user space: the turns (core/entry-turn.h) and, between them, what those
 * leave to the caller. The includer has struct ask, with a turn in it, and
 * defines what is declared here: BPF, and a test that runs the same.
 */
#ifndef SEAM_CORE_ENTRY_ASK_H
#define SEAM_CORE_ENTRY_ASK_H

#include "core/entry-turn.h"

struct ask;

/* The turns, each with what its surroundings have to do with it. To BPF they
 * are global functions, which the verifier walks once for a program. */
int seam_ask_begin(struct ask *a);
int seam_ask_scheduled(struct ask *a, int err);
int seam_ask_return(struct ask *a);
int seam_ask_tail(struct ask *a);
int seam_ask_taken(struct ask *a);

SEAM_ENTRY_HOOK struct seam_turn *ask_turn(struct ask *a);
/* The current task's, or NULL. */
SEAM_ENTRY_HOOK struct seam_element *ask_element(struct ask *a);
/* Has the task do ask_at_return on its way to user space. Return: as
 * seam_turn_scheduled has it. */
SEAM_ENTRY_HOOK int ask_schedule(struct ask *a);
/* Takes the stack and sends it. Return: 0; or the address that it misses, after
 * which it is to be taken anew. Only at a return. */
SEAM_ENTRY_HOOK uint64_t ask_take(struct ask *a, struct seam_element *el);
/* Brings that in; may sleep. */
SEAM_ENTRY_HOOK void ask_bring(struct ask *a, struct seam_element *el,
			       uint64_t missing);

/* So many pages are brought in for one stack. */
#define SEAM_ASK_PAGES 2000

SEAM_INLINE void ask_take_now(struct ask *a)
{
	struct seam_element *el = ask_element(a);

	if (!el)
		return;
	ask_take(a, el);
	if (seam_ask_taken(a) != SEAM_TURN_TAKE)
		return;
	/* For who came to it meanwhile. */
	ask_take(a, el);
	seam_ask_taken(a);
}

/* Asks for the current task's stack: the turn's .asked is the answer. */
SEAM_INLINE void ask(struct ask *a)
{
	int next = seam_ask_begin(a);

	if (next == SEAM_TURN_SCHEDULE)
		next = seam_ask_scheduled(a, ask_schedule(a));
	if (next == SEAM_TURN_TAKE)
		ask_take_now(a);
}

/* At an exec, or an exit. */
SEAM_INLINE void ask_tail(struct ask *a)
{
	struct seam_element *el;
	int err;

	if (seam_ask_tail(a) == SEAM_TURN_TAKE)
		ask_take_now(a);
	if (!ask_turn(a)->sees_end)
		return;
	err = ask_schedule(a);
	el = ask_element(a);
	if (el)
		seam_entry_exec_scheduled(el, err);
}

/* In the task, on its way to user space. */
SEAM_INLINE void ask_at_return(struct ask *a, struct seam_element *el)
{
	uint64_t missing;
	uint32_t i;

	if (seam_ask_return(a) != SEAM_TURN_TAKE)
		return;
	/* Each page, and once more for who came to it meanwhile. */
	for (i = seam_unknown(0); i < SEAM_ASK_PAGES + 3; i++) {
		SEAM_LOOP_GUARD;
		missing = ask_take(a, el);
		if (missing)
			ask_bring(a, el, missing);
		else if (seam_ask_taken(a) != SEAM_TURN_TAKE)
			break;
	}
}

#endif
