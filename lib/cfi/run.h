/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A run of call frame instructions: their numbers, where it stands, and how
 * it hands out rows and faults. For program.c. */
#ifndef SEAM_LIB_CFI_RUN_H
#define SEAM_LIB_CFI_RUN_H

#include "cfi/private.h"
#include "core/err.h"

enum cfa_op {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_MIPS_ADVANCE_LOC8 = 0x1d,
	OP_AARCH64_SET_RA_STATE = 0x2b,
	OP_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	OP_AARCH64_NEGATE_RA_STATE = 0x2d, /* GNU_window_save elsewhere */
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	/* The operand is in the low six bits. */
	OP_ADVANCE_LOC = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
};

struct run {
	struct seam_cfi *cfi;
	struct seam_cfi_machine *m;
	struct seam_bytes b;
	const uint8_t *op_at;
	struct seam_cfi_fault *fault;
	seam_cfi_row_fn *fn;
	void *ctx;
	int rc; /* fn's, once it is not 0 */
};

static inline bool bad_op(struct run *r, const char *reason)
{
	return seam_cfi_fault_at(r->fault, SEAM_CFI_BAD_OP, r->op_at, reason);
}

static inline bool cut(struct run *r)
{
	return seam_cfi_fault_at(r->fault, SEAM_CFI_SHORT, r->op_at,
				 "CFI ends inside an operation");
}

/* Hands out the row from where it began to loc, if that is any code. */
static inline bool emit(struct run *r, uint64_t loc)
{
	struct seam_cfi_row *row = &r->m->row;

	if (loc > row->func_end)
		loc = row->func_end;
	if (loc <= row->start)
		return true;
	if (row->cfa_reg == SEAM_CFI_NO_CFA && !row->cfa_is_expr)
		return bad_op(r, "code is reached before a CFA is defined");
	row->end = loc;
	if (r->fn)
		r->rc = r->fn(r->ctx, row);
	row->start = loc;
	return !r->rc;
}

#endif
