// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "offline/func.h"

#include <string.h>

#include "core/x86-insn.h"

static bool is_start(const struct seam_func *f, int64_t at)
{
	return f->starts[at / 8] >> (at % 8) & 1;
}

static void insn_at(const struct seam_func *f, size_t at, struct seam_x86 *ret)
{
	struct seam_x86_bytes b;

	memcpy(&b.lo, f->code + at, sizeof(b.lo));
	memcpy(&b.hi, f->code + at + sizeof(b.lo), sizeof(b.hi));
	seam_x86_decode(&b, false, ret);
}

/* Return: whether all of it is instructions. */
static bool find_starts(struct seam_func *f, struct seam_x86 *ret_last)
{
	size_t at = 0;

	memset(f->starts, 0, sizeof(f->starts));
	for (; at < f->size; at += ret_last->len) {
		insn_at(f, at, ret_last);
		if (!ret_last->len)
			return false;
		f->starts[at / 8] |= (uint8_t)(1 << at % 8);
	}
	return at == f->size;
}

static bool is_branch(const struct seam_x86 *x)
{
	if (x->is_vector)
		return false;
	if (x->map == SEAM_X86_0F)
		return (x->op & 0xf0) == 0x80;
	return x->map == SEAM_X86_ONE &&
	       (x->op == 0xe9 || x->op == 0xeb || (x->op & 0xf0) == 0x70 ||
		(x->op & 0xfc) == 0xe0); /* loop, jrcxz */
}

/* jmp of a register or of memory, near and far. */
static bool is_indirect(const struct seam_x86 *x)
{
	uint8_t op = x->modrm >> 3 & 7;

	return !x->is_vector && x->map == SEAM_X86_ONE && x->op == 0xff &&
	       (op == 4 || op == 5);
}

/* Whether an instruction there may jump out of the function, or to where it
 * does not tell, or into another's middle: then they are not what is run. */
static bool may_leave(const struct seam_func *f, size_t at)
{
	struct seam_x86 x;
	int64_t to;

	insn_at(f, at, &x);
	if (is_indirect(&x))
		return true;
	if (!is_branch(&x))
		return false;
	to = (int64_t)at + x.len + x.imm;
	return to < 0 || to >= (int64_t)f->size || !is_start(f, to);
}

/* A ret, a jump, a trap, or a call that does not return. Else it runs on into
 * the next function. */
static bool is_end(const struct seam_x86 *x)
{
	if (x->is_vector)
		return false;
	if (x->map == SEAM_X86_0F)
		return x->op == 0x0b;
	return x->map == SEAM_X86_ONE &&
	       (x->op == 0xc3 || x->op == 0xf4 || x->op == 0xe8 ||
		x->op == 0xe9 || x->op == 0xeb);
}

/* mov, pop or xchg to rsp, but from rbp: it may be another stack's. */
static bool moves_sp(const struct seam_x86 *x)
{
	uint8_t reg = x->modrm >> 3 & 7;
	bool is_low_rm = !(x->rex & 1), is_low_reg = !(x->rex & 4);
	bool to_rm = (x->modrm & 0xc7) == 0xc4 && is_low_rm;
	bool to_reg = reg == 4 && is_low_reg;

	if (x->is_vector || x->map != SEAM_X86_ONE)
		return false;
	switch (x->op) {
	case 0x89:
		return to_rm && !(reg == 5 && is_low_reg);
	case 0x8b:
		return to_reg && !(x->modrm == 0xe5 && is_low_rm);
	case 0x87:
		return to_rm || to_reg;
	case 0x5c:
	case 0x94:
		return is_low_rm;
	}
	return false;
}

/* push, or mov to (%rsp): what a thunk puts where a ret then goes. */
static bool puts_return(const struct seam_x86 *x)
{
	if (x->is_vector || x->map != SEAM_X86_ONE)
		return false;
	if ((x->op & 0xf8) == 0x50 || x->op == 0x68)
		return true;
	/* 04 24: of rsp alone */
	return x->op == 0x89 && (x->modrm & 0xc7) == 0x04;
}

/* ... ; push or mov %reg, (%rsp); ret: a jump, as of -mindirect-branch. */
static bool returns_elsewhere(const struct seam_func *f)
{
	struct seam_x86 x, before = {0};

	for (size_t at = 0; at < f->size; at += x.len, before = x) {
		insn_at(f, at, &x);
		if (!x.len)
			return true;
		if (!x.is_vector && x.map == SEAM_X86_ONE && x.op == 0xc3 &&
		    at && puts_return(&before))
			return true;
	}
	return false;
}

bool seam_func_jumps_on(struct seam_func *f)
{
	struct seam_x86 last = {0};

	if (!find_starts(f, &last) || !is_end(&last) || returns_elsewhere(f))
		return true;
	for (size_t at = 0; at < f->size; at++)
		if (is_start(f, (int64_t)at) && may_leave(f, at))
			return true;
	return false;
}

bool seam_func_moves_sp(const struct seam_func *f)
{
	struct seam_x86 x;

	for (size_t at = 0; at < f->size; at += x.len) {
		insn_at(f, at, &x);
		if (!x.len || moves_sp(&x))
			return x.len;
	}
	return false;
}
