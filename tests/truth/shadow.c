// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "truth/shadow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* No frame is larger, unless it is of another stack. */
#define SAME_STACK (8 << 20)
/* A signal's frame lies below what it interrupts, by the red zone and the
 * processor's extended state. */
#define SIGNAL_FRAME_MAX 65536

static struct seam_shadow_stack *add_stack(struct seam_shadow *s, uint64_t sp)
{
	struct seam_shadow_stack *stack = calloc(1, sizeof(*stack));

	if (!stack)
		return NULL;
	stack->low = stack->high = sp;
	stack->next = s->all;
	s->all = stack;
	return stack;
}

static void remove_stack(struct seam_shadow *s, struct seam_shadow_stack *stack)
{
	struct seam_shadow_stack **at = &s->all;

	while (*at != stack)
		at = &(*at)->next;
	*at = stack->next;
	free(stack->v);
	free(stack);
}

void seam_shadow_fini(struct seam_shadow *s)
{
	while (s->all)
		remove_stack(s, s->all);
	s->current = NULL;
}

int seam_shadow_reset(struct seam_shadow *s, const struct seam_stepper *stepper)
{
	seam_shadow_fini(s);
	s->stepper = stepper;
	s->current = add_stack(s, stepper->regs.rsp);
	if (!s->current)
		return -ENOMEM;
	s->current->settled = true;
	return 0;
}

static int push(struct seam_shadow_stack *stack,
		const struct seam_shadow_frame *frame)
{
	if (stack->n == stack->cap) {
		size_t cap = stack->cap ? 2 * stack->cap : 64;
		void *v = realloc(stack->v, cap * sizeof(*stack->v));

		if (!v)
			return -ENOMEM;
		stack->v = v;
		stack->cap = cap;
	}
	stack->v[stack->n++] = *frame;
	return 0;
}

static struct seam_shadow_frame *top(struct seam_shadow *s)
{
	return s->current->n ? &s->current->v[s->current->n - 1] : NULL;
}

static struct seam_saved saved_of(const struct user_regs_struct *r)
{
	return (struct seam_saved){r->rbx, r->rbp, r->r12,
				   r->r13, r->r14, r->r15};
}

/* Drops what SP has gone past. */
static void drop(struct seam_shadow *s, uint64_t sp)
{
	struct seam_shadow_frame *f;

	while ((f = top(s)) && f->slot < sp &&
	       !(f->lifted && sp == f->slot + 8)) {
		s->current->n--;
		s->unwound++;
	}
}

static bool contains(const struct seam_shadow_stack *stack, uint64_t sp)
{
	return sp >= stack->low && sp <= stack->high;
}

/* A stack that a signal came on is left for good by going below it. */
static void leave_signals(struct seam_shadow *s,
			  const struct seam_shadow_stack *to)
{
	struct seam_shadow_stack *on = s->current;

	while (on && on != to)
		on = on->below;
	if (!on)
		return;
	while (s->current != to) {
		on = s->current;
		s->current = on->below;
		remove_stack(s, on);
	}
}

/* SP was loaded. Which stack is it on? */
static int switch_to(struct seam_shadow *s, uint64_t from, bool from_memory)
{
	uint64_t sp = s->stepper->regs.rsp;
	struct seam_shadow_stack *to = s->current;

	if (contains(to, sp))
		return 0;
	for (to = s->all; to && !contains(to, sp); to = to->next)
		;
	if (!to && !from_memory && from - sp < SAME_STACK)
		return 0;
	s->switches++;
	leave_signals(s, to);
	if (!to)
		to = add_stack(s, sp);
	if (!to)
		return -ENOMEM;
	s->current = to;
	return 0;
}

/* Whether an address is behind a call: then it is where one returns to, and
 * else, if it is jumped to from another stack, where a function begins. */
