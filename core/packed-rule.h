/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Simple rules, by far the most, in one word: CFA from SP or FP, RA in its
 * fixed place, FP as it was or saved near the CFA; or the outermost frame.
 */
#ifndef SEAM_CORE_PACKED_RULE_H
#define SEAM_CORE_PACKED_RULE_H

#include "core/arch.h"
#include "core/env.h"
#include "core/rule.h"

/* Bits 0..31: offset of the CFA; 32..47: of the saved FP from the CFA. */
#define SEAM_PACKED_VALID (1ULL << 63)
#define SEAM_PACKED_SP (1ULL << 62) /* the CFA is from SP, else from FP */
#define SEAM_PACKED_FP_SAVED (1ULL << 61)
#define SEAM_PACKED_OUTERMOST (1ULL << 60)

/* Return: 0 if the rule does not fit. */
SEAM_INLINE uint64_t seam_rule_pack(const struct seam_rule *rule)
{
	uint64_t packed = SEAM_PACKED_VALID | (uint32_t)rule->cfa.off;

	if (rule->flags & SEAM_RULE_OUTERMOST)
		return SEAM_PACKED_VALID | SEAM_PACKED_OUTERMOST;
	if (rule->flags || rule->cfa_add || rule->cfa.kind != SEAM_REG_OFF ||
	    rule->ra.kind != SEAM_SAME)
		return 0;
	if (rule->cfa.reg == SEAM_AMD64_REG_SP)
		packed |= SEAM_PACKED_SP;
	else if (rule->cfa.reg != SEAM_AMD64_REG_FP)
		return 0;
	if (rule->fp.kind == SEAM_CFA_DEREF) {
		if (rule->fp.off < -32768 || rule->fp.off > 32767)
			return 0;
		packed |= SEAM_PACKED_FP_SAVED |
			  (uint64_t)(uint16_t)rule->fp.off << 32;
	} else if (rule->fp.kind != SEAM_SAME) {
		return 0;
	}
	return packed;
}

SEAM_INLINE void seam_rule_unpack(uint64_t packed, struct seam_rule *ret)
{
	*ret = (struct seam_rule){0};
	if (packed & SEAM_PACKED_OUTERMOST) {
		ret->flags = SEAM_RULE_OUTERMOST;
		return;
	}
	ret->cfa.kind = SEAM_REG_OFF;
	ret->cfa.off = (int32_t)packed;
	ret->cfa.reg =
		packed & SEAM_PACKED_SP ? SEAM_AMD64_REG_SP : SEAM_AMD64_REG_FP;
	if (packed & SEAM_PACKED_FP_SAVED) {
		ret->fp.kind = SEAM_CFA_DEREF;
		ret->fp.off = (int16_t)(packed >> 32);
	}
}

#endif
