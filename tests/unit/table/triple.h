/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What a rule, a row of CFI and elfutils' libdw say of one frame, each as
 * numbers: CFA, return address and frame pointer of the caller, over registers
 * and a memory of which every word is another. Three evaluators that share no
 * code; of an architecture's constants they share struct seam_cfi_arch.
 */
#ifndef SEAM_TESTS_TABLE_TRIPLE_H
#define SEAM_TESTS_TABLE_TRIPLE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi.h"
#include "cfi/private.h"
#include "core/rule.h"

struct triple {
	bool known; /* false: this evaluator cannot say */
	bool outermost;
	uint64_t cfa, ra, fp, sp;
	bool sp_loaded; /* from where it was saved: see check_sp */
};

static inline uint64_t word_at(uint64_t addr)
{
	uint64_t h = (addr ^ addr >> 29) * 0x9e3779b97f4a7c15u;

	return h ^ h >> 32;
}

static inline uint64_t reg_at(uint64_t reg, uint64_t pc,
			      const struct seam_cfi_arch *arch)
{
	if (arch->abi == SEAM_SFRAME_ABI_AMD64 && reg == 16)
		return pc;
	return word_at(reg * 64 + 0x7001) & ~UINT64_C(7);
}

static inline int triple_read(void *ctx, uint64_t avma, size_t size,
			      uint64_t *ret)
{
	(void)ctx;
	*ret = word_at(avma);
	if (size < 8)
		*ret &= (UINT64_C(1) << 8 * size) - 1;
	return 0;
}

/* By the rule. */
static inline uint64_t rule_value(const struct seam_value *v, uint64_t cfa,
				  uint64_t same, uint64_t pc,
				  const struct seam_cfi_arch *arch)
{
	uint64_t off = (uint64_t)(int64_t)v->off;

	switch (v->kind) {
	case SEAM_SAME:
		return same;
	case SEAM_CFA_OFF:
		return cfa + off;
	case SEAM_CFA_DEREF:
		return word_at(cfa + off);
	case SEAM_REG_OFF:
		return reg_at(v->reg, pc, arch) + off;
	default:
		return word_at(reg_at(v->reg, pc, arch) + off);
	}
}

static inline struct triple triple_of_rule(const struct seam_rule *rule,
					   uint64_t pc,
					   const struct seam_cfi_arch *arch)
{
	struct triple t = {.known = true};

	t.outermost = rule->flags & SEAM_RULE_OUTERMOST;
	if (t.outermost)
		return t;
	t.cfa = rule_value(&rule->cfa, 0, 0, pc, arch) +
		(uint64_t)(int64_t)rule->cfa_add;
	t.ra = rule_value(&rule->ra, t.cfa,
			  arch->abi == SEAM_SFRAME_ABI_AMD64
				  ? word_at(t.cfa - 8)
				  : reg_at(arch->ra, pc, arch),
			  pc, arch);
	t.fp = rule_value(&rule->fp, t.cfa, reg_at(arch->fp, pc, arch), pc,
			  arch);
	t.sp = t.cfa + (uint64_t)(int64_t)arch->sp_off;
	return t;
}

/* By the row. */
static inline bool row_expr(const uint8_t *expr, size_t len,
			    const uint64_t *cfa, uint64_t pc,
			    const struct seam_cfi_arch *arch, uint64_t *ret)
{
	struct seam_regs regs = {.valid = (1u << SEAM_CFI_REGS) - 1};
	const struct seam_cfi_target target = {&regs, 0, triple_read, NULL};

	/* It is evaluated where it is stepped by. */
	if (arch->abi != SEAM_SFRAME_ABI_AMD64)
		return false;
	for (unsigned int i = 0; i < SEAM_CFI_REGS; i++)
		regs.r[i] = reg_at(i, pc, arch);
	return !seam_cfi_eval(expr, len, cfa, &target, ret);
}

static inline bool row_value(const struct seam_cfi_reg *r, uint64_t cfa,
			     uint64_t same, uint64_t pc,
			     const struct seam_cfi_arch *arch, uint64_t *ret)
{
	switch ((enum seam_cfi_how)r->how) {
	case SEAM_CFI_SAME:
		*ret = same;
		return true;
	case SEAM_CFI_UNDEFINED:
		return false;
	case SEAM_CFI_OFFSET:
		*ret = word_at(cfa + (uint64_t)r->off);
		return true;
	case SEAM_CFI_VAL_OFFSET:
		*ret = cfa + (uint64_t)r->off;
		return true;
	case SEAM_CFI_REGISTER:
		*ret = reg_at(r->reg, pc, arch);
		return true;
	case SEAM_CFI_EXPRESSION:
	case SEAM_CFI_VAL_EXPRESSION:
		if (!row_expr(r->expr, r->expr_len, &cfa, pc, arch, ret))
			return false;
		if (r->how == SEAM_CFI_EXPRESSION)
			*ret = word_at(*ret);
		return true;
	}
	return false;
}

