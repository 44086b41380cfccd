/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Passes on what programs say of the code that they make. */
#ifndef SEAM_BPF_TELL_H
#define SEAM_BPF_TELL_H

#include "bpf/emit.h"
#include "bpf/made.h"

/*
 * Reads the section that was told of: its program may soon put another in its
 * place. It was just written, so it is there; if not, or if it is large, user
 * space reads it. Return: its size, 0: not read.
 */
static __always_inline uint32_t tell_section(struct scratch *s,
					     struct task_struct *task,
					     uint64_t addr, uint64_t size)
{
	bool found = false;
	uint64_t mm;

	if (!size || size > SEAM_MAX_TOLD)
		return 0;
	bpf_rcu_read_lock();
	mm = mm_of(task);
	if (mm && !seam_vma_find(mm, addr, &s->vma))
		found = s->vma.end - addr >= size &&
			reading_of(&s->vma) != READ_NOTHING;
	bpf_rcu_read_unlock();
	asm volatile("" : "+r"(size));
	if (!found || size > SEAM_MAX_TOLD ||
	    bpf_probe_read_user(s->section, size, (void *)addr))
		return 0;
	return size;
}

/* Return: whether user space will know. */
static __always_inline bool tell(struct task_struct *task, uint32_t what,
				 const uint64_t *args)
{
	struct scratch *s = scratch_take();
	uint64_t size = 0;
	bool is_lost;
	void *to;

	if (!s) {
		count(SEAM_COUNT_LOST_MADE);
		return false;
	}
	head_fill(&s->jit.head, SEAM_WIRE_JIT, task, 0);
	if (what == SEAM_WIRE_JIT_ADD)
		size = tell_section(s, task, args[0], args[1]);
	s->jit.what = what;
	s->jit.size = size;
	__builtin_memcpy(s->jit.args, args, sizeof(s->jit.args));
	asm volatile("" : "+r"(size));
	if (size > SEAM_MAX_TOLD)
		size = SEAM_MAX_TOLD;
	to = own_ring(SEAM_RING_COPIES);
	is_lost = !to || bpf_ringbuf_output(to, &s->jit, sizeof(s->jit) + size,
					    BPF_RB_FORCE_WAKEUP);
	if (is_lost)
		count(SEAM_COUNT_LOST_MADE);
	scratch_give(s);
	return !is_lost;
}

/* A program's word was lost by which a table ends: that is not told later by
 * itself, as what is added is, which user space then finds, or is refused. */
static __always_inline void tell_lost(struct task_struct *task, uint32_t what,
				      const uint64_t *args)
{
	if (what == SEAM_WIRE_JIT_REMOVE)
		spans_untold(task, 0,
			     ~0ULL); /* a section; where its code is? */
	else if (what == SEAM_WIRE_JIT_LISTED && args[0] == SEAM_JIT_REMOVED &&
		 args[1] + args[2] > args[1])
		spans_untold(task, args[1], args[1] + args[2]);
}

#endif
