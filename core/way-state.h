/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where rsp and rbp are on a way through code, and what the instructions do to
 * them that move, push, pop, store or load either. Which instruction that is,
 * code-way.h says; nothing here reads code or memory.
 */
#ifndef SEAM_CORE_WAY_STATE_H
#define SEAM_CORE_WAY_STATE_H

#include "core/x86-insn.h"

enum seam_way_done {
	SEAM_WAY_GOES_ON = 0,
	SEAM_WAY_RETURNS, /* or sets up its frame: there is a rule */
	SEAM_WAY_EXITS, /* ends thread or process: it does not return */
	SEAM_WAY_LOST,
};

enum seam_way_base { SEAM_WAY_SP, SEAM_WAY_FP, SEAM_WAY_NOWHERE };

/* What rbp holds. */
enum seam_way_fp {
	SEAM_WAY_CALLERS, /* what it held at the start */
	SEAM_WAY_WORD, /* the word at fp_base + fp_off */
	SEAM_WAY_STACK, /* fp_base + fp_off itself */
	SEAM_WAY_OTHER,
};

struct seam_way_state {
	uint64_t ip;
	int32_t off; /* rsp = base + off */
	int32_t fp_off;
	uint8_t base, fp_base; /* enum seam_way_base */
	uint8_t fp; /* enum seam_way_fp */
	/* A place that rbp was put into on the way, where something else lay at
	 * the start; and what it held. */
	bool is_saved;
	uint8_t saved_base, saved_fp, saved_fp_base;
	int32_t saved_off; /* from saved_base */
	int32_t saved_fp_off;
};

struct seam_way {
	struct seam_way_state at, branch; /* not taken yet, if has_branch */
	bool has_branch, is_32, exact;
	uint8_t done; /* enum seam_way_done */
	uint8_t is_set_up; /* the rule is of a frame about to be set up */
	uint8_t ax; /* a small constant in eax; 0: not known */
	bool called; /* the instruction before is a call */
	bool has_local; /* something lies below rbp, as it was at the start */
	uint16_t dropped; /* bytes behind its address that the return drops */
	uint16_t insns;
};

#define SEAM_WAY_RAX 0
#define SEAM_WAY_RSP 4
#define SEAM_WAY_RBP 5

/* exact: ip is about to run, and is no return address. */
SEAM_INLINE void seam_way_begin(struct seam_way *w, uint64_t ip, bool is_32,
				bool exact)
{
	*w = (struct seam_way){0};
	w->at.ip = ip;
	w->is_32 = is_32;
	w->exact = exact;
	w->called = !exact;
}

SEAM_INLINE int32_t seam_way_word(const struct seam_way *w)
{
	return w->is_32 ? 4 : 8;
}

/* Offsets are those of code that may be hostile: they wrap around, which is
 * undefined where they have a sign. */
SEAM_INLINE int32_t seam_way_sum(int32_t off, int32_t add)
{
	return (int32_t)((uint32_t)off + (uint32_t)add);
}

SEAM_INLINE void seam_way_raise_sp(struct seam_way *w, int32_t by)
{
	w->at.off = seam_way_sum(w->at.off, by);
}

/* This path leads nowhere: back to the last branch, once. */
SEAM_INLINE void seam_way_dead(struct seam_way *w, enum seam_way_done why)
{
	if (w->has_branch) {
		w->called = false;
		w->at = w->branch;
		w->has_branch = false;
		return;
	}
	w->done = (uint8_t)why;
}

/* Registers by their numbers in the instruction, REX included. */
SEAM_INLINE uint8_t seam_way_reg(const struct seam_x86 *x)
{
	return (uint8_t)((x->modrm >> 3 & 7) | (x->rex & 4) << 1);
}

SEAM_INLINE uint8_t seam_way_rm(const struct seam_x86 *x)
{
	return (uint8_t)((x->modrm & 7) | (x->rex & 1) << 3);
}

