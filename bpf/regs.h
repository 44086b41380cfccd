/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The user's registers at an event, and what they alone do not say. */
#ifndef SEAM_BPF_REGS_H
#define SEAM_BPF_REGS_H

#include "bpf/maps.h"
#include "core/signal-part.h"

/* user regs, or those saved at entry: bpf_task_pt_regs of current. */
static __always_inline void regs_save(uint64_t *to,
				      const struct pt_regs___kernel *regs)
{
	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[6] = regs->bp;
	to[7] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
	to[16] = regs->ip;
}

static __always_inline bool regs_moved(const uint64_t *saved,
				       const struct pt_regs___kernel *regs)
{
	return saved[SEAM_AMD64_REG_IP] != regs->ip ||
	       saved[SEAM_AMD64_REG_SP] != regs->sp;
}

/* What a signal wrote lately is there. */
static __always_inline bool seam_signal_env_pair(struct seam_signal_env *env,
						 uint64_t at,
						 struct seam_signal_pair *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret),
				    (void *)(at + SEAM_SIGNAL_PAIR));
}

/* Puts right registers that moved while the event looked. Global, so that the
 * verifier walks it once. */
__noinline int seam_regs_part(struct task_state *state ARG_NONNULL,
			      struct task_struct *task ARG_TRUSTED)
{
	const struct pt_regs___kernel *regs =
		(const struct pt_regs___kernel *)bpf_task_pt_regs(task);
	struct seam_signal_pair event = {state->regs[SEAM_AMD64_REG_SP],
					 state->regs[SEAM_AMD64_REG_IP]};
	struct seam_signal_pair now = {regs->sp, regs->ip};

	/* 32-bit code has other frames. */
	if (!(state->regs_flags & REGS_32BIT) &&
	    seam_signal_part(NULL, &event, now)) {
		state->regs[SEAM_AMD64_REG_SP] = event.sp;
		state->regs[SEAM_AMD64_REG_IP] = event.ip;
	}
	return 0;
}

#define NR_NONE (~0UL)
#define NR_RT_SIGRETURN 15
#define NR_32_SIGRETURN 119
#define NR_32_RT_SIGRETURN 173
#define ENOSYS_32 (-38)
#define NR_CLONE 56
#define NR_CLONE3 435
#define CLONE_ARGS_STACK 40 /* its place in struct clone_args */

#define INSN_SYSCALL 0x050f /* 0f 05 */
#define INSN_INT_80 0x80cd /* cd 80 */
#define INSN_INT3 0xcc

/*
 * A system call leaves the ip in rcx and the flags in r11, also for the first
 * instruction behind it. But a function may have been called through rcx with
 * the flags that an earlier system call left in r11: qsort's comparison is, at
 * its first instruction, once in some 1,500 samples.
 */
static __always_inline bool
is_behind_syscall(const struct pt_regs___kernel *regs)
{
	uint16_t insn;

	if (regs->cx != regs->ip || regs->r11 != regs->flags)
		return false;
	return bpf_probe_read_user(&insn, sizeof(insn),
				   (void *)(regs->ip - sizeof(insn))) ||
	       insn == INSN_SYSCALL;
}

/* Of 64-bit code too, which leaves no trace in registers. Other entries have
 * -1 for the call's number; that is not asked of an event in user mode. */
static __always_inline bool is_behind_int80(const struct pt_regs___kernel *regs)
{
	uint16_t insn;

	return regs->orig_ax != NR_NONE && regs->cs != USER32_CS &&
	       !bpf_probe_read_user(&insn, sizeof(insn),
				    (void *)(regs->ip - sizeof(insn))) &&
	       insn == INSN_INT_80;
}

/* Whether a child that has not run yet has a stack of its own. A thread has;
 * a process may, or goes on on its parent's or a copy of it. */
static __always_inline bool has_new_stack(const struct pt_regs___kernel *regs,
					  struct task_struct *task)
{
	uint64_t stack = 0;

	if (regs->orig_ax != NR_CLONE && regs->orig_ax != NR_CLONE3)
		return false;
	if (task->pid != task->tgid)
		return true;
	if (regs->orig_ax == NR_CLONE)
		return regs->si;
	return !bpf_probe_read_user(&stack, sizeof(stack),
				    (void *)(regs->di + CLONE_ARGS_STACK)) &&
	       stack;
}

#define TRAP_BREAKPOINT 3

