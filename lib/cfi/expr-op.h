/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The operations of DWARF expressions that CFI may have, and the constants
 * among them. */
#ifndef SEAM_LIB_CFI_EXPR_OP_H
#define SEAM_LIB_CFI_EXPR_OP_H

#include <errno.h>

#include "cfi/bytes.h"

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
	OP_BREG16 = 0x80,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

static inline int seam_expr_fixed(struct seam_bytes *b, uint8_t op,
				  int64_t *ret)
{
	size_t size = 1u << ((op - OP_CONST1U) / 2);
	uint64_t u;

	/* Every second one is signed. */
	if ((op - OP_CONST1U) % 2)
		return seam_bytes_sint(b, size, ret) ? 1 : -EINVAL;
	if (!seam_bytes_uint(b, size, &u))
		return -EINVAL;
	*ret = (int64_t)u;
	return 1;
}

/* Reads what follows op, if it pushes a constant of its own.
 * Return: 1; 0: op is another one; -EINVAL: the bytes end. */
static inline int seam_expr_const(struct seam_bytes *b, uint8_t op,
				  int64_t *ret)
{
	uint64_t u;

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		*ret = op - OP_LIT0;
		return 1;
	}
	if (op >= OP_CONST1U && op <= OP_CONST8S)
		return seam_expr_fixed(b, op, ret);
	if (op == OP_CONSTS)
		return seam_bytes_sleb(b, ret) ? 1 : -EINVAL;
	if (op != OP_CONSTU)
		return 0;
	if (!seam_bytes_uleb(b, &u))
		return -EINVAL;
	*ret = (int64_t)u;
	return 1;
}

#endif
