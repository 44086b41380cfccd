/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Steps that were taken, for the next stack of the same thread to take again:
 * most of its frames are where they were. A step follows from the frame, what
 * is mapped, and the words that it read; so these are compared, and then
 * neither is a rule looked for, nor does the next frame wait for the words,
 * which are mostly in no cache yet.
 */
#ifndef SEAM_LIB_OFFLINE_STEPS_H
#define SEAM_LIB_OFFLINE_STEPS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/skid-insn.h"

#define SEAM_OFFLINE_STEPS 512
#define SEAM_OFFLINE_INSNS 512
#define SEAM_STEP_NO_WORD UINT32_MAX

/* Of a frame that calls, its FP known, and its caller's too. */
struct seam_step_kept {
	uint64_t ip, sp, fp;
	uint64_t caller_ip, caller_fp;
	uint32_t maps[2]; /* 0, 0: none is kept here */
	/* Above sp: the caller's, and where its ip and FP were read. */
	uint32_t caller_sp, ip_at;
	uint32_t fp_at; /* SEAM_STEP_NO_WORD: it was not read */
	uint32_t pad;
};

static_assert(sizeof(struct seam_step_kept) == 64, "one line of a cache");

/* What an instruction does that precise events have named. */
struct seam_insn_kept {
	uint64_t ip;
	uint32_t maps[2]; /* 0, 0: none is kept here */
	struct seam_skid_insn insn;
};

/* Of one thread that unwinds; all 0 at first. */
struct seam_offline_steps {
	struct seam_step_kept v[SEAM_OFFLINE_STEPS];
	struct seam_insn_kept insns[SEAM_OFFLINE_INSNS];
};

static inline struct seam_step_kept *
seam_steps_at(struct seam_offline_steps *steps, uint64_t ip, uint64_t sp)
{
	uint64_t mixed = (ip ^ sp << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return &steps->v[(mixed >> 32) % SEAM_OFFLINE_STEPS];
}

#endif
