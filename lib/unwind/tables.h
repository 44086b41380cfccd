/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Stretches of a target's code, and where their rules come from. */
#ifndef SEAM_LIB_UNWIND_TABLES_H
#define SEAM_LIB_UNWIND_TABLES_H

#include "cfi/cfi.h"
#include "elf/elf.h"
#include "seam/unwind.h"
#include "unwind/code.h"

/*
 * The rule for a pc, from a table of that ABI, one of SEAM_SFRAME_ABI_*:
 * another machine's is none. Return: SEAM_OK, SEAM_NO_TABLE, SEAM_NO_RULE, or
 * -ENOMEM when a table had to be made.
 */
int seam_tables_rule(struct seam_tables *tables, uint8_t abi, uint64_t pc,
		     struct seam_rule *ret);

/*
 * The CFI for a pc of amd64, else its rule as CFI would say it. *ret_bias: avma
 * - svma of what the row has addresses of. Return: as seam_tables_rule.
 */
int seam_tables_row(struct seam_tables *tables, uint64_t pc,
		    struct seam_cfi_row *ret, uint64_t *ret_bias);

/* Adds code whose rules are those of an image, by its offsets. elf is taken
 * if this returns 0. */
int seam_tables_add_elf(struct seam_tables *tables, uint64_t start,
			uint64_t end, uint64_t off, struct seam_elf *elf);

#endif