SEAM_INLINE bool seam_way_is_reg(const struct seam_x86 *x)
{
	return x->modrm >> 6 == 3;
}

/* The operand's size is that of an address. */
SEAM_INLINE bool seam_way_is_wide(const struct seam_way *w,
				  const struct seam_x86 *x)
{
	return w->is_32 ? !x->is_16 : x->rex & 8;
}

/* A register got a value that is not followed. */
SEAM_INLINE void seam_way_lose(struct seam_way *w, uint8_t reg)
{
	if (reg == SEAM_WAY_RSP)
		w->at.base = SEAM_WAY_NOWHERE;
	else if (reg == SEAM_WAY_RBP)
		w->at.fp = SEAM_WAY_OTHER;
}

/* Whether the memory operand is on the stack, by rsp or rbp; its place. */
SEAM_INLINE bool seam_way_place(const struct seam_way *w,
				const struct seam_x86 *x, uint8_t *ret_base,
				int32_t *ret_off)
{
	const struct seam_way_state *s = &w->at;
	uint8_t mod = x->modrm >> 6;

	if (mod == 3 || x->rex & 3)
		return false;
	if ((x->modrm & 7) == 4 && x->sib == 0x24) {
		*ret_base = s->base;
		*ret_off = seam_way_sum(s->off, x->disp);
		return s->base != SEAM_WAY_NOWHERE;
	}
	if (!mod || (x->modrm & 7) != 5)
		return false;
	if (s->fp == SEAM_WAY_CALLERS) {
		*ret_base = SEAM_WAY_FP;
		*ret_off = x->disp;
		return true;
	}
	*ret_base = s->fp_base;
	*ret_off = seam_way_sum(s->fp_off, x->disp);
	return s->fp == SEAM_WAY_STACK;
}

SEAM_INLINE bool seam_way_is_saved_at(const struct seam_way_state *s,
				      uint8_t base, int32_t off)
{
	return s->is_saved && base == s->saved_base && off == s->saved_off;
}

/* rbp = the word there. */
SEAM_INLINE void seam_way_load_fp(struct seam_way *w, uint8_t base, int32_t off)
{
	struct seam_way_state *s = &w->at;

	if (seam_way_is_saved_at(s, base, off)) {
		s->fp = s->saved_fp;
		s->fp_base = s->saved_fp_base;
		s->fp_off = s->saved_fp_off;
	} else if (base == SEAM_WAY_NOWHERE ||
		   (base == SEAM_WAY_SP && off < 0)) {
		s->fp = SEAM_WAY_OTHER; /* not there at the start */
	} else {
		s->fp = SEAM_WAY_WORD;
		s->fp_base = base;
		s->fp_off = off;
	}
}

/* The word there = rbp. What is no caller's does not take the place of what
 * is, unless it lies where that lay. */
SEAM_INLINE void seam_way_save_fp(struct seam_way *w, uint8_t base, int32_t off)
{
	struct seam_way_state *s = &w->at;

	if (base == SEAM_WAY_NOWHERE ||
	    (s->fp > SEAM_WAY_WORD && !seam_way_is_saved_at(s, base, off)))
		return;
	s->is_saved = true;
	s->saved_base = base;
	s->saved_off = off;
	s->saved_fp = s->fp;
	s->saved_fp_base = s->fp_base;
	s->saved_fp_off = s->fp_off;
}

SEAM_INLINE void seam_way_push(struct seam_way *w, uint8_t reg)
{
	seam_way_raise_sp(w, -seam_way_word(w));
	if (reg == SEAM_WAY_RBP)
		seam_way_save_fp(w, w->at.base, w->at.off);
}

SEAM_INLINE void seam_way_pop(struct seam_way *w, uint8_t reg)
{
	if (reg == SEAM_WAY_RBP)
		seam_way_load_fp(w, w->at.base, w->at.off);
	seam_way_raise_sp(w, seam_way_word(w));
	if (reg == SEAM_WAY_RSP)
		w->at.base = SEAM_WAY_NOWHERE;
}

