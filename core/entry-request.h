/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A request for a user stack, at an event (core/entry.h): it opens an entry or
 * joins it, and sees to it that the stack is taken, by the task on its way to
 * user space or, where that cannot be, now.
 */
#ifndef SEAM_CORE_ENTRY_REQUEST_H
#define SEAM_CORE_ENTRY_REQUEST_H

#include "core/entry.h"

/* What a request comes to. */
struct seam_asked {
	uint64_t cookie; /* that the stack will come with; 0: none will come */
	uint32_t end; /* and this says why */
	uint32_t stack_tid; /* that the stack comes under */
	uint32_t flags; /* enum seam_sample_flags */
};

/* A stack that is to be taken now, which a request may come to. */
enum seam_taking_why {
	SEAM_TAKING_NONE, /* none is */
	SEAM_TAKING_FIRST, /* for the first request of an entry */
	SEAM_TAKING_LATE, /* once more, of an exec or exit */
	SEAM_TAKING_TAIL, /* of an exec or exit: entry-exec.h */
};

struct seam_taking {
	uint64_t cookie;
	uint32_t why; /* enum seam_taking_why */
	uint32_t clients; /* for whom; 0: it is out, after all */
	uint32_t flags; /* enum seam_stack_flags */
};

/* The stack that a request came to is out, for all who came to it. */
SEAM_INLINE void seam_entry_taken(struct seam_entry_task *t,
				  struct seam_element *el,
				  const struct seam_taking *taking)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	if (taking->why == SEAM_TAKING_FIRST && t->exiting)
		seam_entry_set_flag(e, SEAM_ENTRY_TAKEN | SEAM_ENTRY_EXIT);
	else if (taking->why == SEAM_TAKING_FIRST)
		seam_entry_close(e, taking->cookie);
	seam_entry_clear_flag(e, SEAM_ENTRY_RUNNING | SEAM_ENTRY_LAST);
}

/*
 * The task was to take its stack on its way to user space; err is what the
 * kernel said.
 * Return: whether it will, or *ret_served, by which the caller goes, was just
 * taken and is this entry's too.
 */
SEAM_INLINE bool seam_entry_scheduled(struct seam_entry_task *t,
				      struct seam_element *el, uint64_t cookie,
				      int err, uint64_t *ret_served)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint64_t served, had;
	uint32_t deep;

	*ret_served = 0;
	if (!err)
		return true;
	served = SEAM_ENTRY_GET(e->served);
	had = SEAM_ENTRY_GET(e->served_who);
	deep = SEAM_ENTRY_GET(e->served_depth);
	if (err != -SEAM_ENTRY_EBUSY || !served ||
	    !seam_entry_serves(t, had, deep)) {
		seam_entry_env_count(t, SEAM_COUNT_REFUSED);
		return false;
	}
	/* Between the callback's end and the kernel's own release. */
	*ret_served = served;
	seam_entry_env_count(t, SEAM_COUNT_CLOSED);
	SEAM_ENTRY_SET(e->cookie, served);
	/* But an event that came in between may have been given ours. */
	if (SEAM_ENTRY_GET(e->joined) == cookie || !seam_who_withdraw(e))
		return false;
	SEAM_ENTRY_SET(e->cookie, 0);
	return true;
}

/* The first request of an entry, before its stack is seen to. */
struct seam_arming {
	bool later; /* the task is to take it, by its task work */
	bool again; /* one was taken before, in this stay in the kernel */
};

SEAM_INLINE void seam_entry_arm_begin(struct seam_entry_task *t,
				      struct seam_element *el, bool in_user,
				      struct seam_arming *ret)
{
	/* User code that spins leaves its registers as they were. */
	ret->again =
		!t->at_once && !in_user && seam_entry_env_is_as_left(t, el);
	ret->later = !t->at_once && !t->exiting;
}

/* Sees to it that the stack is taken, now by *ret_taking if need be. err: of
 * the task work, if .later. Return: the cookie that it comes with. */
