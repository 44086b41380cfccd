// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/from-cfi.h"

#include <stddef.h>
#include <string.h>

#include "cfi/expr-op.h"
#include "core/arch.h"

#define STACK_MAX 8

const char *seam_hole_text(enum seam_hole hole)
{
	switch (hole) {
#define X(name, text, sentence)                                                \
	case SEAM_HOLE_##name:                                                 \
		return text;
#include "sframe/hole.def"
#undef X
	default:
		return "none";
	}
}

const char *seam_hole_sentence(enum seam_hole hole)
{
	switch (hole) {
#define X(name, text, sentence)                                                \
	case SEAM_HOLE_##name:                                                 \
		return sentence;
#include "sframe/hole.def"
#undef X
	default:
		return "it has a rule";
	}
}

/* A value as an expression builds it: base + off, or *(base + off) + add. */
enum base { BASE_NONE, BASE_CFA, BASE_REG };
struct sym {
	enum base base;
	uint8_t reg;
	bool deref;
	int64_t off, add;
};

/* The sums wrap as the target's do; whether they fit is asked at the end. */
static void add_const(struct sym *s, int64_t value)
{
	int64_t *to = s->deref ? &s->add : &s->off;

	*to = (int64_t)((uint64_t)*to + (uint64_t)value);
}

static bool deref(struct sym *s)
{
	if (s->base == BASE_NONE || s->deref)
		return false;
	s->deref = true;
	return true;
}

/* Two values into one: one of them at least has to be a constant. */
static bool combine(struct sym *a, const struct sym *b, uint8_t op)
{
	uint64_t value;

	if (b->base == BASE_NONE) {
		value = op == OP_MINUS ? 0 - (uint64_t)b->off
				       : (uint64_t)b->off;
		add_const(a, (int64_t)value);
		return true;
	}
	if (a->base == BASE_NONE && op == OP_PLUS) {
		value = (uint64_t)a->off;
		*a = *b;
		add_const(a, (int64_t)value);
		return true;
	}
	return false;
}

static bool push(struct sym *stack, size_t *depth, struct sym s)
{
	if (*depth == STACK_MAX)
		return false;
	stack[(*depth)++] = s;
	return true;
}

struct eval {
	struct seam_bytes b;
	unsigned int regs; /* that a rule can name */
	struct sym stack[STACK_MAX];
	size_t depth;
};

static bool push_reg(struct eval *e, uint64_t reg)
{
	int64_t off;

	return reg < e->regs && seam_bytes_sleb(&e->b, &off) &&
	       push(e->stack, &e->depth,
		    (struct sym){
			    .base = BASE_REG, .reg = (uint8_t)reg, .off = off});
}

static bool eval_op(struct eval *e)
{
	struct seam_bytes *b = &e->b;
	struct sym *stack = e->stack;
	uint64_t value;
	int64_t number;
	uint8_t op;
	int rc;

	if (!seam_bytes_u8(b, &op))
		return false;
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_reg(e, op - OP_BREG0);
	if (op == OP_BREGX)
		return seam_bytes_uleb(b, &value) && push_reg(e, value);
	rc = seam_expr_const(b, op, &number);
	if (rc)
		return rc > 0 &&
		       push(stack, &e->depth, (struct sym){.off = number});
	if (op == OP_NOP)
		return true;
	if (!e->depth)
		return false;
	if (op == OP_DEREF)
		return deref(&stack[e->depth - 1]);
	if (op == OP_PLUS_UCONST) {
		if (!seam_bytes_uleb(b, &value))
			return false;
		add_const(&stack[e->depth - 1], (int64_t)value);
		return true;
	}
	if ((op != OP_PLUS && op != OP_MINUS) || e->depth < 2)
		return false;
	e->depth--;
	return combine(&stack[e->depth - 1], &stack[e->depth], op);
}

/* How many registers, from 0 on, a rule can name as a base. */
static unsigned int num_bases(const struct seam_cfi_arch *arch)
{
	return arch->abi == SEAM_SFRAME_ABI_AMD64 ? 16 : arch->regs;
}

