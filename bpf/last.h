/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks' last stacks (core/last-stack.h), in the arena. A task has one if
 * no other task is in its place. */
#ifndef SEAM_BPF_LAST_H
#define SEAM_BPF_LAST_H

#include "bpf/rule.h"
#include "core/last-stack.h"

_Static_assert(SEAM_CACHED_MAPPINGS == SEAM_LAST_SLOT_MAX + 1,
	       "slots have names");
_Static_assert(sizeof(struct seam_last_stack) == SEAM_LAST_SIZE, "one page");

/* Who uses one may be preempted: taken and given back, also by one
 * whose client has been killed. */
static __always_inline uint32_t *last_busy(uint32_t slot)
{
	struct seam_common *all = common_state();

	return all ? &all->last_busy[slot & (SEAM_LAST_SLOTS - 1)] : NULL;
}

static __always_inline struct seam_last_stack SEAM_TABLE *
last_of(struct scratch *s)
{
	return (struct seam_last_stack SEAM_TABLE *)s->last;
}

/* Takes the task's place, if nobody else is in it. */
static __always_inline void
last_take(struct scratch *s, const struct task_state *state, uint32_t tid)
{
	uint32_t slot = tid & (SEAM_LAST_SLOTS - 1);
	uint32_t *busy = last_busy(slot);

	s->last = 0;
	if (!busy || __sync_val_compare_and_swap(busy, 0, 1))
		return;
	s->last = SEAM_LASTS_OFFSET + (uint64_t)slot * SEAM_LAST_SIZE;
	seam_last_own(last_of(s), state->entry.self, state->entry.start,
		      state->round);
}

/* The task's epochs begin anew. */
static __always_inline void last_round(struct scratch *s,
				       const struct task_state *state)
{
	if (s->last)
		seam_last_own(last_of(s), state->entry.self, state->entry.start,
			      state->round);
}

static __always_inline void last_give(struct scratch *s, uint32_t tid)
{
	uint32_t *busy = last_busy(tid);

	if (s->last && busy)
		__sync_lock_test_and_set(busy, 0);
	s->last = 0;
}

static __always_inline void last_begin(struct scratch *s)
{
	s->last_walk.next = s->last_walk.len = 0;
	if (s->last)
		seam_last_begin(last_of(s), &s->last_walk);
}

static __always_inline void last_end(struct scratch *s)
{
	if (s->last)
		seam_last_end(last_of(s), &s->last_walk, s->nr);
}

/* For the frame s->nr, at the cursor. */
static __always_inline bool last_find(struct scratch *s,
				      const struct seam_cursor *c,
				      struct seam_last_entry *ret)
{
	return s->last &&
	       seam_last_find(last_of(s), &s->last_walk, s->nr, c, ret);
}

/* The same frame's rule, if it fits; epoch 0: its mapping has none. */
static __always_inline void last_put(struct scratch *s,
				     const struct seam_cursor *c,
				     uint64_t packed, uint32_t slot,
				     uint32_t epoch)
{
	struct seam_last_entry entry;

	if (s->last && seam_last_pack(c, packed, slot, epoch, &entry))
		seam_last_put(last_of(s), &s->last_walk, s->nr, &entry);
}

#endif
