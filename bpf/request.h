/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What core/entry.h, which decides about requests and stacks, has the kernel
 * do for it: elements in a map, the task work, registers, the unwind.
 */
#ifndef SEAM_BPF_REQUEST_H
#define SEAM_BPF_REQUEST_H

#include "bpf/amid.h"
#include "bpf/outside.h"
#include "bpf/regs.h"
#include "bpf/take.h"
#include "core/entry-exec.h"

#define ESRCH 3

struct seam_entry_env {
	struct task_struct *task;
	struct seam_element *el; /* the task's, once it was looked up */
	bool unsure; /* its registers are, for all that is known */
	bool is_perf; /* a perf event, or a sleep: no tracepoint's */
};

/* Who has all stacks that anybody asks for. */
static __always_inline uint32_t all_clients(void)
{
	const struct seam_common *all = common_state();
	uint32_t more = all ? *(const volatile uint32_t *)&all->want_all : 0;

	return more & SEAM_WHO_MASK;
}

/* The current task, to entry.h; or another, which is asked for. */
static __always_inline void entry_task(struct seam_entry_task *t,
				       struct seam_entry_env *env,
				       struct task_struct *task)
{
	env->task = task;
	env->el = NULL;
	env->unsure = false;
	env->is_perf = false;
	t->at_once = IS_AT_ONCE;
	t->start = task->start_boottime;
	t->self = (uint64_t)task;
	t->image = mm_of(task);
	t->tid = task->pid;
	t->depth = seam_max_stack;
	t->clients = OWN_CLIENT | all_clients();
	t->exiting = task->flags & PF_EXITING;
	t->gone = !t->image;
	t->dead = task->exit_state;
	t->env = env;
}

static __always_inline struct seam_element *
seam_entry_env_element(struct seam_entry_task *t)
{
	if (!t->env->el)
		t->env->el = bpf_map_lookup_elem(&elements, &t->self);
	return t->env->el;
}

/* At exec and exit the first client's program takes the stack for all that are
 * known to watch the task, and the others' find that they have it. */
static __always_inline void entry_for_all(struct seam_entry_task *t)
{
	const struct seam_element *el = seam_entry_env_element(t);

	if (!el || el->state.entry.start != t->start)
		return;
	t->clients |= el->state.asked;
	if (el->state.asked_depth > t->depth)
		t->depth = el->state.asked_depth;
}

/* Who wants no stack at exec and exit but where one was asked for, is in the
 * entry's word then. */
static __always_inline void seam_entry_env_note(struct seam_entry_task *t,
						struct seam_element *el)
{
	if (!seam_take_tails)
		return;
	if (el->state.asked_depth < seam_max_stack)
		el->state.asked_depth = seam_max_stack;
	if (t->clients & ~el->state.asked)
		__sync_fetch_and_or(&el->state.asked, t->clients);
}

static __always_inline bool seam_entry_env_is_own(struct seam_entry_task *t)
{
	return is_doing_of_unwind(t->env->task, t->env->is_perf);
}

static __always_inline void
seam_entry_env_element_make(struct seam_entry_task *t)
{
	uint32_t zero = 0;
	struct no_element *fresh = bpf_map_lookup_elem(&fresh_elements, &zero);

	if (fresh)
		bpf_map_update_elem(&elements, &t->self, fresh, BPF_NOEXIST);
}

/* One load, where nobody has asked since the last time. */
static __always_inline struct seam_outside *
seam_entry_env_outside(struct seam_entry_task *t, struct seam_element *el)
{
	if (IS_AT_ONCE)
		return NULL;
	if (el && *(volatile uint32_t *)&el->state.no_outside)
		return NULL;
	/* Before it is looked at, so that who asks meanwhile has the last word.
	 */
	if (el)
		__sync_lock_test_and_set(&el->state.no_outside, 1);
	return outside_of(t->self);
}

static __always_inline void
seam_entry_env_outside_again(struct seam_element *el)
{
	*(volatile uint32_t *)&el->state.no_outside = 0;
}

static __always_inline void seam_entry_env_lose(struct seam_entry_task *t,
						uint64_t cookie,
						uint32_t clients)
{
	seam_lose_other(t->env->task, cookie, clients);
}

