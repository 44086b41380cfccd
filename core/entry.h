/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who asks for a user stack, and when it is taken: the state of one task and
 * the steps that change it. BPF runs these, put together in entry-turn.h and,
 * for seam's own programs, entry-ask.h; and it is freestanding, so that a test
 * can run the very same through every interleaving.
 *
 *   cookie 0 --request--> cookie c, work scheduled --callback--> closed c, 0
 *   exec, exit: the stack is taken at once (TAKEN); every later request of
 *   that exec or exit joins its cookie. The callback after an exec closes it.
 *   at_once: cookie 0 --request--> cookie c, the stack is taken --> 0
 *
 * What comes amid an unwind and is not its doing, an interrupt's event or the
 * task's preemption, joins it as well: its stack is the one under way.
 *
 * Several clients share an entry, its cookie and its stack: the first to ask
 * has it taken, the others say that they want it too (entry-who.h). Who asks
 * when it was taken without him, has it taken once more, under this cookie.
 *
 * What others asked of the task becomes the entry that it opens next
 * (entry-outside.h).
 *
 * Only the task itself changes its state, in its own context, interrupted at
 * worst by events on its own CPU, which run to their end. So a step here is
 * one load, store or atomic of the state, or one call of the surroundings.
 * What else it takes is in entry-env.h; requests are in entry-request.h, exec
 * and exit in entry-exec.h.
 */
#ifndef SEAM_CORE_ENTRY_H
#define SEAM_CORE_ENTRY_H

#include "core/cookie.h"
#include "core/entry-outside.h"

SEAM_INLINE uint64_t seam_entry_cookie(struct seam_entry_task *t)
{
	uint64_t cookie, count;
	uint32_t cpu = 0;

	count = seam_entry_env_count_next(t, &cpu);
	cookie = seam_cookie_make(count, cpu);
	if (!cookie) { /* the counter wrapped to 0 */
		count = seam_entry_env_count_next(t, &cpu);
		cookie = seam_cookie_make(count, cpu);
	}
	return cookie;
}

SEAM_INLINE void seam_entry_set_flag(struct seam_entry *e, uint32_t flag)
{
	SEAM_ENTRY_SET(e->flags, SEAM_ENTRY_GET(e->flags) | flag);
}

SEAM_INLINE void seam_entry_clear_flag(struct seam_entry *e, uint32_t flag)
{
	SEAM_ENTRY_SET(e->flags, SEAM_ENTRY_GET(e->flags) & ~flag);
}

/* Makes the element the current task's, which .start says when it is. */
SEAM_INLINE struct seam_element *seam_entry_own(struct seam_entry_task *t,
						struct seam_element *el)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	SEAM_ENTRY_SET(e->self, t->self);
	SEAM_ENTRY_SET(e->tid, t->tid);
	SEAM_ENTRY_SET(e->start, t->start);
	return el;
}

/*
 * Whether the element is the current task's. It may be a dead one's that was at
 * the same address: the kernel does not show every end.
 */
SEAM_INLINE bool seam_entry_is_own(const struct seam_entry_task *t,
				   const struct seam_entry *e)
{
	uint32_t exec = SEAM_ENTRY_TAKEN, mask = exec | SEAM_ENTRY_EXIT;

	/* An exec may have given it another's start, in the middle. */
	return SEAM_ENTRY_GET(e->start) == t->start ||
	       (SEAM_ENTRY_GET(e->flags) & mask) == exec;
}

/*
 * Takes over a dead task's element. Who interrupts us may do all of that and
 * open an entry of ours, which must stay: so what is reset is what was there
 * while .start, which is set last, was still the other's.
 */
SEAM_INLINE struct seam_element *seam_entry_renew(struct seam_entry_task *t,
						  struct seam_element *el)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint64_t cookie = SEAM_ENTRY_GET(e->cookie);
	uint64_t served = SEAM_ENTRY_GET(e->served);
	uint64_t who = SEAM_ENTRY_GET(e->who);
	uint32_t flags = SEAM_ENTRY_GET(e->flags);

	if (seam_entry_is_own(t, e))
		return el;
	seam_entry_env_count(t, SEAM_COUNT_STALE);
	seam_entry_env_renew(t, el);
	SEAM_ENTRY_SWAP(e->served, served, 0);
	seam_who_renew(e, who);
	SEAM_ENTRY_SWAP(e->flags, flags, 0);
	SEAM_ENTRY_SWAP(e->cookie, cookie, 0);
	return seam_entry_own(t, el);
}

/* The element of the current task, made where it has none. NULL: there is no
 * room, or it is dead and gets none any more. */
SEAM_INLINE struct seam_element *seam_entry_element(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_env_element(t);

	if (!el && t->dead)
		return NULL;
	if (!el) {
		seam_entry_env_element_make(t);
		el = seam_entry_env_element(t);
	}
	if (!el) {
		seam_entry_env_count(t, SEAM_COUNT_NO_ELEMENT);
		return NULL;
	}
	/* Just made, or we interrupt who has. */
	if (!SEAM_ENTRY_GET(seam_entry_env_entry(el)->start))
		return seam_entry_own(t, el);
	if (!seam_entry_is_own(t, seam_entry_env_entry(el)))
		return seam_entry_renew(t, el);
	return el;
}

