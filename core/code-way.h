/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The way out of a function: its code from an address on, followed to where
 * it returns, with the whereabouts of rsp and rbp. So a frame of code that no
 * table describes gets a rule: whether the frame pointer is set up there,
 * not yet, not any more, or never is.
 *
 *	seam_way_begin(&way, ip, is_32, exact);
 *	while (!way.done)
 *		seam_way_next(&way, the 16 bytes at way.ip);
 *	if (way.done == SEAM_WAY_RETURNS)
 *		seam_way_rule(&way, &rule);
 *
 * Branches are not taken, but for the last one before code that leads
 * nowhere. What is not understood ends the way without a rule: callers then
 * have the frame pointer alone. All is relative to rsp and rbp at the start.
 */
#ifndef SEAM_CORE_CODE_WAY_H
#define SEAM_CORE_CODE_WAY_H

#include "core/arch.h"
#include "core/rule.h"
#include "core/way-state.h"
#include "core/x86-insn.h"

#define SEAM_WAY_MAX_INSNS 160

/* 81 and 83: add, or, adc, sbb, and, sub, xor, cmp */
SEAM_INLINE void seam_way_group1(struct seam_way *w, const struct seam_x86 *x)
{
	uint8_t which = x->modrm >> 3 & 7, rm = seam_way_rm(x);

	if (!seam_way_is_reg(x) || which == 7)
		return;
	if (rm == SEAM_WAY_RSP && seam_way_is_wide(w, x) && which == 0)
		seam_way_raise_sp(w, x->imm);
	else if (rm == SEAM_WAY_RSP && seam_way_is_wide(w, x) && which == 5)
		/* As a word: the lowest has no negative. */
		seam_way_raise_sp(w, (int32_t)(0 - (uint32_t)x->imm));
	else
		seam_way_lose(w, rm);
}

SEAM_INLINE void seam_way_jump(struct seam_way *w, const struct seam_x86 *x)
{
	w->at.ip += (int64_t)x->imm;
	if (w->is_32)
		w->at.ip = (uint32_t)w->at.ip;
}

/* A conditional jump is not taken; where it leads forward, perhaps later. */
SEAM_INLINE void seam_way_branch(struct seam_way *w, const struct seam_x86 *x)
{
	if (x->imm < 0)
		return;
	w->branch = w->at;
	w->branch.ip += (int64_t)x->imm;
	w->has_branch = true;
}

/* FE and FF: inc, dec, call, call far, jmp, jmp far, push */
SEAM_INLINE void seam_way_group5(struct seam_way *w, const struct seam_x86 *x)
{
	uint8_t which = x->modrm >> 3 & 7;

	if (which < 2 && seam_way_is_reg(x))
		seam_way_lose(w, seam_way_rm(x));
	else if (which == 6)
		seam_way_push(w, SEAM_WAY_RAX);
	else if (which == 4)
		seam_way_dead(w, SEAM_WAY_LOST);
	else if (which == 3 || which == 5 || which == 7)
		w->done = SEAM_WAY_LOST;
}

#define SEAM_NR_EXIT 60
#define SEAM_NR_EXIT_GROUP 231
#define SEAM_NR_EXIT_32 1
#define SEAM_NR_EXIT_GROUP_32 252

SEAM_INLINE void seam_way_syscall(struct seam_way *w, uint8_t ax)
{
	if (w->is_32 ? ax == SEAM_NR_EXIT_32 || ax == SEAM_NR_EXIT_GROUP_32
		     : ax == SEAM_NR_EXIT || ax == SEAM_NR_EXIT_GROUP)
		seam_way_dead(w, SEAM_WAY_EXITS);
}

/* Opcodes 0F xx. */
SEAM_INLINE void seam_way_0f(struct seam_way *w, const struct seam_x86 *x,
			     uint8_t ax)
{
	uint8_t op = x->op;

	if (op == 0x05 || op == 0x34)
		seam_way_syscall(w, ax);
	else if (op == 0x0b || op == 0xb9 || op == 0xff) /* ud2, ud1, ud0 */
		seam_way_dead(w, SEAM_WAY_LOST);
	else if ((op & 0xf0) == 0x80)
		seam_way_branch(w, x);
	else if (op == 0xa0 || op == 0xa8)
		seam_way_push(w, SEAM_WAY_RAX);
	else if (op == 0xa1 || op == 0xa9)
		seam_way_pop(w, SEAM_WAY_RAX);
	else if ((op & 0xf0) == 0x40 || op == 0xaf || (op & 0xf6) == 0xb6 ||
		 (op & 0xfe) == 0xbc || op == 0xb8)
		seam_way_lose(w, seam_way_reg(x));
	else if ((op & 0xf8) == 0xc8)
		seam_way_lose(w, (uint8_t)((op & 7) | (x->rex & 1) << 3));
	else if ((op == 0xc1 || op == 0xb1 || op == 0xba || op == 0xab ||
		  op == 0xb3 || op == 0xbb || op == 0xa4 || op == 0xa5 ||
		  op == 0xac || op == 0xad) &&
		 seam_way_is_reg(x))
		seam_way_lose(w, seam_way_rm(x));
}