static bool is_behind_call(const struct seam_shadow *s, uint64_t ip)
{
	uint8_t b[7];

	if (seam_stepper_read(s->stepper, ip - sizeof(b), b, sizeof(b)) !=
	    sizeof(b))
		return false;
	if (b[2] == 0xe8)
		return true;
	for (size_t i = 0; i + 2 <= sizeof(b); i++)
		if (b[i] == 0xff && (b[i + 1] & 0x38) == 0x10)
			return true;
	return false;
}

/*
 * The first return or jump on a stack nobody has been on. At a function's
 * first instruction a return address lies at SP, even if no call wrote it.
 */
static int settle(struct seam_shadow *s)
{
	const struct user_regs_struct *r = &s->stepper->regs;
	struct seam_shadow_frame base = {
		.slot = r->rsp,
		.sp = r->rsp + 8,
		.saved = saved_of(r),
	};

	s->current->settled = true;
	if (r->rsp > s->current->high)
		s->current->high = r->rsp;
	if (s->current->n || is_behind_call(s, r->rip))
		return 0;
	if (!seam_stepper_word(s->stepper, r->rsp, &base.ip))
		return -EPROTO;
	return push(s->current, &base);
}

static int call(struct seam_shadow *s, const struct seam_insn_about *insn,
		const struct user_regs_struct *before)
{
	const struct user_regs_struct *r = &s->stepper->regs;
	struct seam_shadow_frame frame = {
		.ip = before->rip + insn->len,
		.sp = before->rsp,
		.slot = r->rsp,
		.saved = saved_of(before),
	};

	if (r->rsp != before->rsp - 8)
		return -EPROTO;
	/* Only to learn where it is. */
	if (r->rip == frame.ip)
		return 0;
	drop(s, before->rsp);
	/* What was lifted and is now overwritten will not be returned to. */
	if (top(s) && top(s)->slot == r->rsp)
		s->current->n--;
	s->calls++;
	return push(s->current, &frame);
}

static void returned(struct seam_shadow *s,
		     const struct user_regs_struct *before)
{
	struct seam_shadow_frame *f = top(s);

	if (!f || f->slot != before->rsp || f->signal)
		return;
	s->returns++;
	s->to_elsewhere += f->ip != s->stepper->regs.rip;
	s->current->n--;
}

/* The kernel put back what a signal interrupted. */
static int sigreturn(struct seam_shadow *s)
{
	const struct user_regs_struct *r = &s->stepper->regs;
	struct seam_shadow_frame *f = top(s);
	struct seam_shadow_stack *on = s->current;

	if (!f || !f->signal || f->ip != r->rip || f->sp != r->rsp)
		return -EPROTO;
	on->n--;
	if (!on->n && on->below) {
		s->current = on->below;
		remove_stack(s, on);
	}
	return 0;
}

/* SP was loaded with the place of a return address: it is about to be used,
 * and is what is there now. So exceptions go to their landing pads. */
static int replaced(struct seam_shadow *s)
{
	struct seam_shadow_frame *f = top(s);
	uint64_t ip;

	if (!f || f->signal || f->slot != s->stepper->regs.rsp)
		return 0;
	if (!seam_stepper_word(s->stepper, f->slot, &ip))
		return -EPROTO;
	s->to_elsewhere += ip != f->ip;
	f->ip = ip;
	return 0;
}

static int moved(struct seam_shadow *s, const struct seam_insn_about *insn,
		 const struct user_regs_struct *before)
{
	const struct user_regs_struct *r = &s->stepper->regs;
	struct seam_shadow_frame *f = top(s);
	int err;

	switch (insn->kind) {
	case SEAM_INSN_RET:
		returned(s, before);
		break;
	case SEAM_INSN_POP:
		if (f && f->slot == before->rsp && !f->signal) {
			f->lifted = true;
			s->lifts++;
		}
		break;
	case SEAM_INSN_PUSH:
		if (f && f->lifted && f->slot == r->rsp)
			f->lifted = false;
		break;
	case SEAM_INSN_SWITCH:
	case SEAM_INSN_SWITCH_MEM:
		err = switch_to(s, before->rsp,
				insn->kind == SEAM_INSN_SWITCH_MEM);
		if (err)
			return err;
		drop(s, r->rsp);
		return replaced(s);
	}
	drop(s, r->rsp);
	return 0;
}

