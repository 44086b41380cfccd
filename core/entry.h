/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who asks for a user stack, and when it is taken: the state of one task and
 * the steps that change it. BPF runs this, and it is freestanding, so that a
 * test can run the very same through every interleaving.
 *
 *   cookie 0 --request--> cookie c, work scheduled --callback--> closed c, 0
 *   exec, exit: the stack is taken at once (TAKEN); every later request of
 *   that exec or exit joins its cookie. The callback after an exec closes it.
 *
 * Only the task itself changes its state, in its own context, interrupted at
 * worst by events on its own CPU, which run to their end. So a step here is
 * one load, store or atomic of the state, or one call of the surroundings.
 * What else it takes is in entry-env.h.
 */
#ifndef SEAM_CORE_ENTRY_H
#define SEAM_CORE_ENTRY_H

#include "core/cookie.h"
#include "core/entry-env.h"

/* How the state is touched. A test may have defined these. */
#ifndef SEAM_ENTRY_GET
#define SEAM_ENTRY_GET(x) (*(const volatile __typeof__(x) *)&(x))
#define SEAM_ENTRY_SET(x, to) (*(volatile __typeof__(x) *)&(x) = (to))
/* Sets x to `to` if it was `from`. Return: what it was. */
#define SEAM_ENTRY_SWAP(x, from, to) __sync_val_compare_and_swap(&(x), from, to)
#endif

/* What a request comes to. */
struct seam_asked {
	uint64_t cookie; /* that the stack will come with; 0: none will come */
	uint32_t end; /* and this says why */
	uint32_t stack_tid; /* that the stack comes under */
	uint32_t flags; /* enum seam_sample_flags */
};

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

/* The tid that the current task had before its exec gave it another; 0: it is
 * in no such exec. */
SEAM_INLINE uint32_t seam_entry_tid_before(struct seam_entry_task *t)
{
	struct seam_moving moving;

	if (t->tid != t->tgid || !seam_entry_env_moving(t, t->tgid, &moving))
		return 0;
	return moving.self == t->self ? moving.tid : 0;
}

/* Makes the element the current task's. */
SEAM_INLINE struct seam_element *seam_entry_own(struct seam_entry_task *t,
						struct seam_element *el)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	SEAM_ENTRY_SET(e->self, t->self);
	SEAM_ENTRY_SET(e->start, t->start);
	SEAM_ENTRY_SET(e->tid, t->tid);
	return el;
}

/* Whether the element is the current task's. If not, it is a dead one's that
 * was at the same address, and whose end was not seen. */
SEAM_INLINE bool seam_entry_is_own(struct seam_entry_task *t,
				   const struct seam_entry *e)
{
	/* An exec may have given it another's start. */
	return SEAM_ENTRY_GET(e->start) == t->start || seam_entry_tid_before(t);
}

/* The element of the current task, made where it has none. NULL: there is no
 * room, or it is dead. */
SEAM_INLINE struct seam_element *seam_entry_element(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_env_element(t, t->self);
	struct seam_entry *e;
	int err;

	if (el) {
		e = seam_entry_env_entry(el);
		/* We interrupt the making of this very task's element. */
		if (!SEAM_ENTRY_GET(e->start))
			return seam_entry_own(t, el);
		if (seam_entry_is_own(t, e))
			return el;
		seam_entry_env_count(t, SEAM_COUNT_STALE);
		seam_entry_env_element_drop(t, t->self);
	}
	if (t->dead)
		return NULL;
	err = seam_entry_env_element_make(t, t->self);
	el = seam_entry_env_element(t, t->self);
	if (!el) {
		seam_entry_env_count(t, SEAM_COUNT_NO_ELEMENT);
		return NULL;
	}
	return err ? el : seam_entry_own(t, el);
}

/* Contexts in which events come: the task, soft and hard interrupts, NMIs. */
#define SEAM_ENTRY_CONTEXTS 4

/* Sees to it that the stack is taken as deep as is wanted: by all that ask in
 * an entry together. */
SEAM_INLINE void seam_entry_deepen(struct seam_entry_task *t,
				   struct seam_entry *e)
{
	uint32_t had = SEAM_ENTRY_GET(e->depth), now, i;

	for (i = 0; i < SEAM_ENTRY_CONTEXTS && had < t->depth; i++) {
		now = SEAM_ENTRY_SWAP(e->depth, had, t->depth);
		if (now == had)
			break;
		had = now;
	}
}

