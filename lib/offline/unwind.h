/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Unwinds the stack copies of a recording, as perf record --call-graph dwarf
 * makes them. By tables first, which are fast, take no lock and so serve all
 * threads at once; where these do not lead to the end, from the leaf anew by
 * full CFI and all else that the recorder's copies are unwound with
 * (unwind/dump.h), one stack at a time.
 */
#ifndef SEAM_LIB_OFFLINE_UNWIND_H
#define SEAM_LIB_OFFLINE_UNWIND_H

#include "cfi/decoder.h"
#include "offline/file.h"
#include "unwind/perf-regs.h"
#include "unwind/skid-kind.h"

#define SEAM_OFFLINE_FRAMES 1024
/* What lies further from SP is not believed to be of the same stack. */
#define SEAM_OFFLINE_STACK_MAX (UINT64_C(64) << 20)

struct seam_offline_steps;

struct seam_offline_area {
	uint64_t start, end, off;
	struct seam_offline_file *file; /* NULL: of none */
};

/* A copy, and where its addresses lie. All is borrowed. */
struct seam_offline_copy {
	struct seam_perf_user user;
	uint64_t ip; /* the sample's own */
	bool may_be_exec; /* the program may be the one that an exec replaced */
	bool is_doubted; /* the registers are not those of the kernel's entry */
	bool is_precise; /* it is another moment's than the registers */
	/* Theirs is that of the interrupt, some instructions behind: as of
	 * AMD's IBS. Or it may be: they are taken for those behind the one. */
	bool is_later, may_be_later;
	/* Return: whether code is mapped there; *ret_file: NULL: of no file. */
	bool (*find)(void *ctx, uint64_t avma, struct seam_offline_file **ret,
		     uint64_t *ret_off);
	/* The i-th mapping of code, from 0 on. Return: false: there are no
	 * more. NULL: not known. */
	bool (*area)(void *ctx, size_t i, struct seam_offline_area *ret);
	void *ctx;
	/* Where these are the same, find and area say the same; 0, 0: not
	 * known. */
	uint32_t maps[2];
	struct seam_offline_steps *steps; /* the thread's; NULL: it has none */
};

struct seam_offline_stack {
	int end; /* enum seam_err */
	bool is_cut; /* the copy's size is why it ends */
	bool by_cfi; /* tables did not do */
	/* The caller's: whether it was in the kernel, of which nothing is
	 * known. */
	bool is_unchecked;
	size_t n;
	uint64_t sp;
	struct seam_dump_reach reach;
	struct seam_skid_outcome skid;
	uint64_t ips[SEAM_OFFLINE_FRAMES];
	uint8_t methods[SEAM_OFFLINE_FRAMES]; /* enum seam_method */
};

#define SEAM_OFFLINE_ENTERED 4096

struct seam_offline {
	struct seam_offline_files files;
	/* What was found of pairs of a leaf and a return address: a hash of
	 * them, and of the mappings where these decide, whose lowest bit is the
	 * answer (entered.h). No lock. */
	uint64_t entered[SEAM_OFFLINE_ENTERED];
	/* With the files' lock held. */
	struct seam_decoder *decoder; /* NULL: not needed yet */
};

int seam_offline_init(struct seam_offline *o);
void seam_offline_fini(struct seam_offline *o);

/*
 * Any thread may call it. In the kernel, a sample may have the user's SP or ip
 * of another moment: then the end is SEAM_UNSURE and there are no frames.
 */
void seam_offline_unwind(struct seam_offline *o,
			 const struct seam_offline_copy *copy,
			 struct seam_offline_stack *ret);

/* By tables alone (step.c). Return: whether it came to an end that CFI would
 * come to as well. */
bool seam_offline_step(struct seam_offline *o,
		       const struct seam_offline_copy *copy,
		       const struct seam_dump *dump,
		       struct seam_offline_stack *ret);

#endif
