/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Rows as text, to compare them whole. One row a line, addresses from the
 * function's start: "0-4 r7+8 3=[c-16] 16=[c-8]". [x] is the word at x, c
 * the CFA, e(..) an expression's bytes, u undefined; pac1 enum
 * seam_cfi_ra_state.
 */
#ifndef SEAM_TESTS_CFI_ROWS_H
#define SEAM_TESTS_CFI_ROWS_H

#include <inttypes.h>
#include <stdio.h>

#include "cfi/cfi.h"

struct text {
	char s[4096];
	size_t len;
};

#define ADD(t, ...)                                                            \
	((t)->len += (size_t)snprintf((t)->s + (t)->len,                       \
				      sizeof((t)->s) - (t)->len, __VA_ARGS__))

static inline void add_expr(struct text *t, const uint8_t *p, size_t len)
{
	ADD(t, "e(");
	for (size_t i = 0; i < len; i++)
		ADD(t, i ? " %02x" : "%02x", p[i]);
	ADD(t, ")");
}

static inline void add_reg(struct text *t, const struct seam_cfi_reg *r)
{
	switch ((enum seam_cfi_how)r->how) {
	case SEAM_CFI_SAME:
		break;
	case SEAM_CFI_UNDEFINED:
		ADD(t, "u");
		break;
	case SEAM_CFI_OFFSET:
		ADD(t, "[c%+" PRId64 "]", r->off);
		break;
	case SEAM_CFI_VAL_OFFSET:
		ADD(t, "c%+" PRId64, r->off);
		break;
	case SEAM_CFI_REGISTER:
		ADD(t, "r%u", r->reg);
		break;
	case SEAM_CFI_EXPRESSION:
		ADD(t, "[");
		add_expr(t, r->expr, r->expr_len);
		ADD(t, "]");
		break;
	case SEAM_CFI_VAL_EXPRESSION:
		add_expr(t, r->expr, r->expr_len);
		break;
	}
}

static inline int add_row(void *ctx, const struct seam_cfi_row *row)
{
	struct text *t = ctx;

	ADD(t, "%" PRIx64 "-%" PRIx64 "%s ", row->start - row->func_start,
	    row->end - row->func_start, row->signal ? " signal" : "");
	if (row->cfa_is_expr)
		add_expr(t, row->cfa_expr, row->cfa_expr_len);
	else
		ADD(t, "r%u%+" PRId64, row->cfa_reg, row->cfa_off);
	for (int i = 0; i < SEAM_CFI_REGS; i++) {
		if (row->regs[i].how == SEAM_CFI_SAME)
			continue;
		ADD(t, " %d=", i);
		add_reg(t, &row->regs[i]);
	}
	if (row->ra_state)
		ADD(t, " pac%u", row->ra_state);
	ADD(t, "\n");
	return 0;
}

#endif