/* Opens an entry, or finds that another request of it was first. */
SEAM_INLINE uint64_t seam_entry_open(struct seam_entry_task *t,
				     struct seam_element *el, bool in_user,
				     bool *ret_first)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint64_t cookie = seam_entry_cookie(t), had;

	*ret_first = false;
	/* Its stack comes under the tid that the task has now. */
	if (!SEAM_ENTRY_GET(e->cookie))
		SEAM_ENTRY_SET(e->tid, t->tid);
	seam_entry_deepen(t, e);
	had = SEAM_ENTRY_SWAP(e->cookie, 0, cookie);
	if (had)
		return had;
	*ret_first = true;
	seam_entry_env_keep_regs(t, el, in_user);
	return cookie;
}

/* No stack comes under the entry's cookie any more. */
SEAM_INLINE void seam_entry_forget(struct seam_entry *e)
{
	SEAM_ENTRY_SET(e->depth, 0);
	SEAM_ENTRY_SET(e->cookie, 0);
}

SEAM_INLINE void seam_entry_close(struct seam_entry *e, uint64_t cookie)
{
	SEAM_ENTRY_SET(e->closed, cookie);
	SEAM_ENTRY_SET(e->closed_depth, SEAM_ENTRY_GET(e->depth));
	seam_entry_forget(e);
}

/* RUNNING until the caller has noted that the stack is out, since then it is
 * too late to ask for more of it. */
SEAM_INLINE void seam_entry_unwind_now(struct seam_entry_task *t,
				       struct seam_element *el, uint64_t cookie,
				       uint32_t flags)
{
	struct seam_entry *e = seam_entry_env_entry(el);

	seam_entry_set_flag(e, SEAM_ENTRY_RUNNING);
	seam_entry_env_unwind_now(t, el, cookie, SEAM_STACK_EAGER | flags);
}

/* The first request of an entry: sees to it that its stack is taken. */
SEAM_INLINE uint64_t seam_entry_arm(struct seam_entry_task *t,
				    struct seam_element *el, uint64_t cookie,
				    uint32_t *ret_end)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint64_t closed;
	int err;

	if (t->exiting) {
		/* sched_process_exit is yet to come and takes the stack. */
		if (!t->dead && !(SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_EXIT))
			return cookie;
		seam_entry_forget(e);
		*ret_end = SEAM_EXITED;
		return 0;
	}
	err = seam_entry_env_schedule(t, el);
	if (!err)
		return cookie;
	closed = SEAM_ENTRY_GET(e->closed);
	if (err == -SEAM_ENTRY_EBUSY && closed &&
	    SEAM_ENTRY_GET(e->closed_depth) >= t->depth) {
		/* Between the callback's end and the kernel's own release:
		 * the stack just written is this entry's. */
		seam_entry_forget(e);
		seam_entry_env_count(t, SEAM_COUNT_CLOSED);
		return closed;
	}
	seam_entry_env_count(t, SEAM_COUNT_REFUSED);
	/* The cookie stays until the stack is out: an event that comes in
	 * between joins it. */
	seam_entry_unwind_now(t, el, cookie, 0);
	seam_entry_close(e, cookie);
	seam_entry_clear_flag(e, SEAM_ENTRY_RUNNING);
	return cookie;
}

SEAM_INLINE uint64_t seam_entry_ask(struct seam_entry_task *t,
				    struct seam_element *el, bool in_user,
				    uint32_t *ret_end)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint64_t cookie;
	bool first;

	if (in_user && (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_TAKEN)) {
		/* User code runs: the exec whose stack was taken is over, and
		 * nothing more is of its program. */
		SEAM_ENTRY_SET(e->closed, 0);
		seam_entry_clear_flag(e, SEAM_ENTRY_TAKEN);
		seam_entry_forget(e);
	}
	cookie = seam_entry_open(t, el, in_user, &first);
	return first ? seam_entry_arm(t, el, cookie, ret_end) : cookie;
}

/* A request at an event. in_user: the event interrupted user code. */
SEAM_INLINE void seam_entry_request(struct seam_entry_task *t, bool in_user,
				    struct seam_asked *ret)
{
	struct seam_element *el = seam_entry_element(t);
	const struct seam_entry *e;

	ret->cookie = 0;
	ret->end = t->dead ? SEAM_EXITED : SEAM_LOST;
	ret->stack_tid = t->tid;
	ret->flags = 0;
	if (!el)
		return;
	e = seam_entry_env_entry(el);
	ret->stack_tid = SEAM_ENTRY_GET(e->tid);
	/* What happens inside an unwind asks for no other. */
	if (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_RUNNING) {
		ret->flags = SEAM_SAMPLE_OWN;
		return;
	}
	ret->cookie = seam_entry_ask(t, el, in_user, &ret->end);
	ret->stack_tid = SEAM_ENTRY_GET(e->tid);
	if (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_TAKEN)
		ret->flags = SEAM_SAMPLE_TAIL;
}