/* Whether a stack that is out serves all who ask, and is as deep as they want
 * it. had: clients that have it. */
SEAM_INLINE bool seam_entry_serves(const struct seam_entry_task *t,
				   uint64_t had, uint32_t depth)
{
	return (t->clients & ~had) == 0 && depth >= t->depth;
}

/*
 * Joins an entry whose stack is not out. Return: whether that comes, so deep: a
 * stack that is taken or being taken is as deep as it is, but for those of exec
 * and exit, which are as deep as anybody may want them.
 */
SEAM_INLINE bool seam_entry_join_open(struct seam_entry_task *t,
				      struct seam_entry *e)
{
	uint32_t flags = SEAM_ENTRY_GET(e->flags);
	bool running = flags & SEAM_ENTRY_RUNNING;
	uint64_t who;

	if (flags & SEAM_ENTRY_LAST)
		return seam_entry_serves(
			t, seam_who_done(SEAM_ENTRY_GET(e->who)),
			seam_who_depth(SEAM_ENTRY_GET(e->who)));
	if (!running && (flags & SEAM_ENTRY_TAKEN)) {
		seam_who_want(e, t->clients, t->depth, false);
		return true;
	}
	who = seam_who_want(e, t->clients, t->depth, true);
	return !seam_who_done(who) || seam_who_depth(who) >= t->depth;
}

/*
 * Joins the open entry, if there is one.
 * Return: whether there is; *ret_cookie, which stays 0 if its stack is out
 * already and not as deep as is wanted.
 */
SEAM_INLINE bool seam_entry_join(struct seam_entry_task *t,
				 struct seam_entry *e, uint64_t *ret_cookie)
{
	uint64_t cookie = SEAM_ENTRY_GET(e->cookie);
	bool serves;

	if (!cookie)
		return false;
	if (cookie == SEAM_ENTRY_GET(e->served)) {
		/* We interrupt who closes it, or who goes by that. */
		serves = seam_entry_serves(t, SEAM_ENTRY_GET(e->served_who),
					   SEAM_ENTRY_GET(e->served_depth));
	} else {
		SEAM_ENTRY_SET(e->joined, cookie);
		serves = seam_entry_join_open(t, e);
	}
	if (serves)
		*ret_cookie = cookie;
	else
		seam_entry_env_count(t, SEAM_COUNT_REFUSED);
	return true;
}

/* Opens an entry, or joins the one that is open. Return: its cookie, or 0. */
SEAM_INLINE uint64_t seam_entry_open(struct seam_entry_task *t,
				     struct seam_element *el, bool in_user,
				     bool *ret_first)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	struct seam_outside *o;
	uint64_t cookie, joined = 0;

	*ret_first = false;
	if (seam_entry_join(t, e, &joined))
		return joined;
	/* Its stack comes under the tid that the task has now. */
	SEAM_ENTRY_SET(e->tid, t->tid);
	o = seam_entry_env_outside(t, el);
	cookie = o ? seam_outside_adopt(o, t->start, t->image) : 0;
	if (!cookie) {
		o = NULL;
		cookie = seam_entry_cookie(t);
	}
	if (SEAM_ENTRY_SWAP(e->cookie, 0, cookie)) {
		/* Who interrupted us was first. */
		if (o)
			seam_outside_release(o);
		seam_entry_join(t, e, &joined);
		return joined;
	}
	*ret_first = true;
	/* Nothing before: who interrupts us may close an entry of its own. */
	SEAM_ENTRY_SET(e->image, t->image);
	seam_entry_env_keep_regs(t, el, in_user);
	seam_who_want(e, SEAM_WHO_KEPT | t->clients, t->depth, false);
	/* Last: whoever asks from outside finds what is pending, or the entry
	 * that it has become. */
	if (o)
		seam_who_want(e, SEAM_WHO_OUTSIDE | seam_outside_take(o),
			      SEAM_ENTRY_GET(o->depth), false);
	return cookie;
}

/* No stack comes under the entry's cookie any more. */
SEAM_INLINE void seam_entry_forget(struct seam_entry *e)
{
	SEAM_ENTRY_SET(e->who, seam_who_next(SEAM_ENTRY_GET(e->who)));
	SEAM_ENTRY_SET(e->cookie, 0);
}

/* The stack is out, for all who wanted it. RUNNING ends before the cookie: what
 * comes amid an unwind has one to join. */
SEAM_INLINE void seam_entry_close(struct seam_entry *e, uint64_t cookie)
{
	SEAM_ENTRY_SET(e->served_depth, seam_who_depth(SEAM_ENTRY_GET(e->who)));
	seam_who_serve(e);
	/* Who interrupts us here may join what an exec took: by this. */
	SEAM_ENTRY_SET(e->served, cookie);
	seam_entry_clear_flag(e, SEAM_ENTRY_RUNNING | SEAM_ENTRY_LAST);
	seam_entry_forget(e);
}