/* Opcodes 00 to 3F: arithmetic in six forms, of which the last two have no
 * register to choose; 38 to 3B compare. Bytes of registers are no concern. */
SEAM_INLINE void seam_way_arith(struct seam_way *w, const struct seam_x86 *x)
{
	uint8_t form = x->op & 7;

	if (x->op >= 0x38)
		return;
	if (form == 1 && seam_way_is_reg(x))
		seam_way_lose(w, seam_way_rm(x));
	else if (form == 3)
		seam_way_lose(w, seam_way_reg(x));
	/* push and pop of segment registers */
	else if (form == 6 && w->is_32)
		seam_way_push(w, SEAM_WAY_RAX);
	else if (form == 7 && w->is_32)
		seam_way_pop(w, SEAM_WAY_RAX);
}

/* Opcodes 40 to 7F. */
SEAM_INLINE void seam_way_middle(struct seam_way *w, const struct seam_x86 *x)
{
	uint8_t op = x->op, reg = (uint8_t)((op & 7) | (x->rex & 1) << 3);

	if (op < 0x50)
		seam_way_lose(w, reg); /* inc, dec */
	else if (op < 0x60 && x->is_16)
		w->done = SEAM_WAY_LOST;
	else if (op < 0x58)
		seam_way_push(w, reg);
	else if (op < 0x60)
		seam_way_pop(w, reg);
	else if (op == 0x60)
		seam_way_raise_sp(w, -32);
	else if (op == 0x61)
		seam_way_raise_sp(w, 32);
	else if (op == 0x68 || op == 0x6a)
		seam_way_push(w, SEAM_WAY_RAX);
	else if (op == 0x63 || op == 0x69 || op == 0x6b)
		seam_way_lose(w, seam_way_reg(x));
	else if (op >= 0x70)
		seam_way_branch(w, x);
}

/* Opcodes 80 to BF. */
SEAM_INLINE void seam_way_upper(struct seam_way *w, const struct seam_x86 *x)
{
	uint8_t op = x->op, reg = (uint8_t)((op & 7) | (x->rex & 1) << 3);

	if (op == 0x81 || op == 0x83) {
		seam_way_group1(w, x);
	} else if (op == 0x89 || op == 0x8b) {
		seam_way_mov(w, x);
	} else if (op == 0x8d) {
		seam_way_lea(w, x);
	} else if (op == 0x87 && seam_way_is_reg(x)) {
		seam_way_lose(w, seam_way_reg(x));
		seam_way_lose(w, seam_way_rm(x));
	} else if (op == 0x87) {
		seam_way_lose(w, seam_way_reg(x));
	} else if (op == 0x8f || op == 0x9d) {
		seam_way_pop(w, SEAM_WAY_RAX);
	} else if (op == 0x9c) {
		seam_way_push(w, SEAM_WAY_RAX);
	} else if ((op & 0xf8) == 0x90 || op >= 0xb8) {
		seam_way_lose(w, reg);
	}
	if (op == 0xb8 && !(x->rex & 1) && x->imm > 0 && x->imm < 256)
		w->ax = (uint8_t)x->imm;
}

/* Opcodes C0 to FF. */
SEAM_INLINE void seam_way_last(struct seam_way *w, const struct seam_x86 *x,
			       uint8_t ax)
{
	uint8_t op = x->op;

	if (op == 0xc3 || op == 0xc2) {
		w->done = SEAM_WAY_RETURNS;
		w->dropped = op == 0xc2 ? (uint16_t)x->imm : 0;
	} else if (op == 0xc9) {
		seam_way_sp_from_fp(w, 0);
		seam_way_pop(w, SEAM_WAY_RBP);
	} else if (op == 0xe8 && !x->imm) {
		seam_way_push(w, SEAM_WAY_RAX); /* to learn its own address */
	} else if (op == 0xe9 || op == 0xeb) {
		seam_way_jump(w, x);
	} else if ((op & 0xfc) == 0xe0) {
		seam_way_branch(w, x);
	} else if (op == 0xcc || op == 0xcf || op == 0xca || op == 0xcb ||
		   op == 0xc8) {
		seam_way_dead(w, SEAM_WAY_LOST);
	} else if (op == 0xf4) {
		seam_way_dead(w, SEAM_WAY_EXITS);
	} else if (op == 0xcd && (uint8_t)x->imm == 0x80) {
		seam_way_syscall(w, ax);
	} else if (op == 0xff) {
		seam_way_group5(w, x);
	} else if ((op == 0xc1 || op == 0xc7 || op == 0xd1 || op == 0xd3 ||
		    (op == 0xf7 && (x->modrm & 0x30) == 0x10)) &&
		   seam_way_is_reg(x)) {
		seam_way_lose(w, seam_way_rm(x));
		if (op == 0xc7 && !seam_way_rm(x) && x->imm > 0 && x->imm < 256)
			w->ax = (uint8_t)x->imm;
	}
}

