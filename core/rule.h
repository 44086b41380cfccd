/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A rule: how to step from one frame to its caller. Plain data; step.h
 * executes it, sframe-read.h and the CFI converter produce it.
 *
 * Three values are given, each by a formula over the current frame's
 * registers (reg) and, for RA and FP, the CFA just computed:
 *
 *   SAME       FP: value = FP, it was not touched
 *              RA: value = *(CFA - 8) on amd64; elsewhere it has not left its
 *              register, x30 or r14, which the leaf alone can say
 *   CFA_OFF    value = CFA + off
 *   CFA_DEREF  value = *(CFA + off)
 *   REG_OFF    value = reg + off               (off 0: it is in that register)
 *   REG_DEREF  value = *(reg + off) + add      (add is for the CFA only)
 *
 * The caller's SP is the CFA (s390x: CFA - 160). Offsets are in bytes, for
 * every architecture, whatever units a file has.
 */
#ifndef SEAM_CORE_RULE_H
#define SEAM_CORE_RULE_H

#include <stdint.h>

enum seam_value_kind {
	SEAM_SAME = 0,
	SEAM_CFA_OFF = 1,
	SEAM_CFA_DEREF = 2,
	SEAM_REG_OFF = 3,
	SEAM_REG_DEREF = 4,
};

struct seam_value {
	int32_t off;
	uint8_t kind; /* enum seam_value_kind */
	uint8_t reg; /* DWARF register number, for the REG kinds */
	uint16_t pad;
};

enum seam_rule_flags {
	SEAM_RULE_OUTERMOST = 1, /* RA undefined: this is the last frame */
	SEAM_RULE_SIGNAL = 2, /* the caller was interrupted, not calling */
	SEAM_RULE_MANGLED = 4, /* aarch64: RA carries a PAC */
	SEAM_RULE_NO_ROWS = 8, /* of a function that has no rows at all */
};

struct seam_rule {
	struct seam_value cfa, ra, fp;
	int32_t cfa_add; /* seam's own, never in a file: see REG_DEREF */
	uint32_t flags; /* enum seam_rule_flags */
};

#endif