/* Claims the stack for all who want it and have not got it, with RUNNING set.
 * Return: who they are; 0: it was taken from outside. */
SEAM_INLINE uint32_t seam_entry_claim(struct seam_entry_task *t,
				      struct seam_entry *e)
{
	uint64_t before;
	uint32_t clients = seam_who_claim_all(e, &before);

	/* For some before, and now for others. */
	if (clients && before)
		seam_entry_env_count(t, SEAM_COUNT_AGAIN);
	return clients;
}

/*
 * The stack is out, for those it was claimed for. Return: for whom it is to be
 * taken once more, who came to it since; after that, 0. From then on nobody
 * comes to it but who has it.
 */
SEAM_INLINE uint32_t seam_entry_more(struct seam_entry_task *t,
				     struct seam_entry *e)
{
	if (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_LAST)
		return 0;
	seam_entry_set_flag(e, SEAM_ENTRY_LAST);
	return seam_entry_claim(t, e);
}

/* The reason why the entry's stack is not there any more, or 0: if there was
 * no room for an element when an exec began, nobody has taken it. */
SEAM_INLINE uint32_t seam_entry_why_not(const struct seam_entry_task *t,
					const struct seam_entry *e)
{
	return SEAM_ENTRY_GET(e->image) == t->image ? SEAM_OK : SEAM_EXEC;
}

/* RUNNING from before it is claimed until the caller has noted that the stack
 * is out, since then it is too late to ask for more of it. */
SEAM_INLINE uint32_t seam_entry_claim_now(struct seam_entry_task *t,
					  struct seam_element *el)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	seam_entry_set_flag(e, SEAM_ENTRY_RUNNING);
	return seam_entry_claim(t, e);
}

/* An exec is over: what was taken is of the program before it. */
SEAM_INLINE void seam_entry_exec_over(struct seam_entry_task *t,
				      struct seam_element *el)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	SEAM_ENTRY_SET(e->start, t->start);
	seam_entry_close(e, SEAM_ENTRY_GET(e->cookie));
	SEAM_ENTRY_SET(e->served, 0);
	seam_entry_clear_flag(e, SEAM_ENTRY_TAKEN | SEAM_ENTRY_UNSEEN);
}

/* The stack is out. Return: for whom it is to be taken once more; 0: the entry
 * is closed. */
SEAM_INLINE uint32_t seam_entry_return_end(struct seam_entry_task *t,
					   struct seam_element *el,
					   uint64_t cookie)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint32_t clients = seam_entry_more(t, e);

	if (!clients)
		seam_entry_close(e, cookie);
	return clients;
}

/* The task is on its way to user space. Return: whom to take its stack for,
 * with *ret_cookie, and to end it after that; 0: there is nothing to do. */
SEAM_INLINE uint32_t seam_entry_return_begin(struct seam_entry_task *t,
					     struct seam_element *el,
					     uint64_t *ret_cookie)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint64_t cookie = SEAM_ENTRY_GET(e->cookie);
	uint32_t flags = SEAM_ENTRY_GET(e->flags), clients;

	*ret_cookie = cookie;
	if (flags & SEAM_ENTRY_TAKEN) {
		seam_entry_env_count(t, SEAM_COUNT_SKIPPED);
		if (!t->exiting)
			seam_entry_exec_over(t, el);
		return 0;
	}
	if (!cookie)
		return 0;
	seam_entry_set_flag(e, SEAM_ENTRY_RUNNING);
	clients = seam_entry_claim(t, e);
	if (clients)
		return clients;
	/* From outside, while it slept: that is this entry's too. */
	seam_entry_env_count(t, SEAM_COUNT_SKIPPED);
	return seam_entry_return_end(t, el, cookie);
}

/* The cookie of an entry whose stack the task is just taking for clients, and
 * may be asleep over it; 0: none. */
SEAM_INLINE uint64_t seam_entry_under_way(const struct seam_entry *e,
					  uint64_t clients)
{
	return (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_RUNNING) &&
			       (SEAM_ENTRY_GET(e->who) & clients)
		       ? SEAM_ENTRY_GET(e->cookie)
		       : 0;
}

/*
 * For a task that sleeps, from outside: the cookie of its entry, or 0. Who has
 * taken its stack for clients, claims it with *ret_was (seam_who_claim), which
 * fails if the task has woken since and taken one itself, and then sends it.
 */
SEAM_INLINE uint64_t seam_entry_asleep(const struct seam_entry *e,
				       uint64_t clients, uint64_t *ret_was)
{
	uint64_t was = SEAM_ENTRY_GET(e->who);
	uint64_t cookie = SEAM_ENTRY_GET(e->cookie);

	*ret_was = was;
	if (SEAM_ENTRY_GET(e->flags) & (SEAM_ENTRY_TAKEN | SEAM_ENTRY_RUNNING))
		return 0;
	if (!(was & SEAM_WHO_KEPT) || !(seam_who_left(was) & clients))
		return 0;
	/* One that is closed, which is there for a moment more. */
	return cookie == SEAM_ENTRY_GET(e->served) ? 0 : cookie;
}

#endif
