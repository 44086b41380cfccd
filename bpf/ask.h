/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The turns of core/entry-turn.h in seam's own programs, and what they leave to
 * the caller: global functions, so that the verifier walks each once for a
 * program. They are turns since global functions may name no callback that
 * sleeps, as task work is scheduled by; and since 8 calls of each other are all
 * that unwinding a stack takes ("the call stack of 8 frames is too deep", Linux
 * 6.18). core/entry-ask.h puts them together.
 */
#ifndef SEAM_BPF_ASK_H
#define SEAM_BPF_ASK_H

#include "bpf/request.h"
#include "core/entry-turn.h"

/* What is kept between the turns. Small, as it lies on the stack. */
struct ask {
	struct seam_turn turn;
	uint32_t depth; /* frames that are wanted */
	bool in_user, is_perf; /* of the event */
	bool sleeps; /* that is the task's going to sleep */
};

#include "core/entry-ask.h"

typedef int (*bpf_task_work_callback_t)(struct bpf_map *map, void *key,
					void *value);

/* An object for each spelling: lib/kernel/kernel.c says why. */
#if defined(SEAM_AT_ONCE)
/* The engine immediate has none. */
#elif defined(SEAM_TASK_WORK_IMPL) /* Linux 6.18 to 7.1 */
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task,
					      struct bpf_task_work *tw,
					      void *map__map,
					      bpf_task_work_callback_t callback,
					      void *aux__prog) __ksym;
#else
extern int
bpf_task_work_schedule_resume(struct task_struct *task,
			      struct bpf_task_work *tw, void *map__map,
			      bpf_task_work_callback_t callback) __ksym;
#endif

/* take_stack: the one function that unwinds, which the verifier walks once for
 * a program. */
__noinline uint64_t seam_take(struct task_state *state ARG_NONNULL,
			      struct task_struct *task ARG_TRUSTED,
			      uint64_t cookie, uint64_t flags, uint32_t why_not)
{
	return take_stack(state, task, cookie, flags, why_not);
}

static __always_inline void asker(struct seam_entry_task *t,
				  struct seam_entry_env *env,
				  const struct ask *a)
{
	entry_task(t, env, bpf_get_current_task_btf());
	t->depth = a->depth;
	env->unsure = a->turn.unsure;
	env->is_perf = a->is_perf;
}

/* next: of the turn. A stack may be to be taken now. */
static __always_inline int ask_next(struct ask *a, struct seam_entry_task *t,
				    int next)
{
	struct seam_element *el;

	if (next != SEAM_TURN_TAKE)
		return next;
	el = seam_entry_env_element(t);
	if (!el)
		return SEAM_TURN_DONE;
	if (a->turn.taking == SEAM_TAKING_TAIL)
		regs_keep_late(&el->state, t->env->task);
	if (el->state.regs_flags & REGS_MOVED)
		a->turn.flags |= SEAM_STACK_MOVED;
	if (a->sleeps)
		a->turn.flags |= SEAM_STACK_ASLEEP;
	if (a->turn.clients)
		el->state.taken_ns = bpf_ktime_get_ns();
	tries_begin(&el->state, 0);
	return next;
}

/* An event asks. */
__noinline int seam_ask_begin(struct ask *a ARG_NONNULL)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	asker(&t, &env, a);
	return ask_next(a, &t, seam_turn_begin(&t, a->in_user, &a->turn));
}

/* The kernel was told to have the task take its stack, and said err. */
__noinline int seam_ask_scheduled(struct ask *a ARG_NONNULL, int err)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	asker(&t, &env, a);
	return ask_next(a, &t, seam_turn_scheduled(&t, &a->turn, err));
}

/* The task is on its way to user space. */
__noinline int seam_ask_return(struct ask *a ARG_NONNULL)
{
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;

	asker(&t, &env, a);
	if (seam_turn_return(&t, &a->turn) != SEAM_TURN_TAKE)
		return SEAM_TURN_DONE;
	el = seam_entry_env_element(&t);
	if (!el)
		return SEAM_TURN_DONE;
	a->turn.flags = regs_at_return(&el->state, env.task);
	tries_begin(&el->state, SEAM_ASK_PAGES);
	return SEAM_TURN_TAKE;
}

