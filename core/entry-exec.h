/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The stack of a task that is about to lose its memory, by exec or exit: it is
 * taken before, and what is asked for until then joins it (core/entry.h). */
#ifndef SEAM_CORE_ENTRY_EXEC_H
#define SEAM_CORE_ENTRY_EXEC_H

#include "core/entry.h"

/* Takes the stack now: at exec and exit, while the memory is still there.
 * Return: the element that has it; NULL: none, or it was taken before, for
 * these clients or others. */
SEAM_INLINE struct seam_element *seam_entry_take(struct seam_entry_task *t,
						 uint32_t stack_flags)
{
	struct seam_element *el = t->depth ? seam_entry_element(t) : NULL;
	struct seam_entry *e;
	uint64_t cookie;
	bool first, taken;

	if (!el)
		return NULL;
	e = seam_entry_env_entry(el);
	cookie = seam_entry_open(t, el, false, &first);
	if (first && !t->at_once && seam_entry_env_is_as_left(t, el))
		seam_entry_env_count(t, SEAM_COUNT_AGAIN);
	/* Asked behind it: an event in between may have taken it. */
	taken = SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_TAKEN;
	if (cookie)
		seam_entry_unwind_now(t, el, cookie,
				      seam_entry_claim_now(t, el), stack_flags);
	seam_entry_set_flag(e, SEAM_ENTRY_TAKEN);
	seam_entry_clear_flag(e, SEAM_ENTRY_RUNNING | SEAM_ENTRY_LAST);
	return taken ? NULL : el;
}

/* The task begins an exec. */
SEAM_INLINE void seam_entry_exec(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_take(t, SEAM_STACK_EXEC);
	int err;

	if (!el)
		return;
	/* So that the exec's end is seen. Already pending is as good. */
	err = t->at_once ? -SEAM_ENTRY_NEVER : seam_entry_env_schedule(t, el);
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

/* The task is at sched_process_exit, or was killed inside an exec, whose
 * stack serves the exit too. */
SEAM_INLINE void seam_entry_exit(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_take(t, SEAM_STACK_EXIT);

	struct seam_entry *e;

	if (!el)
		el = seam_entry_env_element(t);
	if (!el)
		return;
	e = seam_entry_env_entry(el);
	/* An exec that it was killed in may have changed that. */
	SEAM_ENTRY_SET(e->start, t->start);
	seam_entry_set_flag(e, SEAM_ENTRY_EXIT);
}

#endif