/* Runs in the task, on its way to user space; may sleep. */
SEAM_INLINE void seam_entry_return(struct seam_entry_task *t,
				   struct seam_element *el)
{
	struct seam_entry *e = seam_entry_env_entry(el);
	uint64_t cookie = SEAM_ENTRY_GET(e->cookie);
	uint32_t flags = SEAM_ENTRY_GET(e->flags), tid = SEAM_ENTRY_GET(e->tid);

	if (flags & SEAM_ENTRY_EXIT) {
		seam_entry_env_count(t, SEAM_COUNT_SKIPPED);
		return;
	}
	if (flags & SEAM_ENTRY_TAKEN) {
		seam_entry_env_count(t, SEAM_COUNT_SKIPPED);
		seam_entry_clear_flag(e, SEAM_ENTRY_TAKEN);
		cookie = 0; /* it is of the program before: none joins it */
	} else if (cookie) {
		seam_entry_set_flag(e, SEAM_ENTRY_RUNNING);
		seam_entry_env_unwind(t, el, cookie);
	}
	seam_entry_close(e, cookie);
	seam_entry_clear_flag(e, SEAM_ENTRY_RUNNING);
	if (tid != t->tid) {
		SEAM_ENTRY_SET(e->start, t->start);
		seam_entry_env_moving_drop(t, t->tgid);
	}
}

/* Takes the stack now: at exec and exit, while the memory is still there.
 * Return: the element that has it; NULL: none, or it was taken before. */
SEAM_INLINE struct seam_element *seam_entry_take(struct seam_entry_task *t,
						 uint32_t stack_flags)
{
	struct seam_element *el = t->depth ? seam_entry_element(t) : NULL;
	struct seam_entry *e;
	uint64_t cookie;
	bool first;

	if (!el)
		return NULL;
	e = seam_entry_env_entry(el);
	if (SEAM_ENTRY_GET(e->flags) & (SEAM_ENTRY_TAKEN | SEAM_ENTRY_EXIT))
		return NULL;
	cookie = seam_entry_open(t, el, false, &first);
	seam_entry_unwind_now(t, el, cookie, stack_flags);
	seam_entry_set_flag(e, SEAM_ENTRY_TAKEN);
	seam_entry_clear_flag(e, SEAM_ENTRY_RUNNING);
	return el;
}

/* The task begins an exec. */
SEAM_INLINE void seam_entry_exec(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_take(t, SEAM_STACK_EXEC);
	struct seam_moving moving = {t->self, t->tid, 0};

	if (t->tid != t->tgid &&
	    seam_entry_env_moving_make(t, t->tgid, &moving))
		seam_entry_env_count(t, SEAM_COUNT_NO_ELEMENT);
	/* So that the exec's end is seen. Already pending is as good. */
	if (el)
		seam_entry_env_schedule(t, el);
}

/* The task is at sched_process_exit. */
SEAM_INLINE void seam_entry_exit(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_take(t, SEAM_STACK_EXIT);

	if (!el && t->depth) /* killed inside an exec, whose stack serves */
		el = seam_entry_element(t);
	if (el)
		seam_entry_set_flag(seam_entry_env_entry(el), SEAM_ENTRY_EXIT);
}

/* A task is freed, in whatever task we are. */
SEAM_INLINE void seam_entry_free(struct seam_entry_task *t, uint64_t self,
				 uint32_t tid)
{
	struct seam_moving moving;

	seam_entry_env_element_drop(t, self);
	if (seam_entry_env_moving(t, tid, &moving)) /* died in it */
		seam_entry_env_moving_drop(t, tid);
}

/* The cookie of an entry whose stack the task is just taking, and may be asleep
 * over it; 0: none. */
SEAM_INLINE uint64_t seam_entry_under_way(const struct seam_entry *e)
{
	return SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_RUNNING
		       ? SEAM_ENTRY_GET(e->cookie)
		       : 0;
}

/* The cookie of an entry that a task asleep may be in, to be asked from
 * outside before and after its stack was taken there; 0: none. */
SEAM_INLINE uint64_t seam_entry_asleep(const struct seam_entry *e,
				       uint64_t start)
{
	if (SEAM_ENTRY_GET(e->start) != start ||
	    (SEAM_ENTRY_GET(e->flags) &
	     (SEAM_ENTRY_TAKEN | SEAM_ENTRY_RUNNING)))
		return 0;
	return SEAM_ENTRY_GET(e->cookie);
}

#endif
