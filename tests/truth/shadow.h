/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What is true of a program's stack, from nothing but the instructions that
 * it ran: each call leaves a return address at a place, and it is there until
 * SP has gone past it. Tables and CFI have no part in it.
 *
 * A tail call, a jump through the PLT or ld.so's resolver change nothing
 * here: the return address stays where it is. longjmp, an exception, `ret N`
 * all take SP past what they leave. A stack of its own (a coroutine's, a
 * signal's) has its own places. The instruction that loads SP with something
 * else's stack is the switch; where that is an unknown one, the truth of it
 * is not known until something returns into it or jumps out of the switch.
 */
#ifndef SEAM_TESTS_TRUTH_SHADOW_H
#define SEAM_TESTS_TRUTH_SHADOW_H

#include "truth/insn.h"
#include "truth/stepper.h"

/* The registers that a call gives back. */
struct seam_saved {
	uint64_t rbx, rbp, r12, r13, r14, r15;
};

struct seam_shadow_frame { /* a caller: what a step must lead to */
	uint64_t ip; /* the return address, or where a signal came */
	uint64_t sp; /* as it is when that goes on */
	uint64_t slot; /* where the return address lies; of a signal: SP */
	struct seam_saved saved;
	bool signal; /* interrupted; ip is about to run */
	bool lifted; /* popped into a register, not yet returned */
};

struct seam_shadow_stack {
	uint64_t low, high; /* SP has been in [low, high] */
	struct seam_shadow_frame *v; /* outermost first */
	size_t n, cap;
	struct seam_shadow_stack *below; /* a signal's stack: who was on */
	struct seam_shadow_stack *next; /* of all */
	bool settled;
};

struct seam_shadow {
	const struct seam_stepper *stepper;
	struct seam_shadow_stack *current, *all;
	bool had_signal;
	uint64_t calls, returns, signals, switches, unwound, lifts;
	uint64_t to_elsewhere; /* returns to another address than the call's */
};

/* Forgets all: a program is at its first instruction. */
int seam_shadow_reset(struct seam_shadow *s,
		      const struct seam_stepper *stepper);
void seam_shadow_fini(struct seam_shadow *s);

/* An instruction ran. before: the registers before it. Return: 0; -ENOMEM;
 * -EPROTO: what happened is not understood. */
int seam_shadow_step(struct seam_shadow *s, const struct seam_insn_about *insn,
		     const struct user_regs_struct *before);
/* A handler is at its first instruction. */
int seam_shadow_signal(struct seam_shadow *s);

/* Iterates over all callers, innermost first. */
struct seam_shadow_iter {
	const struct seam_shadow_stack *stack;
	size_t left;
};
struct seam_shadow_iter seam_shadow_begin(const struct seam_shadow *s);
/* Return: NULL behind the outermost. */
const struct seam_shadow_frame *seam_shadow_next(struct seam_shadow_iter *it);

#endif
