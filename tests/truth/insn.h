/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What an instruction may do to the stack of calls. */
#ifndef SEAM_TESTS_TRUTH_INSN_H
#define SEAM_TESTS_TRUTH_INSN_H

#include "cfi/decoder.h"

enum seam_insn_kind {
	SEAM_INSN_OTHER, /* SP moves on its own stack, if at all */
	SEAM_INSN_CALL,
	SEAM_INSN_RET,
	SEAM_INSN_JUMP,
	SEAM_INSN_PUSH,
	SEAM_INSN_POP,
	SEAM_INSN_SWITCH, /* SP may become any value */
	SEAM_INSN_SWITCH_MEM, /* the same, from memory: never an alloca */
	SEAM_INSN_SYSCALL,
	SEAM_INSN_BAD, /* not decoded */
};

struct seam_insn_about {
	uint8_t kind; /* enum seam_insn_kind */
	uint8_t len;
};

void seam_insn_read(struct seam_decoder *d, const uint8_t *bytes, size_t size,
		    uint64_t addr, struct seam_insn_about *ret);

#endif
