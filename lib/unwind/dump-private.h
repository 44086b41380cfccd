/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the unwinding of a copied stack is made of: by CFI (dump.c), without
 * any rules (dump-bare.c), by scanning (dump-guess.c). */
#ifndef SEAM_LIB_UNWIND_DUMP_PRIVATE_H
#define SEAM_LIB_UNWIND_DUMP_PRIVATE_H

#include "core/x86-insn.h"
#include "unwind/dump.h"

struct seam_dump_reader {
	const struct seam_dump *dump;
	bool beyond; /* the last failure was past the end of a cut copy */
	size_t steps_left; /* of a trial; 0: no limit */
};

/* A frame under way. */
struct seam_dump_frame {
	struct seam_regs regs;
	size_t nr;
	size_t by_fp_nr; /* the last frame that rbp led to */
	bool is_unproven; /* it, or one below it, was found without rules */
	bool exact;
	uint8_t method; /* that it was found by: enum seam_method */
};

struct seam_dump_found {
	uint64_t *ips;
	uint8_t *methods; /* may be NULL */
	size_t n, max;
};

/* A word of the copy: seam_read_fn. */
int seam_dump_read(void *ctx, uint64_t avma, size_t size, uint64_t *ret_value);

/* As it is now, or only as it was when the stack was copied. Return: whether
 * there is code at all. What lacks behind it is 0. */
bool seam_dump_code(struct seam_dump_reader *r, uint64_t avma,
		    enum seam_dump_when when, struct seam_x86_bytes *ret);
/* The eight bytes that end at avma, with 0 for those before its page if
 * nothing is there. */
bool seam_dump_before(struct seam_dump_reader *r, uint64_t avma,
		      enum seam_dump_when when, uint64_t *ret);
bool seam_dump_is_code(struct seam_dump_reader *r, uint64_t avma);

/* From a frame on until the stack ends; each frame is added to found. Return:
 * the end code. */
int seam_dump_frames(struct seam_dump_reader *r, struct seam_dump_frame *f,
		     struct seam_dump_found *found);

/* One step in code that has no rules. Return: 0 or an end code; f is as it was
 * then. */
int seam_dump_bare(struct seam_dump_reader *r, struct seam_dump_frame *f);

/* Goes on behind the frame where all else ended, found->n - 1. Return: whether
 * anything was added. */
bool seam_dump_guess(struct seam_dump_reader *r,
		     const struct seam_dump_frame *f,
		     struct seam_dump_found *found);

#endif
