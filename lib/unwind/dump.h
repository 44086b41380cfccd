/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Unwinds a copied stack: registers and bytes taken from a task, with full
 * CFI for every frame. Used where the kernel side had no table or no rule.
 */
#ifndef SEAM_LIB_UNWIND_DUMP_H
#define SEAM_LIB_UNWIND_DUMP_H

#include "cfi/cfi.h"
#include "cfi/derive.h"
#include "core/sframe-read.h"

/* Where an address of the target lies. */
struct seam_mapping {
	uint64_t bias; /* avma - svma */
	struct seam_elf *elf; /* NULL: mapped, but not an ELF file we have */
	struct seam_cfi *cfi; /* NULL: no CFI */
	/* Asked where there is no FDE; NULL: not known, or derive makes it. */
	const struct seam_derived *derived;
	/* NULL: not needed. Return: NULL: there is none. */
	const struct seam_derived *(*derive)(void *ctx);
	void *ctx;
	/* Code that was made at run time has this alone; NULL: it is not. */
	const struct seam_sframe *sframe;
	uint64_t sframe_avma;
	bool is_probe_page; /* and nothing else: seam_amd64_probe_page_ra */
	struct seam_errinfo *why; /* gets what is wrong with cfi; or NULL */
};

/* Adds up over all dumps that share it. */
struct seam_dump_counts {
	uint64_t by_fp, guessed; /* frames */
	uint64_t code_gone; /* code that could not be read */
};

/* Code is read later than the stack, and may be another's by then. */
enum seam_dump_when {
	SEAM_DUMP_THEN, /* what cannot have changed since, or nothing */
	SEAM_DUMP_NOW, /* to guess by */
};

/* How far unwinding came, in bytes from the copy's first on; kept at what was
 * found last and farthest. */
struct seam_dump_reach {
	uint64_t read; /* the end of what was read */
	uint64_t missing; /* the end of what was wanted behind the copy; or 0 */
};

struct seam_dump {
	struct seam_regs regs;
	uint64_t stack_avma; /* address of stack[0] */
	const uint8_t *stack;
	size_t stack_size;
	bool cut; /* the stack goes on after the copy */
	struct seam_dump_reach *reach; /* may be NULL */
	/* In a system call: its instruction may be a function's last, so the
	 * leaf's ip is looked up as a return address is. */
	bool syscall;
	/* Return: 0, or -ENOENT if nothing executable is mapped there. */
	int (*find)(void *ctx, uint64_t avma, struct seam_mapping *ret);
	void *ctx;
	/* What else may find frames: enum seam_unwind_how; 0: nothing. */
	uint32_t order;
	bool is_32; /* 32-bit code */
	bool may_be_probed; /* some process has the page for probes */
	/* Reads code, for what is not in a table. Return: how many bytes. */
	size_t (*code)(void *ctx, uint64_t avma, enum seam_dump_when when,
		       void *to, size_t size);
	uint8_t *methods; /* enum seam_method of each ip; may be NULL */
	struct seam_dump_counts *counts; /* may be NULL */
	/* A word below the copy, if it is known (skid.h). */
	bool has_below;
	uint64_t below_avma, below;
	bool *is_below; /* set if another one was wanted there; may be NULL */
	/* Words that have been written over since; their old ones are gone. */
	uint64_t over_avma, over_size;
	bool *is_over; /* set if one was wanted; may be NULL */
	/* What the leaf's rule has below rsp is in its register still: GCC's
	 * rules go on to say that it was saved when it has been popped. Before
	 * the function's end that shows in the code, and need not be said. */
	bool is_popped;
};

/*
 * Return: the number of ips written, leaf first (at least 1, the ip itself);
 * *ret_end: SEAM_OUTERMOST, or why it stopped: SEAM_MAX_STACK, SEAM_NO_TABLE
 * (not mapped or no CFI there), SEAM_NO_RULE, SEAM_BAD_CFA, SEAM_COPY_SHORT
 * (a word beyond the end of a cut copy), SEAM_UNREADABLE (any other word).
 * A return address is looked up at ip - 1 unless the frame was interrupted;
 * so is the leaf's ip in a system call, which may be its function's last
 * instruction.
 * ips are return addresses as they stand, not minus one. Outermost is also:
 * RA 0, or an ip without CFI at the ELF entry point (see table.h).
 * SEAM_UNPROVEN: the outermost frame, but some were found without rules.
 * SEAM_GUESSED: some frames were found by scanning the stack.
 */
size_t seam_dump_unwind(const struct seam_dump *dump, uint64_t *ret_ips,
			size_t max_ips, int *ret_end);

#endif
