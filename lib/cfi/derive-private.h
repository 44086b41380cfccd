/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Inside the derivation of rules. derive-decode.c says what one instruction
 * does to the stack, derive-walk.c follows one function's paths,
 * derive-entries.c finds where functions begin, derive-linkage.c where stubs
 * do and derive-tail.c where a hole goes on from an FDE, derive-jumps.c looks
 * for jumps into them, and derive.c decides which of them to believe.
 * derive-padding.c knows no functions.
 */
#ifndef SEAM_LIB_CFI_DERIVE_PRIVATE_H
#define SEAM_LIB_CFI_DERIVE_PRIVATE_H

#include "cfi/derive.h"
#include "elf/stub.h"

/* Limits: real holes are far below them. They bound hostile files. */
#define SEAM_DERIVE_MAX_INSNS 4096 /* of a function */
#define SEAM_DERIVE_MAX_FUNCS 65536
#define SEAM_DERIVE_MAX_TOTAL (1u << 20) /* instructions of an image */
#define SEAM_DERIVE_MAX_HEIGHT (1 << 24)

enum seam_insn_flow {
	SEAM_FLOW_NEXT,
	SEAM_FLOW_JUMP, /* to target */
	SEAM_FLOW_BRANCH, /* to target or on */
	SEAM_FLOW_CALL, /* target, comes back */
	SEAM_FLOW_CALL_INDIRECT,
	SEAM_FLOW_JUMP_INDIRECT,
	SEAM_FLOW_RET,
	SEAM_FLOW_STOP, /* a trap: nothing runs after it */
	SEAM_FLOW_BAD, /* not understood */
};

enum seam_insn_op {
	SEAM_OP_NONE,
	SEAM_OP_SP_ADD, /* rsp += imm */
	SEAM_OP_PUSH, /* imm bytes */
	SEAM_OP_PUSH_FP,
	SEAM_OP_POP, /* imm bytes */
	SEAM_OP_POP_FP,
	SEAM_OP_FP_FROM_SP, /* rbp = rsp + imm */
	SEAM_OP_SP_FROM_FP, /* rsp = rbp + imm */
	SEAM_OP_LEAVE,
	SEAM_OP_FP_LOST, /* rbp = something else */
};

struct seam_insn {
	uint8_t len;
	uint8_t flow; /* enum seam_insn_flow */
	uint8_t op; /* enum seam_insn_op */
	/* Memory it may write to: [disp, disp + size) from rsp or rbp. */
	bool store_sp, store_fp;
	int64_t store_disp;
	uint32_t store_size;
	int64_t imm;
	uint64_t target;
};

struct seam_decoder;
/* Return: false if the bytes are no instruction. */
bool seam_decode(struct seam_decoder *d, const uint8_t *bytes, size_t size,
		 uint64_t svma, struct seam_insn *ret);

/* What holds before an instruction runs. All offsets are below the CFA. */
struct seam_height {
	int32_t height; /* CFA - rsp */
	int32_t saved; /* the caller's rbp lies at CFA - saved; 0: nowhere */
	int32_t frame; /* rbp = CFA - frame, if FP_FRAME */
	uint8_t fp; /* enum seam_fp_state */
};

enum seam_fp_state { SEAM_FP_CALLERS, SEAM_FP_FRAME, SEAM_FP_OTHER };

struct seam_visit { /* an instruction on a path */
	uint64_t svma;
	struct seam_height height;
	uint32_t func; /* index */
	uint8_t len;
	bool is_call; /* execution may not come back from it */
	bool is_forked; /* a child with another stack may be there, too */
	bool is_jumped_into; /* of the first one of its address */
};

struct seam_derive_func {
	uint64_t entry;
	uint64_t limit; /* end by its symbol's size, 0: unknown */
	uint64_t start, end; /* of all that was visited */
	bool failed;
	bool is_tail; /* no function: the system call behind an FDE */
	struct seam_height height; /* at entry, of a tail */
};

struct seam_derive_call { /* func relies on target to return as it should */
	uint64_t target;
	uint32_t func;
};

#define SEAM_DERIVE_STUB 8 /* the least bytes of a stub */
/* A section whose entries behave as functions do. */
struct seam_plt {
	uint64_t start, end;
};

struct seam_derive {
	const struct seam_elf *elf;
	struct seam_cfi *cfi;
	struct seam_decoder *decoder;
	struct seam_plt plts[SEAM_STUB_SECTIONS];
	size_t num_plts;
	uint64_t start; /* e_entry, if a program begins there, or 0 */

	struct seam_derive_func *funcs; /* in the order of finding */
	size_t num_funcs, max_funcs;
	uint32_t *by_entry; /* hash table of indices + 1 */
	size_t entry_slots;

	struct seam_visit *visits;
	size_t num_visits, max_visits;
	struct seam_derive_call *calls;
	size_t num_calls, max_calls;

	uint64_t left; /* bytes that may still be looked at for jumps */
	struct seam_walk *walk; /* derive-walk.c's; freed with free() */
	struct seam_derived_stats stats;
};

/* A stretch of code without an FDE, and its bytes. */
struct seam_hole {
	uint64_t start, end;
	const uint8_t *bytes;
};
bool seam_derive_hole(struct seam_derive *d, uint64_t svma,
		      struct seam_hole *ret);
/* Return: NULL unless all of it lies in one executable segment. */
const uint8_t *seam_derive_bytes(const struct seam_derive *d, uint64_t svma,
				 uint64_t size);
bool seam_derive_has_fde(const struct seam_derive *d, uint64_t svma);
/* It is in a linkage table, whose entries behave as functions. */
bool seam_derive_is_plt(const struct seam_derive *d, uint64_t svma);
/* The piece of the table that makes one function of its rows. */
bool seam_derive_plt(const struct seam_derive *d, uint64_t svma,
		     struct seam_plt *ret_piece);

/* Notes a place where a function begins, outside of linkage tables. Return: 0
 * or -ENOMEM. */
int seam_derive_add(struct seam_derive *d, uint64_t entry, uint64_t limit);
/* The same in one of these. */
int seam_derive_add_stub(struct seam_derive *d, uint64_t entry);
/* Return: NULL if none begins there. */
struct seam_derive_func *seam_derive_func_at(const struct seam_derive *d,
					     uint64_t entry);
/* -EOPNOTSUPP: code is changed by relocations. */
int seam_derive_entries(struct seam_derive *d);
/* Before any function is looked for. */
void seam_derive_find_plts(struct seam_derive *d);
/* Adds the stubs of linkage tables; last, for they may be very many. */
int seam_derive_stubs(struct seam_derive *d);

/* Adds the system calls that FDEs end before. */
int seam_derive_tails(struct seam_derive *d);
int seam_derive_visit_tail(struct seam_derive *d, uint32_t func);
/* Return: false unless the row is one that a derived rule can repeat. */
bool seam_derive_height(const struct seam_cfi_row *row,
			struct seam_height *ret);

struct seam_cfi_range;
/*
 * What is between an FDE and the next one, if it is nothing but padding that
 * may be run through. Return: its end, and in *ret the state that holds in
 * all of it; 0: it is none.
 */
uint64_t seam_derive_padding(struct seam_derive *d,
			     const struct seam_cfi_range *range,
			     struct seam_height *ret);

/* Follows a function: adds to visits, calls and funcs, sets failed. */
int seam_derive_walk(struct seam_derive *d, uint32_t func);

/* Marks functions that other code jumps into the middle of. visits are sorted
 * by address. */
void seam_derive_jumps(struct seam_derive *d);

#endif
