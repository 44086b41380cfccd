/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What follows tasks must see each. But from Linux 7 on a tracepoint's program
 * may be preempted, and the kernel leaves it out where it is at work on that
 * CPU already, in whatever task. So there it has a second one behind it, which
 * does the same if the first has not; that is left out only while it does.
 * Where both were, the kernel's own counts tell: those of the first, less what
 * the second saw in its place.
 */
#ifndef SEAM_BPF_AGAIN_H
#define SEAM_BPF_AGAIN_H

#include "bpf/maps.h"

enum followed_way {
	FOLLOW_EXEC,
	FOLLOW_EXIT,
	FOLLOW_FORK,
	FOLLOW_EXEC_DONE,
	FOLLOW_FREE,
	FOLLOW_PRCTL,
};

struct followed {
	uint64_t task; /* its task_struct */
	uint64_t way;
};

/* What the first program has seen, until the second comes. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SEAM_FOLLOWED);
	__type(key, struct followed);
	__type(value, uint32_t);
} followed SEC(".maps");

static __always_inline void follow(const struct task_struct *task,
				   enum followed_way way)
{
	struct followed key = {(uint64_t)task, way};
	uint32_t yes = 1;

	if (seam_follow_again)
		bpf_map_update_elem(&followed, &key, &yes, BPF_ANY);
}

/* In the second program. Return: whether the first was left out. */
static __always_inline bool is_left_out(const struct task_struct *task,
					enum followed_way way)
{
	struct followed key = {(uint64_t)task, way};

	if (!bpf_map_delete_elem(&followed, &key))
		return false;
	count(SEAM_COUNT_SEEN_AGAIN);
	return true;
}

#endif
