/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* skid-decode.c says what an instruction does to the registers that a stack is
 * unwound by, skid-undo.c takes that back, skid.c unwinds. */
#ifndef SEAM_LIB_UNWIND_SKID_INSN_H
#define SEAM_LIB_UNWIND_SKID_INSN_H

#include "core/arch.h"
#include "unwind/skid.h"

#define SEAM_SKID_INSN_MAX 15 /* bytes */
#define SEAM_SKID_NO_REG 0xff
#define SEAM_SKID_BIT(reg) (1u << (reg))

enum seam_skid_flow {
	SEAM_SKID_BAD, /* not understood */
	SEAM_SKID_NEXT,
	SEAM_SKID_JUMP, /* to target, if it is direct */
	SEAM_SKID_BRANCH, /* to target, or on */
	SEAM_SKID_CALL,
	SEAM_SKID_RET,
};

enum seam_skid_op { /* by is what rsp moved by, but for the last two */
		    SEAM_SKID_MOVES,
		    SEAM_SKID_PUSHES, /* value is at rsp now */
		    SEAM_SKID_POPS, /* the word that lies below rsp now is in
				       reg */
		    SEAM_SKID_FP_SET, /* rbp = rsp + value */
		    SEAM_SKID_ENTER,
		    SEAM_SKID_LEAVE,
};

struct seam_skid_insn {
	uint8_t len; /* 0: not known */
	uint8_t flow; /* enum seam_skid_flow */
	uint8_t op; /* enum seam_skid_op */
	uint8_t kind; /* enum seam_skid_kind */
	uint8_t reg; /* pushed or popped, by DWARF; or SEAM_SKID_NO_REG */
	bool has_value, is_direct, is_syscall;
	/* rsp came from elsewhere: what runs next may stand on another stack */
	bool switches;
	uint32_t lost; /* DWARF registers whose value before is not known */
	int32_t by;
	uint64_t value, target;
	/* Memory that it writes: base + scale * index + disp, both by DWARF,
	 * or SEAM_SKID_NO_REG for none; size 0: none, or not known where. */
	uint8_t store_base, store_index, store_scale, store_size;
	int64_t store_disp;
};

/* Return: false, with flow BAD, where it cannot be said what it does. */
bool seam_skid_decode(struct seam_decoder *d, const uint8_t *bytes, size_t size,
		      uint64_t ip, struct seam_skid_insn *ret);

/*
 * dump: registers and stack behind the instruction; made those before it. What
 * is lost is not valid any more. Return: 0; SEAM_SKID_MOMENT: these are not
 * behind it; SEAM_IRREVERSIBLE: it is not understood.
 */
int seam_skid_undo(const struct seam_skid_insn *insn, uint64_t ip,
		   bool is_ip_known, struct seam_dump *dump);

#endif
