/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The stack of a task that is about to lose its memory, by exec or exit: it is
 * taken before, and what is asked for until then joins it (core/entry.h). */
#ifndef SEAM_CORE_ENTRY_EXEC_H
#define SEAM_CORE_ENTRY_EXEC_H

#include "core/entry-request.h"

/* The stack is to be taken now: at exec and exit, while the memory is still
 * there. Return: the element, whose stack seam_entry_take_end is told of;
 * *ret_taking; *ret_before: it was taken before, for these clients or others.
 * NULL: there is none. */
SEAM_INLINE struct seam_element *
seam_entry_take_begin(struct seam_entry_task *t, uint32_t stack_flags,
		      struct seam_taking *ret_taking, bool *ret_before)
{
	struct seam_element *el = t->depth ? seam_entry_element(t) : NULL;
	struct seam_entry *e;
	bool first;

	ret_taking->why = SEAM_TAKING_NONE;
	*ret_before = false;
	if (!el)
		return NULL;
	e = seam_entry_env_entry(el);
	ret_taking->cookie = seam_entry_open(t, el, false, &first);
	if (first && !t->at_once && seam_entry_env_is_as_left(t, el))
		seam_entry_env_count(t, SEAM_COUNT_AGAIN);
	/* Asked behind it: an event in between may have taken it. */
	*ret_before = SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_TAKEN;
	if (!ret_taking->cookie)
		return el;
	ret_taking->why = SEAM_TAKING_TAIL;
	ret_taking->flags = stack_flags;
	ret_taking->clients = seam_entry_claim_now(t, el);
	return el;
}

SEAM_INLINE void seam_entry_take_end(struct seam_element *el)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	seam_entry_set_flag(e, SEAM_ENTRY_TAKEN);
	seam_entry_clear_flag(e, SEAM_ENTRY_RUNNING | SEAM_ENTRY_LAST);
}

/* The task was to go by seam_turn_return on its way to user space, so that the
 * exec's end is seen; err is what the kernel said. Already pending is as good.
 */
SEAM_INLINE void seam_entry_exec_scheduled(struct seam_element *el, int err)
{
	if (err && err != -SEAM_ENTRY_EBUSY)
		seam_entry_set_flag(seam_entry_env_entry(el),
				    SEAM_ENTRY_UNSEEN);
}

/* The task runs another program now, and goes to it next. */
SEAM_INLINE void seam_entry_exec_done(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_env_element(t);
	struct seam_entry *e;
	uint32_t flags;

	if (!el)
		return;
	e = seam_entry_env_entry(el);
	flags = SEAM_ENTRY_GET(e->flags);
	if (flags & SEAM_ENTRY_UNSEEN)
		seam_entry_exec_over(t, el);
}

/* Whether the current task is in an exec that has given it another tid than
 * it began with, and its stack was taken for these clients. */
SEAM_INLINE bool seam_entry_has_moved(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_env_element(t);
	const struct seam_entry *e;

	if (!el)
		return false;
	e = seam_entry_env_entry(el);
	return (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_TAKEN) &&
	       SEAM_ENTRY_GET(e->tid) != t->tid &&
	       (SEAM_ENTRY_GET(e->who) & t->clients);
}

/* What was taken at an exit is the task's last. */
SEAM_INLINE void seam_entry_exit_taken(struct seam_entry_task *t,
				       struct seam_element *el)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	/* An exec that it was killed in may have changed that. */
	SEAM_ENTRY_SET(e->start, t->start);
	seam_entry_set_flag(e, SEAM_ENTRY_EXIT);
}

#endif