static __always_inline struct seam_entry *
seam_entry_env_entry(struct seam_element *el)
{
	return &el->state.entry;
}

static __always_inline void seam_entry_env_renew(struct seam_entry_task *t,
						 struct seam_element *el)
{
	el->state.mm = 0;
	el->state.left.ip = 0;
	el->state.asked = 0;
	el->state.asked_depth = 0;
	el->state.known = 0;
}

static __always_inline uint64_t
seam_entry_env_count_next(struct seam_entry_task *t, uint32_t *ret_cpu)
{
	uint32_t zero = 0;
	uint64_t *counter = bpf_map_lookup_elem(&cookies, &zero);

	*ret_cpu = bpf_get_smp_processor_id();
	return counter ? __sync_fetch_and_add(counter, 1) + 1 : 0;
}

static __always_inline void seam_entry_env_count(struct seam_entry_task *t,
						 enum seam_count what)
{
	count(what);
}

/* The user's, as they were when the task entered the kernel. */
static __always_inline struct pt_regs___kernel *
task_regs(struct task_struct *task)
{
	return (struct pt_regs___kernel *)bpf_task_pt_regs(task);
}

/* Global, for the verifier. */
__noinline int seam_regs_keep(struct task_state *state ARG_NONNULL,
			      struct task_struct *task ARG_TRUSTED,
			      bool in_user)
{
	struct pt_regs___kernel *regs = task_regs(task);

	regs_save(state->regs, regs);
	regs_judge(state, regs, task, in_user);
	return 0;
}

static __always_inline void seam_entry_env_keep_regs(struct seam_entry_task *t,
						     struct seam_element *el,
						     bool in_user)
{
	seam_regs_keep(&el->state, t->env->task, in_user);
	if (!t->at_once && t->env->unsure)
		el->state.regs_flags |= REGS_LACKED;
}

/* What the event did not find is there by now. */
static __always_inline void regs_keep_late(struct task_state *state,
					   struct task_struct *task)
{
	if (state->regs_flags & REGS_LACKED)
		seam_regs_keep(state, task, false);
}

static __always_inline void leave(struct task_state *state,
				  const struct pt_regs___kernel *regs)
{
	state->left.ip = regs->ip;
	state->left.sp = regs->sp;
	state->left.ax = regs->ax;
	state->left.orig_ax = regs->orig_ax;
}

static __always_inline bool seam_entry_env_is_as_left(struct seam_entry_task *t,
						      struct seam_element *el)
{
	const struct pt_regs___kernel *regs = task_regs(t->env->task);
	const struct left *left = &el->state.left;

	uint64_t differ = (left->ip ^ regs->ip) | (left->sp ^ regs->sp) |
			  (left->ax ^ regs->ax) |
			  (left->orig_ax ^ regs->orig_ax);

	return !differ;
}

/* The registers that the task is to be unwound from at its return. Return: of
 * enum seam_stack_flags. */
static __always_inline uint32_t regs_at_return(struct task_state *state,
					       struct task_struct *task)
{
	struct pt_regs___kernel *regs = task_regs(task);

	regs_keep_late(state, task);
	if (regs_replaced(state, task)) {
		regs_save(state->regs, regs);
		state->regs_flags &= ~REGS_SYSCALL;
	} else if (regs_moved(state->regs, regs)) {
		seam_regs_part(state, task);
		state->regs_flags |= REGS_MOVED;
		count(SEAM_COUNT_MOVED);
		return SEAM_STACK_MOVED;
	}
	return 0;
}

/*
 * A clock may have ticked on the way to the probe, and opened the entry with
 * registers that the kernel was to change: it moves the ip back to the probe,
 * and out of the way that a return takes there. Now they are the event's.
 */
static __always_inline void keep_probe(struct task_struct *task,
				       uint64_t cookie)
{
	struct seam_entry_env env;
	struct seam_entry_task t;
	struct seam_element *el;

	entry_task(&t, &env, task);
	el = seam_entry_env_element(&t);
	if (el && cookie && el->state.entry.cookie == cookie &&
	    !seam_who_done(el->state.entry.who))
		seam_entry_env_keep_regs(&t, el, true);
}

#endif
