/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What became of precise samples, by the instruction that made the event. */
#ifndef SEAM_LIB_UNWIND_SKID_KIND_H
#define SEAM_LIB_UNWIND_SKID_KIND_H

#include <stdint.h>

/* Instructions, by what they do to a stack. */
enum seam_skid_kind {
	SEAM_SKID_KIND_OTHER, /* nothing; registers may be overwritten */
	SEAM_SKID_KIND_CALL,
	SEAM_SKID_KIND_PUSH,
	SEAM_SKID_KIND_POP,
	SEAM_SKID_KIND_RET,
	SEAM_SKID_KIND_LEAVE,
	SEAM_SKID_KIND_ENTER,
	SEAM_SKID_KIND_ADD_SP, /* add, sub or lea of a number */
	SEAM_SKID_KIND_SUB_SP, /* of what is not a number: an alloca */
	SEAM_SKID_KIND_AND_SP,
	SEAM_SKID_KIND_MOV_SP, /* from a register or memory; lea of another */
	SEAM_SKID_KIND_XCHG_SP,
	SEAM_SKID_KIND_SET_SP, /* in other ways */
	SEAM_SKID_KIND_SET_FP, /* from rsp */
	SEAM_SKID_KIND_STORE, /* to memory */
	SEAM_SKID_KIND_JUMP,
	SEAM_SKID_KIND_SYSCALL,
	SEAM_SKID_KIND_UNKNOWN, /* not read, or not understood */
	SEAM_SKID_KINDS
};

enum seam_skid_fate {
	SEAM_SKID_NONE, /* the sample was not precise */
	SEAM_SKID_SAME, /* the registers are of the sample's ip already */
	SEAM_SKID_UNDONE,
	SEAM_SKID_BEHIND, /* callers are those of the state behind */
	/* Stacks with that end: */
	SEAM_SKID_IRREVERSIBLE,
	SEAM_SKID_BELOW_SP,
	SEAM_SKID_MOMENT_END,
	SEAM_SKID_FATES
};

struct seam_skid_outcome {
	uint8_t fate; /* enum seam_skid_fate */
	uint8_t kind; /* enum seam_skid_kind, but of SAME and NONE */
};

struct seam_skid_counts {
	uint64_t n[SEAM_SKID_FATES]; /* [SEAM_SKID_NONE] is not counted */
	uint64_t by[SEAM_SKID_FATES][SEAM_SKID_KINDS];
};

static inline void seam_skid_count(struct seam_skid_counts *counts,
				   const struct seam_skid_outcome *outcome)
{
	if (outcome->fate == SEAM_SKID_NONE)
		return;
	counts->n[outcome->fate]++;
	counts->by[outcome->fate][outcome->kind]++;
}

/* Stable names, for output; static strings. */
const char *seam_skid_kind_name(enum seam_skid_kind kind);
const char *seam_skid_fate_name(enum seam_skid_fate fate);

#endif
