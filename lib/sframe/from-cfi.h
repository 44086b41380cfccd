/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * From a row of DWARF CFI to a rule, for each architecture that SFrame has:
 * exactly, or not at all.
 */
#ifndef SEAM_LIB_SFRAME_FROM_CFI_H
#define SEAM_LIB_SFRAME_FROM_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi.h"
#include "core/rule.h"
#include "sframe/hole.h"

enum seam_from_cfi_flags {
	/* CFA = *(reg + off) + add may be used: the kernel form of tables. */
	SEAM_FROM_CFI_ADD = 1,
};

/*
 * Of the row's architecture (row->abi). It need not have more than CFA, SP, FP
 * and RA.
 * Return: SEAM_HOLE_NONE and the rule, or why there is none; then *ret is
 * undefined.
 */
enum seam_hole seam_rule_from_cfi(const struct seam_cfi_row *row,
				  uint32_t flags, struct seam_rule *ret);

/*
 * x86-64: the CFA expression of a procedure linkage table. One FDE covers many
 * equal stubs, and the CFA moves by step bytes at an offset in each:
 * CFA = reg + off + ((ip & (block - 1)) >= from ? step : 0).
 */
struct seam_plt_cfa {
	uint8_t block; /* a power of two: size and alignment of a stub */
	uint8_t from;
};

/*
 * Return: true if the CFA of the row is such an expression; then with the
 * rules for addresses whose offset in a block is below from, and the rest.
 */
bool seam_plt_from_cfi(const struct seam_cfi_row *row, struct seam_plt_cfa *ret,
		       struct seam_rule *ret_below,
		       struct seam_rule *ret_above);

#endif