/*
 * rbp = rsp. From here on there is a frame: the way to it says all, since
 * rbp was pushed just before, on this way or before its start. Not behind a
 * call, where a function that never returns may be followed by another's
 * beginning.
 */
SEAM_INLINE void seam_way_fp_from_sp(struct seam_way *w, int32_t add)
{
	struct seam_way_state *s = &w->at;

	if (!add && w->exact && s->base == SEAM_WAY_SP &&
	    (s->is_saved ? seam_way_is_saved_at(s, s->base, s->off)
			 : s->fp == SEAM_WAY_CALLERS)) {
		seam_way_load_fp(w, s->base, s->off);
		seam_way_raise_sp(w, seam_way_word(w));
		w->is_set_up = 1;
		w->done = SEAM_WAY_RETURNS;
		return;
	}
	s->fp = s->base == SEAM_WAY_NOWHERE ? SEAM_WAY_OTHER : SEAM_WAY_STACK;
	s->fp_base = s->base;
	s->fp_off = seam_way_sum(s->off, add);
}

/* rsp = rbp + add. */
SEAM_INLINE void seam_way_sp_from_fp(struct seam_way *w, int32_t add)
{
	struct seam_way_state *s = &w->at;

	if (s->fp == SEAM_WAY_CALLERS) {
		s->base = SEAM_WAY_FP;
		s->off = add;
	} else if (s->fp == SEAM_WAY_STACK) {
		s->base = s->fp_base;
		s->off = seam_way_sum(s->fp_off, add);
	} else {
		s->base = SEAM_WAY_NOWHERE;
	}
}

SEAM_INLINE void seam_way_move(struct seam_way *w, const struct seam_x86 *x,
			       uint8_t to, uint8_t from)
{
	if (!seam_way_is_wide(w, x))
		seam_way_lose(w, to);
	else if (to == SEAM_WAY_RBP && from == SEAM_WAY_RSP)
		seam_way_fp_from_sp(w, 0);
	else if (to == SEAM_WAY_RSP && from == SEAM_WAY_RBP)
		seam_way_sp_from_fp(w, 0);
	else
		seam_way_lose(w, to);
}

/* 89 and 8B */
SEAM_INLINE void seam_way_mov(struct seam_way *w, const struct seam_x86 *x)
{
	uint8_t reg = seam_way_reg(x), rm = seam_way_rm(x), base;
	bool is_store = x->op == 0x89;
	int32_t off;

	if (seam_way_is_reg(x)) {
		seam_way_move(w, x, is_store ? rm : reg, is_store ? reg : rm);
	} else if (reg != SEAM_WAY_RBP) {
		if (!is_store)
			seam_way_lose(w, reg);
	} else if (!seam_way_place(w, x, &base, &off) ||
		   !seam_way_is_wide(w, x)) {
		if (!is_store)
			seam_way_lose(w, reg);
	} else if (is_store) {
		seam_way_save_fp(w, base, off);
	} else {
		seam_way_load_fp(w, base, off);
	}
}

SEAM_INLINE void seam_way_lea(struct seam_way *w, const struct seam_x86 *x)
{
	uint8_t reg = seam_way_reg(x), base;
	bool by_sp = (x->modrm & 7) == 4;
	int32_t off;

	if (reg != SEAM_WAY_RSP && reg != SEAM_WAY_RBP)
		return;
	if (!seam_way_is_wide(w, x) || !seam_way_place(w, x, &base, &off))
		seam_way_lose(w, reg);
	else if (reg == SEAM_WAY_RBP && by_sp)
		seam_way_fp_from_sp(w, x->disp);
	else if (reg == SEAM_WAY_RBP)
		seam_way_lose(w, reg);
	else if (by_sp)
		seam_way_raise_sp(w, x->disp);
	else
		seam_way_sp_from_fp(w, x->disp);
}

#endif
