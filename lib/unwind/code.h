/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Code with rules: which table answers for an address of a process. Finding
 * allocates nothing, takes no lock and calls nothing: signal handlers do it.
 */
#ifndef SEAM_LIB_UNWIND_CODE_H
#define SEAM_LIB_UNWIND_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi.h"
#include "core/lookup.h"
#include "core/sframe-read.h"

/* A stretch of code. What it points to is its owner's. */
struct seam_code {
	uint64_t start, end; /* avma */
	/* An SFrame section; sframe.base NULL: none. Its pc is the distance
	 * from the section. */
	struct seam_sframe sframe;
	uint64_t sframe_avma;
	/* Asked where that has no rule; table NULL: none. Its pc is avma -
	 * table_avma. */
	struct seam_lookup lookup;
	const uint8_t *table;
	uint64_t table_avma;
	/* Detached; NULL: none. Its svma is avma - bias. */
	const struct seam_cfi *cfi;
	uint64_t bias;
};

/* The one of sorted, disjoint stretches that holds pc, or NULL. */
static inline const struct seam_code *seam_code_at(const struct seam_code *v,
						   size_t n, uint64_t pc)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].end <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && v[lo].start <= pc ? &v[lo] : NULL;
}

/* Return: SEAM_OK, or SEAM_NO_RULE. */
static inline int seam_code_rule(const struct seam_code *code, uint64_t pc,
				 struct seam_rule *ret)
{
	uint64_t packed = 0;

	if (code->sframe.base &&
	    !seam_sframe_find(&code->sframe, pc - code->sframe_avma, ret))
		return SEAM_OK;
	if (!code->table ||
	    seam_lookup_find(&code->lookup, code->table, pc - code->table_avma,
			     &packed, ret))
		return SEAM_NO_RULE;
	if (packed)
		seam_rule_unpack(packed, ret);
	return SEAM_OK;
}

#endif
