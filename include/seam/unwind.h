/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/unwind.h: steps any machine state: of another process, a core file, a
 * copied stack, another architecture.
 *
 * You give registers, a way to read the target's memory, and tables: where
 * its code lies, and its rules. You get the caller's registers, frame by
 * frame.
 *
 *	struct seam_tables *tables;
 *	struct seam_unwind_state state = {
 *		.sz = sizeof(state), .machine = SEAM_MACHINE_AMD64};
 *	...state.pc, state.regs, state.valid...
 *	seam_tables_new(&tables);
 *	seam_tables_add_process(tables, pid, NULL);
 *	do {
 *		printf("%#lx\n", state.pc);
 *		end = seam_unwind(&state, tables, seam_read_process, &pid);
 *	} while (!end);
 *	seam_tables_free(tables);
 */
#ifndef SEAM_UNWIND_H
#define SEAM_UNWIND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "seam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum seam_machine {
	SEAM_MACHINE_AMD64 = 1,
	SEAM_MACHINE_AARCH64 = 2,
	SEAM_MACHINE_S390X = 3,
	SEAM_MACHINE_AARCH64_BE = 4,
};

/* Registers by DWARF number: amd64 0 to 15; aarch64 x0 to x30, 31 SP; s390x
 * r0 to r15, 16 to 31 f0 to f15 in DWARF's order. */
#define SEAM_UNWIND_REGS 32

/* seam_unwind's own: the last frame whose registers are all followed. */
struct seam_unwind_base {
	uint64_t pc;
	uint64_t regs[SEAM_UNWIND_REGS];
	uint32_t valid;
	uint32_t is_return;
};

/*
 * A frame. All that is 0 says: interrupted just before pc, as by a signal or
 * ptrace; every register that is valid is what it is there.
 */
struct seam_unwind_state {
	size_t sz; /* sizeof(struct seam_unwind_state) */
	uint32_t machine; /* enum seam_machine */
	/* Of the registers SP and FP are known, others where valid says so. */
	uint8_t is_caller;
	uint8_t is_return; /* pc is a return address */
	uint16_t pad;
	uint64_t pc;
	uint64_t regs[SEAM_UNWIND_REGS];
	uint32_t valid; /* bit n: regs[n] is known; SP has to be */
	uint32_t pad2;
	/* aarch64: the bits of a return address that may be its signature, as
	 * ptrace's NT_ARM_PAC_MASK has them; 0: bits 48 to 54 and 56 to 63. */
	uint64_t pac_mask;
	struct seam_unwind_base base; /* starts as zeros */
};

/* Reads size bytes at an address of the target. Return: 0 or -errno. */
typedef int (*seam_read_memory)(void *ctx, uint64_t addr, void *to,
				size_t size);

/*
 * Tables: stretches of a target's code and their rules. One thread at a time
 * uses them. Where stretches overlap, the one added last is asked.
 */
struct seam_tables;
int seam_tables_new(struct seam_tables **ret);
/* NULL is fine. Return: NULL. */
struct seam_tables *seam_tables_free(struct seam_tables *tables);

/*
 * Code from start to end has the rules of an SFrame section that lies at
 * section_addr in the same space. bytes are borrowed until the tables are
 * freed. The section is verified.
 * Return: 0; -EINVAL with *reterr; -ENOMEM.
 */
int seam_tables_add_sframe(struct seam_tables *tables, uint64_t start,
			   uint64_t end, uint64_t section_addr,
			   const void *bytes, size_t size,
			   struct seam_errinfo *reterr);

/*
 * Code from start to end is mapped from a file, from an offset on. Its rules
 * are made of its CFI when they are first needed. fd stays the caller's and
 * may be closed.
 * Return: 0; -errno.
 */
int seam_tables_add_file(struct seam_tables *tables, uint64_t start,
			 uint64_t end, uint64_t off, int fd,
			 struct seam_errinfo *reterr);

/*
 * All code that a process has mapped now: of its files, which are opened
 * through the process, and of the vDSO. What cannot be opened has no rules.
 * Return: how many stretches, or -errno, when some may have been added.
 */
int seam_tables_add_process(struct seam_tables *tables, pid_t pid,
			    struct seam_errinfo *reterr);

/*
 * Steps to the caller. Where a rule of amd64 needs a register that rules do
 * not follow, or there is none, it begins anew by full CFI, from the last frame
 * whose registers were all known; so the target must stand still, and one
 * state serves for its whole stack.
 * Return: 0: *state is the caller's; an end code (enum seam_end): *state is as
 * it was; -EINVAL: it is not one that can be stepped; -ENOMEM.
 */
int seam_unwind(struct seam_unwind_state *state, struct seam_tables *tables,
		seam_read_memory read, void *ctx);

/* For seam_unwind: reads a process's memory; ctx is a pid_t *. */
int seam_read_process(void *ctx, uint64_t addr, void *to, size_t size);

#ifdef __cplusplus
}
#endif

#endif
