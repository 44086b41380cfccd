/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A request for a user stack, an exec's or exit's stack and that at the return
 * to user space, as steps: global functions, so that the verifier walks each
 * once for a program. What core/entry.h does as a whole falls apart where task
 * work is scheduled, since global functions may name no callback that sleeps;
 * and where a stack is unwound, as 8 calls of each other are all that it takes
 * ("the call stack of 8 frames is too deep", Linux 6.18).
 */
#ifndef SEAM_BPF_ASK_H
#define SEAM_BPF_ASK_H

#include "bpf/request.h"

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

/* What a step comes to. */
enum ask_next { ASK_DONE, ASK_SCHEDULE, ASK_TAKE };

/* What is kept between the steps. Small, as it lies on the stack. */
struct ask {
	struct seam_asked asked;
	uint64_t cookie; /* of the stack that is taken, */
	uint64_t flags; /* these and why_not as seam_take has them */
	uint32_t why_not;
	uint32_t why; /* enum seam_taking_why; NONE: at the return */
	uint32_t depth; /* frames that are wanted */
	bool in_user, unsure, is_perf; /* of the event */
	bool sleeps; /* that is the task's going to sleep */
	bool again; /* as in struct seam_arming */
	bool exits; /* an exit, or an exec */
	bool sees_end; /* of that exec the end is to be seen */
};

static __always_inline void asker(struct seam_entry_task *t,
				  struct seam_entry_env *env,
				  const struct ask *a)
{
	entry_task(t, env, bpf_get_current_task_btf());
	t->depth = a->depth;
	env->unsure = a->unsure;
	env->is_perf = a->is_perf;
}

/* For whom the stack is to be taken, which may be nobody. */
static __always_inline void ask_for(struct ask *a, struct seam_entry_task *t,
				    struct seam_element *el, uint32_t clients)
{
	a->flags = (uint32_t)a->flags | (uint64_t)clients << 32;
	a->why_not = seam_entry_why_not(t, &el->state.entry);
	if (a->unsure && !a->why_not)
		a->why_not = SEAM_UNSURE;
}

/* A stack is to be taken now. */
static __always_inline int ask_take(struct ask *a, struct seam_entry_task *t,
				    struct seam_element *el,
				    const struct seam_taking *taking)
{
	a->why = taking->why;
	a->cookie = taking->cookie;
	a->flags = taking->flags;
	if (taking->why == SEAM_TAKING_TAIL)
		regs_keep_late(&el->state, t->env->task);
	if (el->state.regs_flags & REGS_MOVED)
		a->flags |= SEAM_STACK_MOVED;
	if (a->sleeps)
		a->flags |= SEAM_STACK_ASLEEP;
	ask_for(a, t, el, taking->clients);
	if (taking->clients)
		el->state.taken_ns = bpf_ktime_get_ns();
	tries_begin(&el->state, 0);
	return ASK_TAKE;
}

static __always_inline int ask_answer(struct ask *a, struct seam_entry_task *t,
				      struct seam_element *el,
				      const struct seam_taking *taking)
{
	if (taking->why != SEAM_TAKING_NONE)
		return ask_take(a, t, el, taking);
	seam_entry_answer(el, &a->asked);
	return ASK_DONE;
}

/* An event asks. */
__noinline int seam_ask_begin(struct ask *a ARG_NONNULL)
{
	struct seam_taking taking;
	struct seam_arming arming;
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;
	bool first;

	asker(&t, &env, a);
	el = seam_entry_request_begin(&t, a->in_user, &a->asked, &first,
				      &taking);
	if (!el)
		return ASK_DONE;
	if (!first)
		return ask_answer(a, &t, el, &taking);
	seam_entry_arm_begin(&t, el, a->in_user, &arming);
	a->again = arming.again;
	if (arming.later)
		return ASK_SCHEDULE;
	a->asked.cookie = seam_entry_arm_end(&t, el, a->asked.cookie, &arming,
					     0, &taking);
	return ask_answer(a, &t, el, &taking);
}

/* The kernel was told to have the task take its stack, and said err. */
__noinline int seam_ask_scheduled(struct ask *a ARG_NONNULL, int err)
{
	struct seam_arming arming = {.later = true, .again = a->again};
	struct seam_taking taking = {.why = SEAM_TAKING_NONE};
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;

	asker(&t, &env, a);
	el = seam_entry_env_element(&t);
	if (!el) {
		a->asked.cookie = 0;
		return ASK_DONE;
	}
	a->asked.cookie = seam_entry_arm_end(&t, el, a->asked.cookie, &arming,
					     err, &taking);
	return ask_answer(a, &t, el, &taking);
}

/* So many pages are brought in for one stack. */
#define TRIES_MAX 2000