/* Whether an exec or exit has the task's stack taken at once: for events that
 * may come yet, or since it was asked for. What others want is for their own
 * programs to see. */
static __always_inline bool is_tail_wanted(struct seam_entry_task *t)
{
	const struct seam_outside *o;
	const struct seam_element *el;

	if (seam_take_tails)
		return true;
	o = seam_entry_env_outside(t, NULL);
	if (o && SEAM_ENTRY_GET(o->word) & OWN_CLIENT)
		return true;
	el = seam_entry_env_element(t);
	return el && el->state.entry.cookie &&
	       (el->state.entry.who & OWN_CLIENT);
}

/* The task begins an exec, or exits. */
__noinline int seam_ask_tail(struct ask *a ARG_NONNULL)
{
	struct seam_entry_env env;
	struct seam_entry_task t;

	asker(&t, &env, a);
	entry_for_all(&t);
	if (a->turn.exits)
		t.exiting = true; /* to exit_signals it is not yet */
	if (!is_tail_wanted(&t))
		return SEAM_TURN_DONE;
	return ask_next(a, &t, seam_turn_tail(&t, &a->turn));
}

/* The stack is out. Return: whether it is to be taken once more, for who came
 * to it meanwhile. */
__noinline int seam_ask_taken(struct ask *a ARG_NONNULL)
{
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;

	asker(&t, &env, a);
	el = seam_entry_env_element(&t);
	if (!el)
		return SEAM_TURN_DONE;
	if (a->turn.clients && !a->turn.why_not)
		leave(&el->state, task_regs(env.task));
	if (seam_turn_taken(&t, &a->turn) != SEAM_TURN_TAKE)
		return SEAM_TURN_DONE;
	/* What there is to bring in has just been brought. */
	el->state.taken_ns = bpf_ktime_get_ns();
	tries_begin(&el->state, 0);
	return SEAM_TURN_TAKE;
}

static __always_inline struct seam_turn *ask_turn(struct ask *a)
{
	return &a->turn;
}

static __always_inline struct seam_element *ask_element(struct ask *a)
{
	uint64_t self = bpf_get_current_task();

	return bpf_map_lookup_elem(&elements, &self);
}

static __always_inline uint64_t ask_take(struct ask *a, struct seam_element *el)
{
	if (!a->turn.clients)
		return 0;
	return seam_take(&el->state, bpf_get_current_task_btf(), a->turn.cookie,
			 (uint64_t)a->turn.clients << 32 | a->turn.flags,
			 a->turn.why_not);
}

/*
 * A userfaultfd may have been armed since the mapping was looked at, and its
 * handler may never come. The kernel waits for one only where a fault may be
 * begun anew, which it is not when a task's memory is read as another's: there
 * it fails. But then mmap_lock is held as long as the page takes, so a file's,
 * for which none can be armed, come as they do to the task itself.
 */
static __always_inline void ask_bring(struct ask *a, struct seam_element *el,
				      uint64_t missing)
{
	struct tries *t = &el->state.tries;
	uint8_t byte;

	if (t->armable)
		t->failed = !!bpf_copy_from_user_task(
			&byte, sizeof(byte), (void *)missing,
			bpf_get_current_task_btf(), 0);
	else
		t->failed = !!bpf_copy_from_user(&byte, sizeof(byte),
						 (void *)missing);
}

static int on_return_to_user(struct bpf_map *map, void *key, void *value);

static __always_inline int ask_schedule(struct ask *a)
{
#ifndef SEAM_AT_ONCE
	struct seam_element *el = ask_element(a);

	if (el)
#ifdef SEAM_TASK_WORK_IMPL
		return bpf_task_work_schedule_resume_impl(
			bpf_get_current_task_btf(), &el->work, &elements,
			on_return_to_user, NULL);
#else
		return bpf_task_work_schedule_resume(bpf_get_current_task_btf(),
						     &el->work, &elements,
						     on_return_to_user);
#endif
#endif
	return -SEAM_ENTRY_NEVER;
}

/* At an exec, or an exit. */
static __always_inline void take_tail(bool exits)
{
	struct ask a = {.turn.exits = exits, .depth = seam_max_stack};

	ask_tail(&a);
}

#endif
