/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The ring of stack copies, table requests and what programs say of their
 * code. Where there was no room for what ends a table, nothing of its process
 * that might be answered by that table comes before it is told.
 */
#ifndef SEAM_BPF_COPIES_H
#define SEAM_BPF_COPIES_H

#include "bpf/spans.h"

/* Of the ring, this part is not for copies: without tables there would be ever
 * more of them. */
#define COPIES_RESERVE 8

static __always_inline bool copies_have_room(void *ring, uint64_t size)
{
	uint64_t all = bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
	uint64_t used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	return used + size <= all - all / COPIES_RESERVE;
}

/* Tells of a range alone. Return: false: the ring is full. Who has ended need
 * not know. */
static __always_inline bool copies_tell(struct task_struct *task, uint32_t what,
					uint64_t start, uint64_t end,
					uint64_t time_ns)
{
	void *to = own_ring(SEAM_RING_COPIES);
	struct seam_wire_jit *rec;

	if (!to)
		return true;
	rec = bpf_ringbuf_reserve(to, sizeof(*rec), 0);
	if (!rec)
		return false;
	head_fill(&rec->head, SEAM_WIRE_JIT, task, 0);
	rec->what = what;
	rec->size = 0;
	rec->args[0] = start;
	rec->args[1] = end - start;
	rec->args[2] = time_ns;
	rec->args[3] = 0;
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* Return: 0: user space will know all. Global, for the verifier. */
__noinline int seam_tell_untold(struct task_struct *task ARG_TRUSTED)
{
	struct spans *s = spans_of(task);
	uint64_t ns, all_ns, start, end;

	if (!s)
		return 0;
	/* In this order: what is widened meanwhile has another time. */
	ns = *(volatile uint64_t *)&s->untold_ns;
	all_ns = *(volatile uint64_t *)&s->untold_all_ns;
	if (!ns && !all_ns)
		return 0;
	start = *(volatile uint64_t *)&s->untold_start;
	end = *(volatile uint64_t *)&s->untold_end;
	if (all_ns) {
		start = 0;
		end = ~0ULL;
	}
	if (!copies_tell(task, SEAM_WIRE_JIT_UNTOLD, start, end,
			 ns > all_ns ? ns : all_ns))
		return 1;
	__sync_val_compare_and_swap(&s->untold_ns, ns, 0);
	__sync_val_compare_and_swap(&s->untold_all_ns, all_ns, 0);
	return 0;
}

/* Whether user space knows, or will, of all of the task's code that went. */
static __always_inline bool copies_told(struct task_struct *task)
{
	return !seam_untold || !seam_tell_untold(task);
}

#endif
