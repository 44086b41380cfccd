/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A request (core/entry-request.h), a return (entry.h), an exec and an exit
 * (entry-exec.h) in turns, between which the caller goes out for what cannot be
 * had done from within: the task work is scheduled, the stack is taken, pages
 * are brought in. seam's own programs (entry-ask.h) and those of other tools
 * (bpf/seam-request.bpf.c) have these, and the model's.
 *
 *	seam_turn_begin --schedule--> seam_turn_scheduled --take--> _taken
 *	seam_turn_return --take--> seam_turn_taken --take--> ...
 *	seam_turn_tail --take--> seam_turn_taken --take--> ...
 *	seam_turn_outside --take--> seam_turn_taken --take--> ..., and again
 *
 * Each says what is next; to take the stack is the caller's. What goes from one
 * to the next is the turn; whoever interrupts has one of his own.
 */
#ifndef SEAM_CORE_ENTRY_TURN_H
#define SEAM_CORE_ENTRY_TURN_H

#include "core/entry-exec.h"

enum seam_turn_next {
	SEAM_TURN_DONE,
	SEAM_TURN_SCHEDULE, /* has the task call seam_turn_return */
	SEAM_TURN_TAKE, /* the stack, for .clients; at a return it may sleep */
};

/* Small, as it lies on BPF's stack. */
struct seam_turn {
	struct seam_asked asked; /* what the request comes to */
	uint64_t cookie; /* of the stack that is taken */
	uint32_t clients; /* for whom; 0: it is out already */
	uint32_t flags; /* enum seam_stack_flags */
	uint32_t why_not; /* enum seam_err */
	uint32_t taking; /* enum seam_taking_why; NONE: at a return */
	bool again; /* of struct seam_arming */
	bool unsure; /* set before: the event's registers are */
	bool exits; /* set before: an exit, or an exec */
	bool sees_end; /* of that exec the end is to be seen */
};

/* Return: enum seam_turn_next, as of the others. */
SEAM_INLINE int seam_turn_answer(struct seam_entry_task *t,
				 struct seam_element *el,
				 const struct seam_taking *taking,
				 struct seam_turn *turn)
{
	if (taking->why == SEAM_TAKING_NONE) {
		seam_entry_answer(el, &turn->asked);
		return SEAM_TURN_DONE;
	}
	turn->taking = taking->why;
	turn->cookie = taking->cookie;
	turn->clients = taking->clients;
	turn->flags = taking->flags;
	turn->why_not = seam_entry_why_not(t, seam_entry_env_entry(el));
	if (turn->unsure && !turn->why_not)
		turn->why_not = SEAM_UNSURE;
	return SEAM_TURN_TAKE;
}

/* A request. */
SEAM_INLINE int seam_turn_begin(struct seam_entry_task *t, bool in_user,
				struct seam_turn *turn)
{
	struct seam_taking taking;
	struct seam_arming arming;
	struct seam_element *el;
	bool first;

	el = seam_entry_request_begin(t, in_user, &turn->asked, &first,
				      &taking);
	if (!el)
		return SEAM_TURN_DONE;
	if (first) {
		seam_entry_arm_begin(t, el, in_user, &arming);
		turn->again = arming.again;
		if (arming.later)
			return SEAM_TURN_SCHEDULE;
		turn->asked.cookie = seam_entry_arm_end(
			t, el, turn->asked.cookie, &arming, 0, &taking);
	}
	return seam_turn_answer(t, el, &taking, turn);
}

/* err: what the kernel said, 0, which is no promise; -SEAM_ENTRY_EBUSY: the
 * return is to come already, or was and the kernel has yet to note it; another
 * -errno. */
SEAM_INLINE int seam_turn_scheduled(struct seam_entry_task *t,
				    struct seam_turn *turn, int err)
{
	const struct seam_arming arming = {.later = true, .again = turn->again};
	struct seam_taking taking = {.why = SEAM_TAKING_NONE};
	struct seam_element *el = seam_entry_env_element(t);

	if (!el) {
		turn->asked.cookie = 0;
		return SEAM_TURN_DONE;
	}
	turn->asked.cookie = seam_entry_arm_end(t, el, turn->asked.cookie,
						&arming, err, &taking);
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

/* What others asked of the task cannot be had any more. */
SEAM_INLINE void seam_turn_drop(struct seam_entry_task *t,
				struct seam_outside *o)
{
	uint64_t cookie = 0, clients = seam_outside_drop(o, &cookie);