/* Instructions that leave eax alone, between its constant and a system call. */
SEAM_INLINE bool seam_way_keeps_ax(const struct seam_x86 *x)
{
	return x->map == SEAM_X86_ONE &&
	       (((x->op == 0x31 || x->op == 0x89) && seam_way_is_reg(x) &&
		 seam_way_rm(x)) ||
		((x->op == 0x33 || x->op == 0x8b || x->op == 0x63) &&
		 seam_way_reg(x)) ||
		(x->op > 0xb8 && x->op <= 0xbf));
}

SEAM_INLINE bool seam_way_is_call(const struct seam_x86 *x)
{
	return x->map == SEAM_X86_ONE &&
	       (x->op == 0xe8 || (x->op == 0xff && (x->modrm & 0x38) == 0x10));
}

/*
 * What is never right behind a call that returns: padding, or a function's
 * first instruction: nop, endbr, a push of a register that calls keep.
 */
SEAM_INLINE bool seam_way_is_border(const struct seam_x86 *x)
{
	uint8_t reg = (uint8_t)((x->op & 7) | (x->rex & 1) << 3);

	if (x->map == SEAM_X86_0F)
		return x->op == 0x1e || x->op == 0x1f;
	if (x->map != SEAM_X86_ONE || x->is_vector)
		return false;
	return x->op == 0x90 ||
	       ((x->op & 0xf8) == 0x50 &&
		(reg == 3 || reg == SEAM_WAY_RBP || reg >= 12));
}

/* rbp, as it was at the start, is this function's frame pointer: what lies
 * below it is used. */
SEAM_INLINE bool seam_way_is_local(const struct seam_way *w,
				   const struct seam_x86 *x)
{
	return x->has_modrm && (x->modrm >> 6 == 1 || x->modrm >> 6 == 2) &&
	       (x->modrm & 7) == 5 && !(x->rex & 1) && x->disp < 0 &&
	       w->at.fp == SEAM_WAY_CALLERS;
}

/* What an instruction, decoded from w->at.ip, does. */
SEAM_INLINE void seam_way_do(struct seam_way *w, const struct seam_x86 *x)
{
	uint8_t ax = w->ax;

	if (!x->len || w->insns++ >= SEAM_WAY_MAX_INSNS) {
		w->done = SEAM_WAY_LOST;
		return;
	}
	if (w->called && seam_way_is_border(x)) {
		w->called = false;
		seam_way_dead(w, SEAM_WAY_LOST);
		return;
	}
	w->called = seam_way_is_call(x);
	if (seam_way_is_local(w, x))
		w->has_local = true;
	w->at.ip += x->len;
	if (!seam_way_keeps_ax(x))
		w->ax = 0;
	SEAM_FORGET;
	if (x->is_vector || x->map > SEAM_X86_0F)
		return;
	if (x->map == SEAM_X86_0F)
		seam_way_0f(w, x, ax);
	else if (x->op < 0x40)
		seam_way_arith(w, x);
	else if (x->op < 0x80)
		seam_way_middle(w, x);
	else if (x->op < 0xc0)
		seam_way_upper(w, x);
	else
		seam_way_last(w, x, ax);
}

/* One instruction, whose bytes are those at w->at.ip. */
SEAM_INLINE void seam_way_next(struct seam_way *w,
			       const struct seam_x86_bytes *bytes)
{
	struct seam_x86 x;

	seam_x86_decode(bytes, w->is_32, &x);
	seam_way_do(w, &x);
}

SEAM_INLINE uint8_t seam_way_dwarf(uint8_t base)
{
	return base == SEAM_WAY_SP ? SEAM_AMD64_REG_SP : SEAM_AMD64_REG_FP;
}

/* No register of this number has a value: what is in it is lost. */
#define SEAM_WAY_LOST_REG 255

/*
 * The rule that the way gives, once it RETURNS: in words of 8 or of 4 bytes.
 * Return: false if it has none.
 */
SEAM_INLINE bool seam_way_rule(const struct seam_way *w, struct seam_rule *ret)
{
	const struct seam_way_state *s = &w->at;

	if (s->base == SEAM_WAY_NOWHERE ||
	    (s->base == SEAM_WAY_SP && s->off < 0))
		return false;
	*ret = (struct seam_rule){0};
	ret->cfa.kind = SEAM_REG_OFF;
	ret->cfa.reg = seam_way_dwarf(s->base);
	ret->cfa.off = seam_way_sum(s->off, seam_way_word(w) + w->dropped);
	if (w->dropped) {
		ret->ra.kind = SEAM_CFA_DEREF;
		ret->ra.off = -seam_way_word(w) - w->dropped;
	}
	if (s->fp == SEAM_WAY_WORD) {
		ret->fp.kind = SEAM_REG_DEREF;
		ret->fp.reg = seam_way_dwarf(s->fp_base);
		ret->fp.off = s->fp_off;
	} else if (s->fp != SEAM_WAY_CALLERS) {
		ret->fp.kind = SEAM_REG_OFF;
		ret->fp.reg = SEAM_WAY_LOST_REG;
	}
	return true;
}

#endif
