/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How much of a file's code a table has rules for, and whether they say what
 * the file's CFI says. */
#ifndef SEAM_LIB_TABLE_COVERAGE_H
#define SEAM_LIB_TABLE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sframe-section.h"
#include "elf/elf.h"
#include "seam/error.h"
#include "sframe/hole.h"

/*
 * In bytes of code, unless said otherwise. Code that CFI covers twice counts
 * twice, as does code that lies in no executable segment in nothing.
 *   cfi = rule + hole          rule = agree + differ + unsaid
 *   hole = sum of holes + left_out
 */
struct seam_coverage {
	uint64_t code; /* executable, padding included */
	uint64_t cfi; /* covered by CFI */
	uint64_t rule; /* of that: the table has a rule */
	uint64_t agree, differ;
	uint64_t unsaid; /* the CFI is of a form that no rule has */
	uint64_t hole; /* no rule */
	uint64_t holes[SEAM_HOLE_NUM]; /* no rule could be made, and why */
	uint64_t left_out; /* a rule could have been made */
	uint64_t rows_compared; /* row boundaries of either */
	uint64_t first_differ; /* svma, if differ is not 0 */
	uint64_t functions, rows; /* of the table */
	uint64_t malformed_fdes; /* of the CFI */
};

/*
 * sf: a section that was checked, svma: its address in the space of elf.
 * -ENOENT: the file has no CFI.
 */
int seam_coverage(const struct seam_elf *elf, const struct seam_sframe *sf,
		  uint64_t svma, struct seam_coverage *ret,
		  struct seam_errinfo *reterr);

#endif