/* What sigreturn will put back, from the ucontext at uc. */
static int interrupted(const struct seam_stepper *stepper, uint64_t uc,
		       struct seam_shadow_frame *ret)
{
	gregset_t g;
	uint64_t at = uc + offsetof(ucontext_t, uc_mcontext.gregs);

	if (seam_stepper_read(stepper, at, g, sizeof(g)) != sizeof(g))
		return -EPROTO;
	*ret = (struct seam_shadow_frame){
		.ip = (uint64_t)g[REG_RIP],
		.sp = (uint64_t)g[REG_RSP],
		.slot = uc,
		.saved = {(uint64_t)g[REG_RBX], (uint64_t)g[REG_RBP],
			  (uint64_t)g[REG_R12], (uint64_t)g[REG_R13],
			  (uint64_t)g[REG_R14], (uint64_t)g[REG_R15]},
		.signal = true,
	};
	return 0;
}

/* A handler may change where it returns to: the innermost signal's. */
static int refresh(struct seam_shadow *s)
{
	for (size_t i = s->current->n; i--;)
		if (s->current->v[i].signal)
			return interrupted(s->stepper, s->current->v[i].slot,
					   &s->current->v[i]);
	return 0;
}

int seam_shadow_step(struct seam_shadow *s, const struct seam_insn_about *insn,
		     const struct user_regs_struct *before)
{
	const struct user_regs_struct *r = &s->stepper->regs;
	struct seam_shadow_frame *f;
	int err = 0;

	if (insn->kind == SEAM_INSN_CALL)
		err = call(s, insn, before);
	else if (insn->kind == SEAM_INSN_SYSCALL)
		err = before->rax == SYS_rt_sigreturn ? sigreturn(s) : 0;
	else if (r->rsp != before->rsp)
		err = moved(s, insn, before);
	f = top(s);
	/* What was popped is what is jumped to: a return. */
	if (f && f->lifted && insn->kind == SEAM_INSN_JUMP)
		s->current->n--;
	if (!err && !s->current->settled &&
	    (insn->kind == SEAM_INSN_RET || insn->kind == SEAM_INSN_JUMP))
		err = settle(s);
	if (r->rsp < s->current->low)
		s->current->low = r->rsp;
	if (!err && s->had_signal)
		err = refresh(s);
	return err;
}

int seam_shadow_signal(struct seam_shadow *s)
{
	const struct user_regs_struct *r = &s->stepper->regs;
	struct seam_shadow_frame frame, handler;
	struct seam_shadow_stack *on = s->current;
	/* The address to return to, then a ucontext. */
	int err = interrupted(s->stepper, r->rsp + 8, &frame);

	if (err)
		return err;
	s->signals++;
	s->had_signal = true;
	if (frame.sp - r->rsp > SIGNAL_FRAME_MAX) {
		on = add_stack(s, r->rsp);
		if (!on)
			return -ENOMEM;
		on->high = frame.slot;
		on->settled = true;
		on->below = s->current;
		s->current = on;
	}
	handler = (struct seam_shadow_frame){
		.slot = r->rsp,
		.sp = r->rsp + 8,
		.saved = frame.saved,
	};
	if (!seam_stepper_word(s->stepper, r->rsp, &handler.ip))
		return -EPROTO;
	if (r->rsp < on->low)
		on->low = r->rsp;
	err = push(on, &frame);
	return err ? err : push(on, &handler);
}

struct seam_shadow_iter seam_shadow_begin(const struct seam_shadow *s)
{
	return (struct seam_shadow_iter){s->current, s->current->n};
}

const struct seam_shadow_frame *seam_shadow_next(struct seam_shadow_iter *it)
{
	while (!it->left && it->stack->below) {
		it->stack = it->stack->below;
		it->left = it->stack->n;
	}
	return it->left ? &it->stack->v[--it->left] : NULL;
}