SEAM_INLINE uint64_t seam_entry_arm_end(struct seam_entry_task *t,
					struct seam_element *el,
					uint64_t cookie,
					const struct seam_arming *arming,
					int err, struct seam_taking *ret_taking)
{
	uint64_t served = 0;

	if (arming->later &&
	    seam_entry_scheduled(t, el, cookie, err, &served)) {
		if (arming->again && !served)
			seam_entry_env_count(t, SEAM_COUNT_AGAIN);
		return served ? served : cookie;
	}
	if (arming->again)
		seam_entry_env_count(t, SEAM_COUNT_AGAIN);
	/* An event that comes in between joins the cookie, so it stays until
	 * the stack is out; in an exit for good. */
	ret_taking->why = SEAM_TAKING_FIRST;
	ret_taking->cookie = cookie;
	ret_taking->flags = t->exiting ? SEAM_STACK_EXIT : 0;
	ret_taking->clients = seam_entry_claim_now(t, el);
	return served ? served : cookie;
}

/* What an exec or exit took is no use to clients that it was not taken for: it
 * is taken for them, while there is memory. Return: the cookie, or 0. */
SEAM_INLINE uint64_t seam_entry_late(struct seam_entry_task *t,
				     struct seam_element *el, uint64_t cookie,
				     uint32_t *ret_end,
				     struct seam_taking *ret_taking)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint64_t done = seam_who_done(SEAM_ENTRY_GET(e->who));
	uint32_t flags = SEAM_ENTRY_GET(e->flags);

	/* What has not been taken yet, whom we interrupt is opening. */
	if (!cookie || !(flags & SEAM_ENTRY_TAKEN) || !done ||
	    !(t->clients & ~done))
		return cookie;
	if (t->gone) {
		*ret_end = SEAM_EXITED;
		return 0;
	}
	ret_taking->why = SEAM_TAKING_LATE;
	ret_taking->cookie = cookie;
	ret_taking->flags =
		flags & SEAM_ENTRY_EXIT ? SEAM_STACK_EXIT : SEAM_STACK_EXEC;
	ret_taking->clients = seam_entry_claim_now(t, el);
	return cookie;
}

/* A request amid an unwind, which is its doing or joins it. */
SEAM_INLINE void seam_entry_amid(struct seam_entry_task *t,
				 struct seam_element *el,
				 struct seam_asked *ret)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	if (seam_entry_env_is_own(t)) {
		ret->flags = SEAM_SAMPLE_OWN;
		return;
	}
	seam_entry_join(t, e, &ret->cookie);
	if (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_TAKEN)
		ret->flags = SEAM_SAMPLE_TAIL;
}

/*
 * A request at an event, as far as it goes without task work and unwinds: those
 * are for the caller who cannot have them done from here. in_user: the event
 * interrupted user code.
 * Return: the element, NULL: the request is answered; *ret_first: the cookie is
 * of an entry that this opened, and that is to be armed; *ret_taking.
 */
SEAM_INLINE struct seam_element *
seam_entry_request_begin(struct seam_entry_task *t, bool in_user,
			 struct seam_asked *ret, bool *ret_first,
			 struct seam_taking *ret_taking)
{
	struct seam_element *el = seam_entry_element(t);
	const struct seam_entry *e;

	ret_taking->why = SEAM_TAKING_NONE;
	*ret_first = false;
	ret->cookie = 0;
	ret->end = t->dead ? SEAM_EXITED : SEAM_LOST;
	ret->stack_tid = t->tid;
	ret->flags = 0;
	if (!el)
		return NULL;
	e = seam_entry_env_entry(el);
	seam_entry_env_note(t, el);
	ret->stack_tid = SEAM_ENTRY_GET(e->tid);
	/* What happens inside an unwind asks for no other. */
	if (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_RUNNING) {
		seam_entry_amid(t, el, ret);
		return NULL;
	}
	if (t->gone && !SEAM_ENTRY_GET(e->cookie)) {
		ret->end = SEAM_EXITED;
		return el;
	}
	ret->cookie = seam_entry_open(t, el, in_user, ret_first);
	if (!*ret_first)
		ret->cookie = seam_entry_late(t, el, ret->cookie, &ret->end,
					      ret_taking);
	return el;
}

/* What the request is told of its stack beside the cookie, when all is seen to
 * that it takes. */
SEAM_INLINE void seam_entry_answer(struct seam_element *el,
				   struct seam_asked *ret)
{
	const struct seam_entry *e = seam_entry_env_entry(el);

	ret->stack_tid = SEAM_ENTRY_GET(e->tid);
	if (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_TAKEN)
		ret->flags = SEAM_SAMPLE_TAIL;
}

#endif