	if (clients)
		seam_entry_env_lose(t, cookie, (uint32_t)clients);
}

/* What others asked of the task becomes its entry. Return: whether it can. */
SEAM_INLINE bool seam_turn_open(struct seam_entry_task *t,
				struct seam_outside *o)
{
	struct seam_element *el = t->exiting ? NULL : seam_entry_element(t);
	bool first;

	if (!el || !seam_outside_fits(o, SEAM_ENTRY_GET(o->word), t->start,
				      t->image)) {
		seam_turn_drop(t, o);
		return false;
	}
	seam_entry_env_outside_again(el);
	seam_entry_open(t, el, false, &first);
	if (first && seam_entry_env_is_as_left(t, el))
		seam_entry_env_count(t, SEAM_COUNT_AGAIN);
	return true;
}

/* The task work that who asks from outside has scheduled, the first of the two
 * or the second; in the task, on its way to user space. An entry that is open
 * comes first. To be called until there is nothing to do. t has no clients but
 * who has all stacks. */
SEAM_INLINE int seam_turn_outside(struct seam_entry_task *t, uint32_t which,
				  struct seam_turn *turn)
{
	struct seam_outside *o = seam_entry_env_outside(t, NULL);
	int next;

	if (!o)
		return SEAM_TURN_DONE;
	SEAM_ENTRY_PUT(o->last, which);
	next = seam_turn_return(t, turn);
	if (next != SEAM_TURN_DONE || !seam_outside_pending(o) ||
	    !seam_turn_open(t, o))
		return next;
	return seam_turn_return(t, turn);
}

/* The stack of an exec or exit is out, or was before. */
SEAM_INLINE void seam_turn_tail_end(struct seam_entry_task *t,
				    struct seam_element *el,
				    const struct seam_turn *turn)
{
	seam_entry_take_end(el);
	if (turn->exits)
		seam_entry_exit_taken(t, el);
}

/* The task begins an exec; or it is at sched_process_exit, or was killed inside
 * an exec, whose stack serves the exit too. */
SEAM_INLINE int seam_turn_tail(struct seam_entry_task *t,
			       struct seam_turn *turn)
{
	struct seam_taking taking = {0};
	struct seam_outside *o;
	struct seam_element *el;
	bool before;

	el = seam_entry_take_begin(
		t, turn->exits ? SEAM_STACK_EXIT : SEAM_STACK_EXEC, &taking,
		&before);
	turn->sees_end = el && !before && !turn->exits;
	/* What was not taken with it: its memory goes. */
	o = seam_entry_env_outside(t, NULL);
	if (o)
		seam_turn_drop(t, o);
	if (el && taking.why != SEAM_TAKING_NONE)
		return seam_turn_answer(t, el, &taking, turn);
	if (el)
		seam_turn_tail_end(t, el, turn);
	else if (turn->exits && (el = seam_entry_env_element(t)))
		seam_entry_exit_taken(t, el);
	return SEAM_TURN_DONE;
}

/* A request's stack is out, or an exec's or exit's. */
SEAM_INLINE void seam_turn_end(struct seam_entry_task *t,
			       struct seam_element *el, struct seam_turn *turn)
{
	const struct seam_taking taking = {.cookie = turn->cookie,
					   .why = turn->taking};

	if (turn->taking == SEAM_TAKING_TAIL) {
		seam_turn_tail_end(t, el, turn);
	} else if (turn->taking != SEAM_TAKING_NONE) {
		seam_entry_taken(t, el, &taking);
		seam_entry_answer(el, &turn->asked);
	}
}

/* The stack is out. TAKE: once more, for who came to it since. */
SEAM_INLINE int seam_turn_taken(struct seam_entry_task *t,
				struct seam_turn *turn)
{
	struct seam_element *el = seam_entry_env_element(t);

	if (!el)
		return SEAM_TURN_DONE;
	if (turn->taking == SEAM_TAKING_NONE)
		turn->clients = seam_entry_return_end(t, el, turn->cookie);
	else
		turn->clients = seam_entry_more(t, seam_entry_env_entry(el));
	if (turn->clients)
		return SEAM_TURN_TAKE;
	seam_turn_end(t, el, turn);
	return SEAM_TURN_DONE;
}

#endif
