/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What is asked of tasks by others (core/entry-outside.h). Apart from what the
 * tasks themselves keep, which they alone write: most are never asked for, and
 * a map's value has but one task work.
 */
#ifndef SEAM_BPF_OUTSIDE_H
#define SEAM_BPF_OUTSIDE_H

#include "bpf/lose.h"
#include "core/entry-outside.h"

struct outside_element {
	struct bpf_task_work work;
	struct seam_outside o;
};

/* Of the second only the work is used. As the header has it. */
struct outside_key {
	uint64_t self, which; /* task_struct's address; 0 or 1 */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, struct outside_key);
	__type(value, struct outside_element);
} outsides SEC(".maps");

static __always_inline struct seam_outside *outside_of(uint64_t self)
{
	struct outside_key key = {self, 0};
	struct outside_element *el = bpf_map_lookup_elem(&outsides, &key);

	return el ? &el->o : NULL;
}

/* NULL: there is no room. */
static __always_inline struct seam_outside *outside_make(uint64_t self,
							 uint64_t start)
{
	struct seam_outside *o = outside_of(self);
	struct outside_element fresh = {.o.start = start};
	struct outside_key key = {self, 1};

	if (o)
		return o;
	/* The second first: who finds the one has both. */
	bpf_map_update_elem(&outsides, &key, &fresh, BPF_NOEXIST);
	key.which = 0;
	bpf_map_update_elem(&outsides, &key, &fresh, BPF_NOEXIST);
	return outside_of(self);
}

/* What others asked of the task these clients do not get. Global, for the
 * verifier. */
__noinline int seam_lose_other(struct task_struct *task ARG_TRUSTED,
			       uint64_t cookie, uint32_t clients)
{
	uint32_t zero = 0, i;
	struct task_state *none = bpf_map_lookup_elem(&outside_state, &zero);

	if (!none)
		return 0;
	for (i = seam_zero; i < SEAM_MAX_CLIENTS; i++) {
		SEAM_LOOP_GUARD;
		if (clients >> (i & 31) & 1)
			count_for(i, SEAM_COUNT_LOST_STACK);
	}
	return seam_lose(none, task, cookie, LOSS_UNSURE, clients);
}

/* The task is freed. */
static __always_inline void outside_forget(struct task_struct *task)
{
	struct outside_key key = {(uint64_t)task, 0};
	struct seam_outside *o = outside_of((uint64_t)task);
	uint64_t cookie = 0, clients;

	if (!o)
		return;
	clients = seam_outside_drop(o, &cookie);
	if (clients)
		seam_lose_other(task, cookie, (uint32_t)clients);
	bpf_map_delete_elem(&outsides, &key);
	key.which = 1;
	bpf_map_delete_elem(&outsides, &key);
}

#endif
