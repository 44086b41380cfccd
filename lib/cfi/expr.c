/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * DWARF expressions, as far as call frame information may hold them: DWARF
 * 5, sections 2.5 and 6.4.2. Locations other than memory, and everything
 * that needs a compilation unit, an object or a thread, have no meaning
 * here. Comparisons, division and the arithmetic shift are signed, the rest
 * wraps.
 */
#include <limits.h>

#include "cfi/expr-op.h"
#include "cfi/private.h"

#define STACK_MAX 64
/* Real expressions have ten operations, and loops none that is known. */
#define STEPS_MAX 4096

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

/* Of the file; where it is mapped is the target's. */
static int push_addr(struct eval *e)
{
	uint64_t svma;

	return seam_bytes_uint(&e->b, 8, &svma)
		       ? push(e, svma + e->target->bias)
		       : -EINVAL;
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
	int64_t value;
	int rc;

	if (e->depth < operands(op))
		return -EINVAL;
	rc = seam_expr_const(&e->b, op, &value);
	if (rc)
		return rc > 0 ? push(e, (uint64_t)value) : rc;
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_reg(e, op - OP_BREG0);
	switch (op) {
	case OP_ADDR:
		return push_addr(e);
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

	e.b = (struct seam_bytes){.p = expr, .end = expr + len};
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