static inline struct triple triple_of_row(const struct seam_cfi_row *row,
					  uint64_t pc,
					  const struct seam_cfi_arch *arch)
{
	struct triple t = {0};

	t.outermost = row->regs[arch->ra].how == SEAM_CFI_UNDEFINED;
	t.known = t.outermost;
	if (t.outermost)
		return t;
	if (!row->cfa_is_expr)
		t.cfa = reg_at(row->cfa_reg, pc, arch) + (uint64_t)row->cfa_off;
	else if (!row_expr(row->cfa_expr, row->cfa_expr_len, NULL, pc, arch,
			   &t.cfa))
		return t;
	t.sp_loaded = row->regs[arch->sp].how == SEAM_CFI_OFFSET ||
		      row->regs[arch->sp].how == SEAM_CFI_REGISTER;
	t.known = row_value(&row->regs[arch->ra], t.cfa,
			    reg_at(arch->ra, pc, arch), pc, arch, &t.ra) &&
		  row_value(&row->regs[arch->fp], t.cfa,
			    reg_at(arch->fp, pc, arch), pc, arch, &t.fp) &&
		  row_value(&row->regs[arch->sp], t.cfa,
			    t.cfa + (uint64_t)(int64_t)arch->sp_off, pc, arch,
			    &t.sp);
	return t;
}

/* By libdw's operations. */
struct dw_stack {
	uint64_t v[32];
	size_t n;
};

static inline bool dw_two(struct dw_stack *s, uint8_t atom)
{
	uint64_t b, *a;

	if (s->n < 2)
		return false;
	b = s->v[--s->n];
	a = &s->v[s->n - 1];
	switch (atom) {
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_ge:
		*a = (int64_t)*a >= (int64_t)b;
		return true;
	case DW_OP_mul:
		*a *= b;
		return true;
	}
	return false;
}

static inline bool dw_push(struct dw_stack *s, uint64_t v)
{
	if (s->n == sizeof(s->v) / sizeof(*s->v))
		return false;
	s->v[s->n++] = v;
	return true;
}

static inline bool dw_op(struct dw_stack *s, const Dwarf_Op *op, uint64_t cfa,
			 uint64_t pc, const struct seam_cfi_arch *arch)
{
	uint8_t atom = op->atom;

	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return dw_push(s, reg_at(atom - DW_OP_breg0, pc, arch) +
					  op->number);
	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return dw_push(s, atom - DW_OP_lit0);
	switch (atom) {
	case DW_OP_bregx:
		return dw_push(s, reg_at(op->number, pc, arch) + op->number2);
	case DW_OP_call_frame_cfa:
		return dw_push(s, cfa);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return dw_push(s, op->number);
	case DW_OP_nop:
		return true;
	}
	if (!s->n)
		return false;
	if (atom == DW_OP_deref)
		s->v[s->n - 1] = word_at(s->v[s->n - 1]);
	else if (atom == DW_OP_plus_uconst)
		s->v[s->n - 1] += op->number;
	else
		return dw_two(s, atom);
	return true;
}

/* Return: false if there is an operation that this does not know. */
static inline bool dw_eval(const Dwarf_Op *ops, size_t n, uint64_t cfa,
			   uint64_t pc, const struct seam_cfi_arch *arch,
			   uint64_t *ret)
{
	struct dw_stack s = {.n = 0};

	for (size_t i = 0; i < n; i++)
		if (!dw_op(&s, &ops[i], cfa, pc, arch))
			return false;
	if (!s.n)
		return false;
	*ret = s.v[s.n - 1];
	return true;
}

static inline bool dw_register(Dwarf_Frame *frame, unsigned int reg,
			       uint64_t cfa, uint64_t same, uint64_t pc,
			       const struct seam_cfi_arch *arch,
			       bool *ret_undefined, uint64_t *ret)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	*ret_undefined = false;
	if (dwarf_frame_register(frame, (int)reg, mem, &ops, &n))
		return false;
	if (!n) {
		*ret_undefined = ops == mem;
		*ret = same;
		return !*ret_undefined;
	}
	if (n == 1 && (ops->atom == DW_OP_regx ||
		       (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31))) {
		*ret = reg_at(ops->atom == DW_OP_regx
				      ? ops->number
				      : (Dwarf_Word)(ops->atom - DW_OP_reg0),
			      pc, arch);
		return true;
	}
	if (ops[n - 1].atom == DW_OP_stack_value)
		return dw_eval(ops, n - 1, cfa, pc, arch, ret);
	if (!dw_eval(ops, n, cfa, pc, arch, ret))
		return false;
	*ret = word_at(*ret);
	return true;
}

static inline struct triple triple_of_dw(Dwarf_Frame *frame, uint64_t pc,
					 const struct seam_cfi_arch *arch)
{
	struct triple t = {0};
	Dwarf_Op *ops;
	bool undefined;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) ||
	    !dw_eval(ops, n, 0, pc, arch, &t.cfa))
		return t;
	if (!dw_register(frame, arch->ra, t.cfa, reg_at(arch->ra, pc, arch), pc,
			 arch, &t.outermost, &t.ra)) {
		t.known = t.outermost;
		return t;
	}
	t.known =
		dw_register(frame, arch->fp, t.cfa, reg_at(arch->fp, pc, arch),
			    pc, arch, &undefined, &t.fp);
	return t;
}

#endif