/*
 * Runs an expression on symbols instead of numbers. Register rules start
 * with the CFA on the stack, the CFA's own expression with nothing.
 * Return: false if the result is not of the form that struct sym holds.
 */
static bool eval(const struct seam_cfi_arch *arch, const uint8_t *expr,
		 size_t len, bool push_cfa, struct sym *ret)
{
	struct eval e = {
		.b = {expr, expr + len, arch->be},
		.regs = num_bases(arch),
	};

	if (push_cfa)
		e.stack[e.depth++] = (struct sym){.base = BASE_CFA};
	while (e.b.p < e.b.end)
		if (!eval_op(&e))
			return false;
	if (!e.depth || e.stack[e.depth - 1].base == BASE_NONE)
		return false;
	*ret = e.stack[e.depth - 1];
	return true;
}

static bool fits(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static enum seam_hole cfa_from_expr(const struct seam_cfi_arch *arch,
				    const struct seam_cfi_row *row,
				    uint32_t flags, struct seam_rule *rule)
{
	struct sym s;

	if (!eval(arch, row->cfa_expr, row->cfa_expr_len, false, &s))
		return SEAM_HOLE_CFA_EXPR;
	if (!fits(s.off) || !fits(s.add))
		return SEAM_HOLE_RANGE;
	if (s.add && !(flags & SEAM_FROM_CFI_ADD))
		return SEAM_HOLE_CFA_EXPR;
	rule->cfa.kind = s.deref ? SEAM_REG_DEREF : SEAM_REG_OFF;
	rule->cfa.reg = s.reg;
	rule->cfa.off = (int32_t)s.off;
	rule->cfa_add = (int32_t)s.add;
	return SEAM_HOLE_NONE;
}

static enum seam_hole cfa_from_cfi(const struct seam_cfi_arch *arch,
				   const struct seam_cfi_row *row,
				   uint32_t flags, struct seam_rule *rule)
{
	enum seam_hole hole;

	if (row->cfa_is_expr) {
		hole = cfa_from_expr(arch, row, flags, rule);
		if (hole)
			return hole;
	} else {
		if (row->cfa_reg >= num_bases(arch))
			return SEAM_HOLE_CFA_REG;
		if (!fits(row->cfa_off))
			return SEAM_HOLE_RANGE;
		rule->cfa.kind = SEAM_REG_OFF;
		rule->cfa.reg = row->cfa_reg;
		rule->cfa.off = (int32_t)row->cfa_off;
	}
	/* It is written in units of 8 bytes. */
	if (arch->abi == SEAM_SFRAME_ABI_S390X && rule->cfa.off % 8)
		return SEAM_HOLE_ALIGN;
	return SEAM_HOLE_NONE;
}

/* The value lies at the expression, or is it. what: if it is not sayable. */
static enum seam_hole slot_from_expr(const struct seam_cfi_arch *arch,
				     const struct seam_cfi_reg *reg,
				     enum seam_hole what, struct seam_value *v)
{
	bool lies_there = reg->how == SEAM_CFI_EXPRESSION;
	struct sym s;

	if (!eval(arch, reg->expr, reg->expr_len, true, &s) || s.add ||
	    (s.deref && lies_there))
		return what;
	if (!fits(s.off))
		return SEAM_HOLE_RANGE;
	if (s.deref || lies_there)
		v->kind = s.base == BASE_CFA ? SEAM_CFA_DEREF : SEAM_REG_DEREF;
	else if (s.base == BASE_REG)
		v->kind = SEAM_REG_OFF;
	else
		return what;
	v->reg = s.reg;
	v->off = (int32_t)s.off;
	return SEAM_HOLE_NONE;
}

/* RA or FP; SAME is left to the caller, which knows what it means. */
static enum seam_hole slot_from_cfi(const struct seam_cfi_arch *arch,
				    const struct seam_cfi_reg *reg,
				    enum seam_hole what, struct seam_value *v)
{
	switch (reg->how) {
	case SEAM_CFI_SAME:
		v->kind = SEAM_SAME;
		return SEAM_HOLE_NONE;
	case SEAM_CFI_OFFSET:
		if (!fits(reg->off))
			return SEAM_HOLE_RANGE;
		v->kind = SEAM_CFA_DEREF;
		v->off = (int32_t)reg->off;
		return SEAM_HOLE_NONE;
	case SEAM_CFI_REGISTER:
		if (reg->reg >= num_bases(arch))
			return what;
		v->kind = SEAM_REG_OFF;
		v->reg = reg->reg;
		return SEAM_HOLE_NONE;
	case SEAM_CFI_EXPRESSION:
	case SEAM_CFI_VAL_EXPRESSION:
		return slot_from_expr(arch, reg, what, v);
	default:
		/*
		 * UNDEFINED is a hole for FP too: callers whose CFA is FP
		 * plus something would be given a value that is none.
		 */
		return what;
	}
}

static enum seam_hole ra_from_cfi(const struct seam_cfi_arch *arch,
				  const struct seam_cfi_row *row,
				  struct seam_rule *rule)
{
	const struct seam_cfi_reg *reg = &row->regs[arch->ra];
	bool by_call = arch->abi == SEAM_SFRAME_ABI_AMD64;
	enum seam_hole hole;

	/* There "same value" would mean that the caller is at our own ip;
	 * elsewhere the column is a register, which has it yet. */
	if (by_call && reg->how == SEAM_CFI_SAME)
		return SEAM_HOLE_RA;
	hole = slot_from_cfi(arch, reg, SEAM_HOLE_RA, &rule->ra);
	if (hole)
		return hole;
	if (by_call ? rule->ra.kind == SEAM_CFA_DEREF &&
			      rule->ra.off == SEAM_AMD64_RA_OFF
		    : rule->ra.kind == SEAM_REG_OFF && rule->ra.reg == arch->ra)
		rule->ra = (struct seam_value){.kind = SEAM_SAME};
	return SEAM_HOLE_NONE;
}

/* The caller's SP has to be the CFA (s390x: less 160), however CFI puts it. */
static enum seam_hole check_sp(const struct seam_cfi_arch *arch,
			       const struct seam_cfi_row *row,
			       const struct seam_rule *rule)
{
	const struct seam_cfi_reg *reg = &row->regs[arch->sp];
	struct seam_value v = {0};
	enum seam_hole hole;

	if (reg->how == SEAM_CFI_SAME ||
	    (reg->how == SEAM_CFI_VAL_OFFSET && reg->off == arch->sp_off))
		return SEAM_HOLE_NONE;
	/* s390x saves r15 like others, leaves do in a floating-point register;
	 * what a function found in it is its CFA less 160, by the CFA's
	 * definition. */
	if ((reg->how == SEAM_CFI_OFFSET || reg->how == SEAM_CFI_REGISTER) &&
	    arch->abi == SEAM_SFRAME_ABI_S390X && !row->signal)
		return SEAM_HOLE_NONE;
	if (reg->how != SEAM_CFI_EXPRESSION || arch->sp_off)
		return SEAM_HOLE_SP;
	/* glibc's __restore_rt: both are the word in the ucontext. */
	hole = slot_from_expr(arch, reg, SEAM_HOLE_SP, &v);
	if (hole)
		return hole;
	if (rule->cfa.kind == SEAM_REG_DEREF && v.kind == SEAM_REG_DEREF &&
	    rule->cfa.reg == v.reg && rule->cfa.off == v.off && !rule->cfa_add)
		return SEAM_HOLE_NONE;
	return SEAM_HOLE_SP;
}

/* Everything but the CFA. */
static enum seam_hole rest_from_cfi(const struct seam_cfi_arch *arch,
				    const struct seam_cfi_row *row,
				    struct seam_rule *rule)
{
	enum seam_hole hole = ra_from_cfi(arch, row, rule);

	if (!hole)
		hole = slot_from_cfi(arch, &row->regs[arch->fp], SEAM_HOLE_FP,
				     &rule->fp);
	if (!hole)
		hole = check_sp(arch, row, rule);
	return hole;
}

static struct seam_rule empty_rule(const struct seam_cfi_row *row)
{
	struct seam_rule rule = {0};

	if (row->signal)
		rule.flags = SEAM_RULE_SIGNAL;
	if (row->ra_state & SEAM_CFI_RA_SIGNED)
		rule.flags |= SEAM_RULE_MANGLED;
	return rule;
}

enum seam_hole seam_rule_from_cfi(const struct seam_cfi_row *row,
				  uint32_t flags, struct seam_rule *ret)
{
	const struct seam_cfi_arch *arch = seam_cfi_arch_by_abi(row->abi);
	enum seam_hole hole;

	if (row->odd_column)
		return SEAM_HOLE_COLUMN;
	*ret = empty_rule(row);
	/* Nothing else matters to the last frame. */
	if (row->regs[arch->ra].how == SEAM_CFI_UNDEFINED) {
		ret->flags &= ~(uint32_t)SEAM_RULE_MANGLED;
		ret->flags |= SEAM_RULE_OUTERMOST;
		return SEAM_HOLE_NONE;
	}
	if (row->ra_state & ~SEAM_CFI_RA_SIGNED)
		return SEAM_HOLE_PAUTH;
	hole = cfa_from_cfi(arch, row, flags, ret);
	return hole ? hole : rest_from_cfi(arch, row, ret);
}

static bool get_op(struct seam_bytes *b, uint8_t op)
{
	if (b->p == b->end || *b->p != op)
		return false;
	b->p++;
	return true;
}

static bool get_lit(struct seam_bytes *b, uint8_t *ret)
{
	if (b->p == b->end || *b->p < OP_LIT0 || *b->p > OP_LIT31)
		return false;
	*ret = (uint8_t)(*b->p++ - OP_LIT0);
	return true;
}

/* breg7 off; breg16 0; lit mask; and; lit from; ge; lit shift; shl; plus */
static bool parse_plt(const struct seam_cfi_row *row, struct seam_plt_cfa *plt,
		      int64_t *off, uint8_t *shift)
{
	struct seam_bytes b = {0};
	int64_t ip_off;
	uint8_t mask;

	if (!row->cfa_is_expr)
		return false;
	b.p = row->cfa_expr;
	b.end = row->cfa_expr + row->cfa_expr_len;
	if (!get_op(&b, OP_BREG0 + SEAM_AMD64_REG_SP) ||
	    !seam_bytes_sleb(&b, off) || !get_op(&b, OP_BREG16) ||
	    !seam_bytes_sleb(&b, &ip_off) || ip_off || !get_lit(&b, &mask) ||
	    !get_op(&b, OP_AND) || !get_lit(&b, &plt->from) ||
	    !get_op(&b, OP_GE) || !get_lit(&b, shift) || !get_op(&b, OP_SHL) ||
	    !get_op(&b, OP_PLUS) || b.p != b.end)
		return false;
	plt->block = (uint8_t)(mask + 1);
	return mask && !(mask & plt->block) && plt->from && plt->from <= mask &&
	       *shift <= 16;
}

bool seam_plt_from_cfi(const struct seam_cfi_row *row, struct seam_plt_cfa *ret,
		       struct seam_rule *ret_below, struct seam_rule *ret_above)
{
	const struct seam_cfi_arch *arch = seam_cfi_arch_by_abi(row->abi);
	struct seam_rule rule = empty_rule(row);
	struct seam_plt_cfa plt;
	uint8_t shift;
	int64_t off;

	if (arch->abi != SEAM_SFRAME_ABI_AMD64 || row->odd_column ||
	    !parse_plt(row, &plt, &off, &shift) || !fits(off) ||
	    !fits(off + ((int64_t)1 << shift)))
		return false;
	rule.cfa.kind = SEAM_REG_OFF;
	rule.cfa.reg = SEAM_AMD64_REG_SP;
	rule.cfa.off = (int32_t)off;
	if (row->regs[SEAM_AMD64_REG_IP].how == SEAM_CFI_UNDEFINED ||
	    rest_from_cfi(arch, row, &rule))
		return false;
	*ret = plt;
	*ret_below = rule;
	*ret_above = rule;
	ret_above->cfa.off += 1 << shift;
	return true;
}
