// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/row.h"

#define REG_FP 6
#define REG_IP 16

/* Return: false if a row cannot say it. */
static bool saved_at(const struct seam_value *v, struct seam_cfi_reg *ret)
{
	if (v->kind == SEAM_CFA_DEREF)
		*ret = (struct seam_cfi_reg){.how = SEAM_CFI_OFFSET,
					     .off = v->off};
	return v->kind == SEAM_CFA_DEREF || v->kind == SEAM_SAME;
}

bool seam_row_from_rule(const struct seam_rule *rule, struct seam_cfi_row *ret)
{
	static const uint8_t unknown[] = {3, 12, 13, 14, 15};

	*ret = (struct seam_cfi_row){
		.cfa_reg = rule->cfa.reg,
		.cfa_off = rule->cfa.off,
		.signal = rule->flags & SEAM_RULE_SIGNAL,
		.regs[REG_IP] = {.how = SEAM_CFI_OFFSET, .off = -8},
	};
	if (rule->flags & SEAM_RULE_OUTERMOST) {
		ret->regs[REG_IP].how = SEAM_CFI_UNDEFINED;
		return true;
	}
	for (size_t i = 0; i < sizeof(unknown); i++)
		ret->regs[unknown[i]].how = SEAM_CFI_UNDEFINED;
	return rule->cfa.kind == SEAM_REG_OFF && !rule->cfa_add &&
	       saved_at(&rule->ra, &ret->regs[REG_IP]) &&
	       saved_at(&rule->fp, &ret->regs[REG_FP]);
}
