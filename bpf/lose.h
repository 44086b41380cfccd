/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tells clients whose stack is lost that it is: who was given a cookie by its
 * own program, and not with a sample, cannot know of it otherwise. What is
 * noted is losses, so that requests cost nothing; in a ring beside the one that
 * had no room.
 */
#ifndef SEAM_BPF_LOSE_H
#define SEAM_BPF_LOSE_H

#include "bpf/emit.h"

/* Above enum seam_stack_flags: the leaf is not sure. */
#define LOSS_UNSURE (1ULL << 32)

/* As a stack of its leaf. with_regs: known when compiled, since the verifier
 * wants to know the size. Return: whether there was room. */
static __always_inline bool loss_put(void *to, uint32_t client,
				     const struct task_state *state,
				     struct task_struct *task, uint64_t cookie,
				     uint64_t flags, bool with_regs)
{
	const bool is_sure = !(flags & LOSS_UNSURE);
	const uint32_t words = with_regs ? 1 + SEAM_WIRE_REGS : 1;
	struct seam_wire_stack *rec =
		bpf_ringbuf_reserve(to, sizeof(*rec) + words * 8ULL, 0);

	if (!rec)
		return false;
	head_fill(&rec->head, SEAM_WIRE_STACK, task, cookie);
	rec->took_ns = 0;
	rec->flags = with_regs && is_sure ? (uint32_t)flags | SEAM_STACK_REGS
					  : (uint32_t)flags;
	rec->end = SEAM_LOST;
	rec->nr = is_sure;
	rec->by_fp = 0;
	rec->ips[0] = state->regs[SEAM_AMD64_REG_IP];
	if (with_regs)
		__builtin_memcpy(&rec->ips[1], state->regs,
				 sizeof(state->regs));
	bpf_ringbuf_submit(rec, ring_flags_of(to, client));
	return true;
}

/* Global, as the next: the verifier walks each once. */
__noinline int seam_lose_of(struct task_state *state ARG_NONNULL,
			    struct task_struct *task ARG_TRUSTED,
			    uint64_t cookie, uint64_t flags, uint32_t client)
{
	const struct seam_common *all = common_state();
	uint32_t at = SEAM_RING_LOSSES + client;
	void *to = bpf_map_lookup_elem(&client_rings, &at);
	bool is_told;

	if (!to)
		return 0; /* its cookies all come with samples */
	if (all && *(volatile uint32_t *)&all->want_regs >> (client & 31) & 1)
		is_told =
			loss_put(to, client, state, task, cookie, flags, true);
	else
		is_told =
			loss_put(to, client, state, task, cookie, flags, false);
	if (!is_told)
		count_for(client, SEAM_COUNT_LOST_UNTOLD);
	return 0;
}

/* These clients do not get the stack. flags: of enum seam_stack_flags, and
 * LOSS_UNSURE. */
__noinline int seam_lose(struct task_state *state ARG_NONNULL,
			 struct task_struct *task ARG_TRUSTED, uint64_t cookie,
			 uint64_t flags, uint32_t clients)
{
	uint32_t i;

	for (i = seam_zero; i < SEAM_MAX_CLIENTS; i++) {
		SEAM_LOOP_GUARD;
		if (clients >> (i & 31) & 1)
			seam_lose_of(state, task, cookie, flags, i);
	}
	return 0;
}

/* What could not be sent of the scratch's stack. */
static __always_inline void lose(struct seam_env *env, uint64_t cookie,
				 uint64_t flags)
{
	if (env->scratch->lost)
		seam_lose(env->state, env->task, cookie, flags,
			  env->scratch->lost);
}

#endif
