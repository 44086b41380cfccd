/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Ends tables of made code when the code is unmapped: before it is, since
 * other code may be there a moment later.
 */
#ifndef SEAM_BPF_UNMAP_H
#define SEAM_BPF_UNMAP_H

#include "bpf/copies.h"
#include "bpf/made.h"
#include "core/unmap.h"

static __always_inline void unmap_args(const struct pt_regs___kernel *regs,
				       bool is_32, uint64_t *ret)
{
	if (is_32) {
		ret[0] = (uint32_t)regs->bx;
		ret[1] = (uint32_t)regs->cx;
		ret[2] = (uint32_t)regs->dx;
		ret[3] = (uint32_t)regs->si;
		ret[4] = (uint32_t)regs->di;
		return;
	}
	ret[0] = regs->di;
	ret[1] = regs->si;
	ret[2] = regs->dx;
	ret[3] = regs->r10;
	ret[4] = regs->r8;
}

/* Return: false: the kernel will not have them either. */
static __always_inline bool unmap_old_args(uint64_t *args)
{
	uint32_t v[4], i;

	if (bpf_probe_read_user(v, sizeof(v), (void *)args[0]))
		return false;
#pragma unroll
	for (i = 0; i < 4; i++)
		args[i] = v[i];
	return true;
}

/* again: in the second program, which does what is left to do. Global, for the
 * verifier. */
__noinline int seam_unmapped(struct task_struct *task ARG_TRUSTED,
			     uint64_t start, uint64_t end, bool again)
{
	struct spans *s = spans_of(task);
	bool is_told;

	if (start >= end || !s || !spans_meet(s, start, end))
		return 0;
	/* Which the first program may have done, and then it is counted. */
	if (again && spans_are_untold(s, start, end)) {
		spans_untold(task, start, end);
		return 0;
	}
	/* First the record: who asks by a new key comes after it. */
	is_told = copies_tell(task, SEAM_WIRE_JIT_UNMAPPED, start, end, 0);
	if (!is_told) {
		count(SEAM_COUNT_LOST_MADE);
		spans_untold(task, start, end);
	}
	made_note(task, false);
	if (is_told)
		spans_cut(s, start, end);
	return 0;
}

static __always_inline void unmap_enter(struct task_struct *task,
					const struct pt_regs___kernel *regs,
					uint64_t nr, bool again)
{
	bool is_32 = is_32bit_call(task);
	enum seam_unmap_call call = seam_unmap_call(nr, is_32);
	struct seam_unmapped gone;
	uint64_t args[5];

	if (call == SEAM_UNMAP_NONE || !spans_of(task))
		return;
	unmap_args(regs, is_32, args);
	if (call == SEAM_UNMAP_OLD_MMAP) {
		if (!unmap_old_args(args))
			return;
		call = SEAM_UNMAP_MMAP;
	}
	gone = seam_unmap(call, args);
	seam_unmapped(task, gone.start, gone.end, again);
	seam_unmapped(task, gone.start2, gone.end2, again);
}

/* By all numbers: that takes nothing but the number. */
static __always_inline bool may_unmap(uint64_t nr)
{
	return seam_unmap_call(nr, false) != SEAM_UNMAP_NONE ||
	       seam_unmap_call(nr, true) != SEAM_UNMAP_NONE;
}

/*
 * Attached when there is made code, and no sooner: while they are, every system
 * call of every task takes its kernel's longer way. The second is there where
 * the first may be left out (again.h), and finds nothing to do where it was
 * not; but where spans are not known for sure it says the same again.
 */
SEC("tp_btf/sys_enter")
int BPF_PROG(seam_unmap_enter, struct pt_regs___kernel *regs, long nr)
{
	if (may_unmap(nr))
		unmap_enter(bpf_get_current_task_btf(), regs, nr, false);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(seam_unmap_again, struct pt_regs___kernel *regs, long nr)
{
	if (may_unmap(nr))
		unmap_enter(bpf_get_current_task_btf(), regs, nr, true);
	return 0;
}

#endif
