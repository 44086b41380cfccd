/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Takes one user stack: unwinds it, and has what came of it sent. */
#ifndef SEAM_BPF_TAKE_H
#define SEAM_BPF_TAKE_H

#include "bpf/emit.h"
#include "bpf/lose.h"
#include "core/entry-outside.h"

/* Of a stack that is not to be had: its leaf alone, which is known. */
static __always_inline void leaf_only(struct scratch *s,
				      const struct task_state *state)
{
	s->ips[0] = state->regs[SEAM_AMD64_REG_IP];
	s->nr = 1;
	s->last_hits = s->windows = 0;
	s->section_begun = false;
}

static __always_inline void
emit_pending(struct task_struct *task, struct task_state *own, uint64_t cookie)
{
	struct seam_env env = {.state = own, .task = task, .how = HOW_OTHER};

	env.scratch = scratch_take();
	if (!env.scratch)
		return;
	leaf_only(env.scratch, own);
	env.scratch->clients = OWN_CLIENT;
	/* No loss: the task tells its own end, which may be none. */
	emit_frames(&env, cookie, 0, SEAM_PENDING, bpf_ktime_get_ns());
	scratch_give(env.scratch);
}

/* The attempt's end, made known. */
static __always_inline void emit_end(struct seam_env *env, uint64_t cookie,
				     uint32_t flags, int end, uint64_t began)
{
	count_add(SEAM_COUNT_WINDOWS, env->scratch->windows);
	env->scratch->windows = 0;
	if (wants_copy(env, end)) {
		if (emit_copy(env, cookie, flags, end, began))
			return;
		/* The frames lay where the copy was to be. */
		env->scratch->ips[0] = env->state->regs[SEAM_AMD64_REG_IP];
		env->scratch->nr = 1;
		env->scratch->section_begun = false;
		end = SEAM_UNREADABLE;
	}
	emit_frames(env, cookie, flags, end, began);
}

/* The frames. Return: the end code. */
static __always_inline int take_frames(struct seam_env *env, uint32_t flags)
{
	struct tries *t = &env->state->tries;
	uint64_t sp_now =
		((struct pt_regs___kernel *)bpf_task_pt_regs(env->task))->sp;
	int end;

	last_take(env->scratch, env->state, env->task->pid);
	end = unwind(env);
	last_give(env->scratch, env->task->pid);
	t->frames += env->scratch->nr;
	if (is_told(env))
		return end;
	return flags & SEAM_STACK_MOVED &&
			       seam_stack_differs(env->scratch, env->state, end,
						  sp_now)
		       ? SEAM_REGS_DIFFER
		       : end;
}

static __always_inline uint64_t loss_flags(uint64_t flags, int end)
{
	return (uint32_t)flags | (end == SEAM_UNSURE ? LOSS_UNSURE : 0);
}

/*
 * Takes and sends the current task's stack, of the state's registers and with
 * this cookie; or none, and the reason. tries_begin was called. flags: of enum
 * seam_stack_flags, and above them the clients that it is for, since a function
 * has five arguments.
 * Return: 0: it is out; or nothing is, and a page to bring in before it is
 * called again.
 */
static __always_inline uint64_t take_stack(struct task_state *state,
					   struct task_struct *task,
					   uint64_t cookie, uint64_t flags,
					   uint32_t why_not)
{
	struct seam_env env = {.state = state, .task = task, .how = HOW_OWN};
	struct scratch *s = scratch_take();
	int end = why_not;

	if (!s) {
		seam_no_scratch(flags >> 32);
		seam_lose(state, task, cookie, loss_flags(flags, why_not),
			  flags >> 32);
		return 0;
	}
	env.scratch = s;
	tries_next(&state->tries);
	s->clients = flags >> 32;
	s->lost = 0;
	if (!why_not)
		end = take_frames(&env, flags);
	if (why_not || end == SEAM_REGS_DIFFER) {
		leaf_only(s, state);
		/* The event's own ip is sure, or nothing is. */
		s->nr = end != SEAM_UNSURE;
	}
	if (!is_told(&env))
		emit_end(&env, cookie, flags, end, state->tries.began_ns);
	if (!is_told(&env))
		count(SEAM_COUNT_UNWINDS);
	lose(&env, cookie, loss_flags(flags, end));
	scratch_give(s);
	return state->tries.missing;
}

/* Return: the clients that it is for, or 0. */
static __always_inline uint32_t claim_sleeper(struct task_state *own,
					      struct seam_outside *o,
					      uint64_t was)
{
	if (o)
		return seam_outside_claim(o, was, OWN_CLIENT) ? OWN_CLIENT : 0;
	return own ? seam_who_claim(&own->entry, was, OWN_CLIENT) : 0;
}

/* A state of our own for a task that sleeps, whose registers are as it entered
 * the kernel with them. */
static __always_inline void outside_begin(struct task_state *state,
					  struct task_struct *task,
					  uint32_t depth)
{
	regs_find_late(state, task);
	state->entry.who = seam_who_deepened(0, depth);
	state->mm = 0; /* no mapping of another task's is believed */
}

/*
 * The same for a task that sleeps, from outside: with a state of our own,
 * since the task may wake and use its own; and if it woke, what was read may
 * be of any moment, and its own callback sends the stack. o: others have asked
 * for it, and was is of that; then own may be NULL.
 */
static __always_inline void take_sleeper(struct task_struct *task,
					 struct task_state *own,
					 struct task_state *state,
					 struct seam_outside *o, uint64_t was,
					 uint64_t cookie)
{
	struct seam_env env = {.state = state, .task = task, .how = HOW_OTHER};
	uint64_t began = bpf_ktime_get_ns();
	int end;

	env.scratch = scratch_take();
	if (!env.scratch) {
		if (claim_sleeper(own, o, was))
			seam_lose(state, task, cookie, LOSS_UNSURE, OWN_CLIENT);
		return;
	}
	if (o) {
		outside_begin(state, task, SEAM_ENTRY_GET(o->depth));
	} else if (own) {
		__builtin_memcpy(state->regs, own->regs, sizeof(state->regs));
		state->regs_flags = own->regs_flags;
		if (own->regs_flags & REGS_LACKED)
			regs_find_late(state, task);
		state->entry.who = was; /* so deep */
	}
	state->mm = 0; /* no mapping of another task's is believed */
	end = unwind(&env);
	env.scratch->clients = claim_sleeper(own, o, was);
	env.scratch->lost = 0;
	if (env.scratch->clients) {
		count(SEAM_COUNT_UNWINDS);
		emit_end(&env, cookie, 0, end, began);
		lose(&env, cookie, 0);
	}
	scratch_give(env.scratch);
}

#endif
