/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * DWARF expressions, as far as call frame information may hold them: DWARF
 * 5, sections 2.5 and 6.4.2. Locations other than memory, and everything
 * that needs a compilation unit, an object or a thread, have no meaning
 * here. Comparisons, division and the arithmetic shift are signed, the rest
 * wraps.
 */
#include <limits.h>

#include "cfi/private.h"

#define STACK_MAX 64
/* Real expressions have ten operations, and loops none that is known. */
#define STEPS_MAX 4096

enum expr_op {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct eval {
	struct seam_bytes b;
	const uint8_t *begin;
	const struct seam_cfi_target *target;
	unsigned int depth;
	uint64_t stack[STACK_MAX];
};

static int push(struct eval *e, uint64_t v)
{
	if (e->depth == STACK_MAX)
		return -EINVAL;
	e->stack[e->depth++] = v;
	return 0;
}

static uint64_t *top(struct eval *e)
{
	return &e->stack[e->depth - 1];
}

static int push_sized(struct eval *e, size_t size, bool is_signed)
{
	uint64_t u;
	int64_t s;

	if (is_signed) {
		if (!seam_bytes_sint(&e->b, size, &s))
			return -EINVAL;
		u = (uint64_t)s;
	} else if (!seam_bytes_uint(&e->b, size, &u)) {
		return -EINVAL;
	}
	return push(e, u);
}

static int push_const(struct eval *e, uint8_t op)
{
	uint64_t u;
	int64_t s;

	switch (op) {
	case OP_ADDR: /* of the file; where it is mapped is the target's */
		if (push_sized(e, 8, false))
			return -EINVAL;
		*top(e) += e->target->bias;
		return 0;
	case OP_CONSTU:
		return seam_bytes_uleb(&e->b, &u) ? push(e, u) : -EINVAL;
	case OP_CONSTS:
		if (!seam_bytes_sleb(&e->b, &s))
			return -EINVAL;
		return push(e, (uint64_t)s);
	default:
		return push_sized(e, 1u << ((op - OP_CONST1U) / 2), op & 1);
	}
}

static int push_reg(struct eval *e, uint64_t reg)
{
	const struct seam_regs *regs = e->target->regs;
	int64_t off;

	if (!seam_bytes_sleb(&e->b, &off) || reg >= SEAM_CFI_REGS ||
	    !(regs->valid & 1u << reg))
		return -EINVAL;
	return push(e, regs->r[reg] + (uint64_t)off);
}

static int push_regx(struct eval *e)
{
	uint64_t reg;

	return seam_bytes_uleb(&e->b, &reg) ? push_reg(e, reg) : -EINVAL;
}

/* index 0 is the top */
static int pick(struct eval *e, unsigned int index)
{
	if (index >= e->depth)
		return -EINVAL;
	return push(e, e->stack[e->depth - 1 - index]);
}

static int shuffle(struct eval *e, uint8_t op)
{
	uint64_t *t = top(e), v = *t;
	uint8_t index;

	switch (op) {
	case OP_DUP:
		return pick(e, 0);
	case OP_OVER:
		return pick(e, 1);
	case OP_PICK:
		return seam_bytes_u8(&e->b, &index) ? pick(e, index) : -EINVAL;
	case OP_DROP:
		e->depth--;
		return 0;
	case OP_SWAP:
		t[0] = t[-1];
		t[-1] = v;
		return 0;
	default: /* OP_ROT: the top becomes the third */
		t[0] = t[-1];
		t[-1] = t[-2];
		t[-2] = v;
		return 0;
	}
}

static int deref(struct eval *e, size_t size)
{
	uint64_t v;
	int rc;

	if (size < 1 || size > 8)
		return -EINVAL;
	rc = e->target->read(e->target->read_ctx, *top(e), size, &v);
	if (!rc)
		*top(e) = v;
	return rc;
}

static int deref_size(struct eval *e)
{
	uint8_t size;

	return seam_bytes_u8(&e->b, &size) ? deref(e, size) : -EINVAL;
}

static int unary(struct eval *e, uint8_t op)
{
	uint64_t *t = top(e), u;

	switch (op) {
	case OP_ABS:
		if (*t >> 63)
			*t = -*t;
		return 0;
	case OP_NEG:
		*t = -*t;
		return 0;
	case OP_NOT:
		*t = ~*t;
		return 0;
	default: /* OP_PLUS_UCONST */
		if (!seam_bytes_uleb(&e->b, &u))
			return -EINVAL;
		*t += u;
		return 0;
	}
}

static int divide(uint64_t a, uint64_t b, uint64_t *ret)
{
	if (!b)
		return -EINVAL;
	/* INT64_MIN / -1 traps on this machine; it wraps like the rest. */
	*ret = b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
	return 0;
}

static uint64_t shift_right_signed(uint64_t a, uint64_t b)
{
	return (uint64_t)((int64_t)a >> (b > 63 ? 63 : b));
}

static int arithmetic(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret)
{
	switch (op) {
	case OP_AND:
		*ret = a & b;
		return 0;
	case OP_DIV:
		return divide(a, b, ret);
	case OP_MINUS:
		*ret = a - b;
		return 0;
	case OP_MOD:
		if (!b)
			return -EINVAL;
		*ret = a % b;
		return 0;
	case OP_MUL:
		*ret = a * b;
		return 0;
	case OP_OR:
		*ret = a | b;
		return 0;
	case OP_PLUS:
		*ret = a + b;
		return 0;
	case OP_SHL:
		*ret = b > 63 ? 0 : a << b;
		return 0;
	case OP_SHR:
		*ret = b > 63 ? 0 : a >> b;
		return 0;
	case OP_SHRA:
		*ret = shift_right_signed(a, b);
		return 0;
	default: /* OP_XOR */
		*ret = a ^ b;
		return 0;
	}
}

static uint64_t compare(uint8_t op, int64_t a, int64_t b)
{
	switch (op) {
	case OP_EQ:
		return a == b;
	case OP_GE:
		return a >= b;
	case OP_GT:
		return a > b;
	case OP_LE:
		return a <= b;
	case OP_LT:
		return a < b;
	default: /* OP_NE */
		return a != b;
	}
}

static int binary(struct eval *e, uint8_t op)
{
	uint64_t b = e->stack[--e->depth], *a = top(e);

	if (op >= OP_EQ && op <= OP_NE) {
		*a = compare(op, (int64_t)*a, (int64_t)b);
		return 0;
	}
	return arithmetic(op, *a, b, a);
}

static int branch(struct eval *e, uint8_t op)
{
	int64_t by;

	if (!seam_bytes_sint(&e->b, 2, &by))
		return -EINVAL;
	if (op == OP_BRA && !e->stack[--e->depth])
		return 0;
	if (by < e->begin - e->b.p || by > e->b.end - e->b.p)
		return -EINVAL;
	e->b.p += by;
	return 0;
}

/* How many values an operation takes off the stack. */
static unsigned int operands(uint8_t op)
{
	switch (op) {
	case OP_ROT:
		return 3;
	case OP_OVER:
	case OP_SWAP:
		return 2;
	case OP_DEREF:
	case OP_DEREF_SIZE:
	case OP_DUP:
	case OP_DROP:
	case OP_PICK:
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
	case OP_PLUS_UCONST:
	case OP_BRA:
		return 1;
	case OP_SKIP:
		return 0;
	}
	return op >= OP_AND && op <= OP_NE ? 2 : 0;
}

static int one_op(struct eval *e, uint8_t op)
{
	if (e->depth < operands(op))
		return -EINVAL;
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push(e, op - OP_LIT0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_reg(e, op - OP_BREG0);
	if (op == OP_ADDR || (op >= OP_CONST1U && op <= OP_CONSTS))
		return push_const(e, op);
	switch (op) {
	case OP_DEREF:
		return deref(e, 8);
	case OP_DEREF_SIZE:
		return deref_size(e);
	case OP_DUP:
	case OP_DROP:
	case OP_OVER:
	case OP_PICK:
	case OP_SWAP:
	case OP_ROT:
		return shuffle(e, op);
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
	case OP_PLUS_UCONST:
		return unary(e, op);
	case OP_BRA:
	case OP_SKIP:
		return branch(e, op);
	case OP_BREGX:
		return push_regx(e);
	case OP_NOP:
		return 0;
	}
	return op >= OP_AND && op <= OP_NE ? binary(e, op) : -EINVAL;
}

int seam_cfi_eval(const uint8_t *expr, size_t len, const uint64_t *cfa,
		  const struct seam_cfi_target *target, uint64_t *ret_value)
{
	struct eval e;
	int rc;

	e.b = (struct seam_bytes){expr, expr + len};
	e.begin = expr;
	e.target = target;
	e.depth = 0;
	if (cfa)
		e.stack[e.depth++] = *cfa;
	for (int steps = 0; e.b.p < e.b.end; steps++) {
		if (steps == STEPS_MAX)
			return -EINVAL;
		rc = one_op(&e, *e.b.p++);
		if (rc)
			return rc;
	}
	if (!e.depth)
		return -EINVAL;
	*ret_value = *top(&e);
	return 0;
}