/* A breakpoint stands in the place of an instruction that has not run yet:
 * the registers are of that. A tracer may take it away again. The trap's number
 * stays, and functions may be padded with such bytes: both are asked. */
static __always_inline bool
is_behind_breakpoint(const struct pt_regs___kernel *regs,
		     const struct task_struct *task)
{
	uint8_t insn;

	return task->thread.trap_nr == TRAP_BREAKPOINT &&
	       !bpf_probe_read_user(&insn, sizeof(insn),
				    (void *)(regs->ip - sizeof(insn))) &&
	       insn == INSN_INT3;
}

/*
 * What an event in the kernel finds with -1 for its number, as interrupts have
 * from the beginning. rt_sigreturn replaces the registers one by one, and its
 * own number by -1 among them; a signal's frame may be half set up, or a fault
 * be one that the kernel answers by other registers. What is made of them is
 * there at the return. But so is what a tracer puts there for its own ends.
 */
static __always_inline void judge_no_call(struct task_state *state,
					  const struct pt_regs___kernel *regs,
					  struct task_struct *task)
{
	state->regs_flags |= REGS_NO_CALL;
	if (!task->ptrace)
		return;
	state->regs_flags |= REGS_TRACED;
	if (is_behind_breakpoint(regs, task))
		state->regs_flags |= REGS_SYSCALL;
}

/* Whether the event's registers are to be replaced by those at the return. */
static __always_inline bool regs_replaced(const struct task_state *state,
					  struct task_struct *task)
{
	if (state->regs_flags & REGS_FLUX)
		return true;
	/* A tracer may have come since. */
	return state->regs_flags & REGS_NO_CALL &&
	       !(state->regs_flags & REGS_TRACED) && !task->ptrace;
}

/* Whether the call is one that puts back what a signal interrupted. */
static __always_inline bool is_sigreturn(const struct pt_regs___kernel *regs,
					 const struct task_struct *task)
{
	if (regs->cs == USER32_CS || is_32bit_call(task))
		return regs->orig_ax == NR_32_SIGRETURN ||
		       regs->orig_ax == NR_32_RT_SIGRETURN;
	return regs->orig_ax == NR_RT_SIGRETURN;
}

/* Whether it has begun to. 64-bit code came with the ip in rcx; of 32-bit code
 * it is seen by ax, which says until then that no result is there. */
static __always_inline bool sigreturn_begun(const struct pt_regs___kernel *regs)
{
	if (regs->cs == USER32_CS)
		return (int32_t)regs->ax != ENOSYS_32;
	return regs->cx != regs->ip;
}

/* Those of a task that sleeps, which were not saved yet at the event. Its
 * memory is not the current task's, and is not asked: what sleeps with a call's
 * number is behind the call. */
static __always_inline void regs_find_late(struct task_state *state,
					   struct task_struct *task)
{
	const struct pt_regs___kernel *regs =
		(const struct pt_regs___kernel *)bpf_task_pt_regs(task);

	regs_save(state->regs, regs);
	state->regs_flags = 0;
	if (regs->cs == USER32_CS)
		state->regs_flags |= REGS_32BIT;
	if (regs->orig_ax != NR_NONE)
		state->regs_flags |= REGS_SYSCALL;
}

/* What the registers alone do not say. */
static __always_inline void regs_judge(struct task_state *state,
				       const struct pt_regs___kernel *regs,
				       struct task_struct *task, bool in_user)
{
	bool syscall = is_behind_syscall(regs);

	state->regs_flags &= ~(REGS_FLUX | REGS_CLONED | REGS_SYSCALL |
			       REGS_SIGRETURN | REGS_32BIT | REGS_NO_CALL |
			       REGS_TRACED | REGS_MOVED | REGS_LACKED);
	if (regs->cs == USER32_CS)
		state->regs_flags |= REGS_32BIT;
	/* Who runs with a 0 may be clone's child, whose first instructions
	 * have no rule that is also the parent's. */
	if (syscall ? !in_user || regs->ax : !in_user && is_behind_int80(regs))
		state->regs_flags |= REGS_SYSCALL;
	if (!in_user && regs->orig_ax == NR_NONE)
		judge_no_call(state, regs, task);
	else if (!in_user && is_sigreturn(regs, task))
		state->regs_flags |=
			sigreturn_begun(regs) ? REGS_FLUX : REGS_SIGRETURN;
	if (syscall && !regs->ax && has_new_stack(regs, task))
		state->regs_flags |= REGS_CLONED;
}

#endif