/* The task is on its way to user space. */
__noinline int seam_return_begin(struct ask *a ARG_NONNULL)
{
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;
	uint32_t clients;

	asker(&t, &env, a);
	el = seam_entry_env_element(&t);
	if (!el)
		return ASK_DONE;
	clients = seam_entry_return_begin(&t, el, &a->cookie);
	if (!clients)
		return ASK_DONE;
	a->why = SEAM_TAKING_NONE;
	a->flags = regs_at_return(&el->state, env.task);
	ask_for(a, &t, el, clients);
	tries_begin(&el->state, TRIES_MAX);
	return ASK_TAKE;
}

/* Whether an exec or exit has the task's stack taken at once: for events that
 * may come yet, or since it was asked for. What others want is for their own
 * programs to see. */
static __always_inline bool is_tail_wanted(struct seam_entry_task *t)
{
	const struct seam_element *el;

	if (seam_take_tails)
		return true;
	el = seam_entry_env_element(t);
	return el && el->state.entry.cookie &&
	       (el->state.entry.who & OWN_CLIENT);
}

/* The task begins an exec, or exits. */
__noinline int seam_tail_begin(struct ask *a ARG_NONNULL)
{
	struct seam_taking taking;
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;
	bool before;

	asker(&t, &env, a);
	entry_for_all(&t);
	if (a->exits)
		t.exiting = true; /* to exit_signals it is not yet */
	a->sees_end = false;
	if (!is_tail_wanted(&t))
		return ASK_DONE;
	el = seam_entry_take_begin(&t,
				   a->exits ? SEAM_STACK_EXIT : SEAM_STACK_EXEC,
				   &taking, &before);
	a->sees_end = el && !before && !a->exits;
	if (el && taking.why != SEAM_TAKING_NONE)
		return ask_take(a, &t, el, &taking);
	if (el)
		seam_entry_take_end(el);
	else
		el = seam_entry_env_element(&t);
	if (el && a->exits)
		seam_entry_exit_taken(&t, el);
	return ASK_DONE;
}

static __always_inline void ask_taken(struct ask *a, struct seam_entry_task *t,
				      struct seam_element *el)
{
	struct seam_taking taking = {.cookie = a->cookie, .why = a->why};

	if (a->why == SEAM_TAKING_TAIL) {
		seam_entry_take_end(el);
		if (a->exits)
			seam_entry_exit_taken(t, el);
	} else if (a->why != SEAM_TAKING_NONE) {
		seam_entry_taken(t, el, &taking);
		seam_entry_answer(el, &a->asked);
	}
}

/* The stack is out. Return: whether it is to be taken once more, for who came
 * to it meanwhile. */
__noinline int seam_taken(struct ask *a ARG_NONNULL)
{
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;
	uint32_t clients;

	asker(&t, &env, a);
	el = seam_entry_env_element(&t);
	if (!el)
		return false;
	if (a->flags >> 32 && !a->why_not)
		leave(&el->state, task_regs(env.task));
	if (a->why == SEAM_TAKING_NONE)
		clients = seam_entry_return_end(&t, el, a->cookie);
	else
		clients = seam_entry_more(&t, &el->state.entry);
	if (!clients) {
		ask_taken(a, &t, el);
		return false;
	}
	/* What there is to bring in has just been brought. */
	ask_for(a, &t, el, clients);
	el->state.taken_ns = bpf_ktime_get_ns();
	tries_begin(&el->state, 0);
	return true;
}

/* Return: as seam_take. */
static __always_inline uint64_t take(const struct ask *a,
				     struct seam_element *el)
{
	if (!(a->flags >> 32))
		return 0;
	return seam_take(&el->state, bpf_get_current_task_btf(), a->cookie,
			 a->flags, a->why_not);
}

static __always_inline struct seam_element *current_element(void)
{
	uint64_t self = bpf_get_current_task();

	return bpf_map_lookup_elem(&elements, &self);
}

static __always_inline void take_now(struct ask *a)
{
	struct seam_element *el = current_element();

	if (!el)
		return;
	take(a, el);
	if (!seam_taken(a))
		return;
	take(a, el);
	seam_taken(a);
}

static int on_return_to_user(struct bpf_map *map, void *key, void *value);

/* Has the task call that on its way to user space. Return: what the kernel
 * says. */
static __always_inline int schedule(void)
{
#ifndef SEAM_AT_ONCE
	struct seam_element *el = current_element();

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

/* Asks for the current task's stack: a->asked is the answer. */
static __always_inline void ask(struct ask *a)
{
	int next = seam_ask_begin(a);

	if (next == ASK_SCHEDULE)
		next = seam_ask_scheduled(a, schedule());
	if (next == ASK_TAKE)
		take_now(a);
}

/* At an exec, or an exit. */
static __always_inline void take_tail(bool exits)
{
	struct ask a = {.depth = seam_max_stack, .exits = exits};
	struct seam_element *el;
	int err;

	if (seam_tail_begin(&a) == ASK_TAKE)
		take_now(&a);
	if (exits || !a.sees_end)
		return;
	err = schedule();
	el = current_element();
	if (el)
		seam_entry_exec_scheduled(el, err);
}

#endif
