/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rules as CFI would say them, for steps that follow every register through
 * code that has a rule and no CFI. */
#ifndef SEAM_LIB_UNWIND_ROW_H
#define SEAM_LIB_UNWIND_ROW_H

#include "cfi/cfi.h"
#include "core/rule.h"

/*
 * Of x86-64. A rule tells nothing of the registers that the code may have
 * saved and changed: but for SP and FP all are unknown in the caller.
 * Return: false if a row cannot say it.
 */
bool seam_row_from_rule(const struct seam_rule *rule, struct seam_cfi_row *ret);

#endif
