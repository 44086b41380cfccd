/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Stacks of programs with uprobes, whoever's they are. A probed instruction
 * runs in a slot of the kernel's [uprobes] page, and a function whose return
 * is probed returns there, to the page's first slot. The kernel remembers what
 * was meant. Nothing here runs before a stack has ended for want of a table.
 */
#ifndef SEAM_BPF_PROBED_H
#define SEAM_BPF_PROBED_H

#include "bpf/memory.h"

#define XOL_SLOT 128 /* UPROBE_XOL_SLOT_BYTES */
#define XOL_PAGE 4096
#define LONGEST_INSN 15
#define MAX_RETURNS 64 /* MAX_URETPROBE_DEPTH */

/*
 * Where returns are caught by a system call (Linux 6.11), that slot has: push
 * rax, rcx and r11; mov; syscall at 11; pop r11 and rcx; ret at 16. The kernel
 * puts the true return address where rax was.
 */
#define RETURN_SYSCALL_END 13
#define RETURN_POP_CX 15
#define RETURN_RET 16
#define RETURN_PUSHED 24

/* The page's address; 0: no probe has been met in this memory. */
static __always_inline uint64_t probed_page(struct task_struct *task)
{
	uint64_t mm = mm_of(task), area;

	if (!mm ||
	    !bpf_core_field_exists(struct mm_struct, uprobes_state.xol_area))
		return 0;
	area = ADDRESS(struct mm_struct, mm, uprobes_state.xol_area);
	return area ? VIEW(struct xol_area, area)->vaddr : 0;
}

static __always_inline uint64_t probed_utask(struct task_struct *task)
{
	return ADDRESS(struct task_struct, (uint64_t)task, utask);
}

/* Finds the return that was caught at one of the words from stack to last, the
 * latest such. Return: its struct return_instance, or 0. */
static __always_inline uint64_t probed_return(uint64_t utask, uint64_t stack,
					      uint64_t last)
{
	uint64_t ri = ADDRESS(struct uprobe_task, utask, return_instances);
	uint32_t i;

	for (i = seam_zero; i < MAX_RETURNS && ri; i++) {
		uint64_t at = VIEW(struct return_instance, ri)->stack;

		SEAM_LOOP_GUARD;
		if (at >= stack && at <= last)
			return ri;
		ri = ADDRESS(struct return_instance, ri, next);
	}
	return 0;
}

/* Of a task that runs in the first slot: as if the function had returned. */
static __always_inline bool probed_at_return(struct scratch *s, uint64_t utask,
					     uint64_t off)
{
	uint64_t sp = s->cursor.sp, from = sp - 8, ip = 0;
	uint64_t ri = probed_return(utask, from, from + RETURN_PUSHED);

	if (ri) {
		ip = VIEW(struct return_instance, ri)->orig_ret_vaddr;
		sp = VIEW(struct return_instance, ri)->stack;
	} else {
		if (off == RETURN_SYSCALL_END)
			sp += 16;
		else if (off == RETURN_POP_CX)
			sp += 8;
		else if (off != RETURN_RET)
			return false;
		if (bpf_probe_read_user(&ip, sizeof(ip), (void *)sp))
			return false;
	}
	s->cursor.ip = ip;
	s->cursor.sp = sp + 8;
	s->cursor.exact = false; /* it is behind a call */
	return true;
}

/* Of a task that runs a probed instruction in its slot. */
static __always_inline bool probed_at_slot(struct scratch *s, uint64_t utask)
{
	const struct uprobe_task *u = VIEW(struct uprobe_task, utask);
	uint64_t off = s->cursor.ip - u->xol_vaddr;

	if (!ADDRESS(struct uprobe_task, utask, active_uprobe) ||
	    off > LONGEST_INSN)
		return false;
	s->cursor.ip = u->vaddr + off;
	return true;
}

/* Takes the cursor to where it would be without probes. Return: false: it is
 * not in the page, or nobody knows. */
__noinline int seam_probed(struct scratch *s ARG_NONNULL,
			   struct task_state *state ARG_NONNULL,
			   struct task_struct *task ARG_TRUSTED)
{
	uint64_t page = probed_page(task), off = s->cursor.ip - page, utask, ri;
	bool found = false;

	if (!page || off >= XOL_PAGE)
		return false;
	utask = probed_utask(task);
	if (!utask)
		return false;
	if (s->cursor.leaf || s->cursor.exact) {
		found = off < XOL_SLOT ? probed_at_return(s, utask, off)
				       : probed_at_slot(s, utask);
	} else if (!off) {
		/* The return address lay right below the caller's sp. */
		ri = probed_return(utask, s->cursor.sp - 8, s->cursor.sp - 8);
		if (ri)
			s->cursor.ip = VIEW(struct return_instance, ri)
					       ->orig_ret_vaddr;
		found = ri;
	}
	/* A copy is unwound by these. */
	if (found && !s->nr) {
		state->regs[SEAM_AMD64_REG_IP] = s->cursor.ip;
		state->regs[SEAM_AMD64_REG_SP] = s->cursor.sp;
		if (!s->cursor.exact)
			state->regs_flags |= REGS_SYSCALL;
	}
	return found && s->cursor.ip - page >= XOL_PAGE;
}

/* Puts the true return addresses into a copy of the stack from that address
 * on, s->nr bytes. */
__noinline int seam_probed_copy(struct scratch *s ARG_NONNULL,
				struct task_struct *task ARG_TRUSTED,
				uint64_t from)
{
	uint64_t page = probed_page(task), utask, ri;
	uint32_t i;

	utask = page ? probed_utask(task) : 0;
	if (!utask)
		return 0;
	ri = ADDRESS(struct uprobe_task, utask, return_instances);
	for (i = seam_zero; i < MAX_RETURNS && ri; i++) {
		const struct return_instance *r =
			VIEW(struct return_instance, ri);
		uint64_t off = r->stack - from;

		SEAM_LOOP_GUARD;
		asm volatile("" : "+r"(off));
		if (off <= SEAM_MAX_COPY - 8 && off + 8 <= s->nr &&
		    *(uint64_t *)(s->bytes + off) == page)
			*(uint64_t *)(s->bytes + off) = r->orig_ret_vaddr;
		ri = ADDRESS(struct return_instance, ri, next);
	}
	return 0;
}

#endif
