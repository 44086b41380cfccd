/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A request and a return (core/entry-request.h), for who has to go out for what
 * lies between: a program of another tool's, which may schedule the task work
 * and bring pages in, where we may not.
 *
 *	seam_turn_begin --schedule--> seam_turn_scheduled --take--> _taken
 *	seam_turn_return --take--> seam_turn_taken --take--> ...
 *
 * Each says what is next; to take the stack is the caller's. What goes from one
 * to the next is the turn; whoever interrupts has one of his own.
 */
#ifndef SEAM_CORE_ENTRY_TURN_H
#define SEAM_CORE_ENTRY_TURN_H

#include "core/entry-request.h"

enum seam_turn_next {
	SEAM_TURN_DONE,
	SEAM_TURN_SCHEDULE, /* as seam_entry_env_schedule */
	SEAM_TURN_TAKE, /* as seam_entry_env_unwind(_now), for .clients */
};

struct seam_turn {
	uint64_t asked; /* the request's cookie; 0: no stack will come */
	uint64_t cookie; /* of the stack that is taken */
	uint32_t clients; /* for whom */
	uint32_t flags; /* enum seam_stack_flags */
	uint32_t why_not; /* enum seam_err */
	uint32_t taking; /* enum seam_taking_why; NONE: at a return */
	bool again; /* of struct seam_arming */
};

/* Return: enum seam_turn_next, as of the others. */
SEAM_INLINE int seam_turn_answer(struct seam_entry_task *t,
				 struct seam_element *el,
				 const struct seam_taking *taking,
				 struct seam_turn *turn)
{
	if (taking->why == SEAM_TAKING_NONE)
		return SEAM_TURN_DONE;
	turn->taking = taking->why;
	turn->cookie = taking->cookie;
	turn->clients = taking->clients;
	turn->flags = taking->flags;
	turn->why_not = seam_entry_why_not(t, seam_entry_env_entry(el));
	return SEAM_TURN_TAKE;
}

/* A request. asked: what it comes to, but for the cookie, which is the turn's.
 */
SEAM_INLINE int seam_turn_begin(struct seam_entry_task *t, bool in_user,
				struct seam_turn *turn,
				struct seam_asked *asked)
{
	struct seam_taking taking;
	struct seam_arming arming;
	struct seam_element *el;
	bool first;

	el = seam_entry_request_begin(t, in_user, asked, &first, &taking);
	turn->asked = asked->cookie;
	if (!el)
		return SEAM_TURN_DONE;
	if (first) {
		seam_entry_arm_begin(t, el, in_user, &arming);
		turn->again = arming.again;
		if (arming.later)
			return SEAM_TURN_SCHEDULE;
		turn->asked = seam_entry_arm_end(t, el, turn->asked, &arming, 0,
						 &taking);
	}
	return seam_turn_answer(t, el, &taking, turn);
}

/* err: what the kernel said. */
SEAM_INLINE int seam_turn_scheduled(struct seam_entry_task *t,
				    struct seam_turn *turn, int err)
{
	const struct seam_arming arming = {.later = true, .again = turn->again};
	struct seam_taking taking = {.why = SEAM_TAKING_NONE};
	struct seam_element *el = seam_entry_env_element(t);

	if (!el) {
		turn->asked = 0;
		return SEAM_TURN_DONE;
	}
	turn->asked =
		seam_entry_arm_end(t, el, turn->asked, &arming, err, &taking);
	return seam_turn_answer(t, el, &taking, turn);
}

/* The task is on its way to user space. */
SEAM_INLINE int seam_turn_return(struct seam_entry_task *t,
				 struct seam_turn *turn)
{
	struct seam_element *el = seam_entry_env_element(t);

	if (!el)
		return SEAM_TURN_DONE;
	turn->clients = seam_entry_return_begin(t, el, &turn->cookie);
	if (!turn->clients)
		return SEAM_TURN_DONE;
	turn->taking = SEAM_TAKING_NONE;
	turn->why_not = seam_entry_why_not(t, seam_entry_env_entry(el));
	return SEAM_TURN_TAKE;
}

/* The stack is out. TAKE: once more, for who came to it since. */
SEAM_INLINE int seam_turn_taken(struct seam_entry_task *t,
				struct seam_turn *turn)
{
	const struct seam_taking taking = {.cookie = turn->cookie,
					   .why = turn->taking};
	struct seam_element *el = seam_entry_env_element(t);

	if (!el)
		return SEAM_TURN_DONE;
	if (turn->taking == SEAM_TAKING_NONE)
		turn->clients = seam_entry_return_end(t, el, turn->cookie);
	else
		turn->clients = seam_entry_more(t, seam_entry_env_entry(el));
	if (turn->clients)
		return SEAM_TURN_TAKE;
	if (turn->taking != SEAM_TAKING_NONE)
		seam_entry_taken(t, el, &taking);
	return SEAM_TURN_DONE;
}

#endif
