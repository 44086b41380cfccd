/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The user's registers and stack as a perf sample has them (REGS_USER and
 * STACK_USER), whoever asked for them: seam's engine `dump`, or
 * perf record --call-graph dwarf.
 */
#ifndef SEAM_LIB_UNWIND_PERF_REGS_H
#define SEAM_LIB_UNWIND_PERF_REGS_H

#include "unwind/dump.h"

/* What unwinding needs, of amd64 as <asm/perf_regs.h> numbers it: ax to ip,
 * flags, and r8 to r15. */
#define SEAM_PERF_REGS_MASK (0xff0000ULL | 0x3ffULL)
/* The ip alone. */
#define SEAM_PERF_IP_MASK (1ULL << 8)

/* PERF_SAMPLE_REGS_ABI_*. */
enum seam_perf_abi {
	SEAM_PERF_ABI_NONE = 0, /* a task without a user half */
	SEAM_PERF_ABI_32 = 1,
	SEAM_PERF_ABI_64 = 2,
};

/* A sample's bytes; borrowed. */
struct seam_perf_user {
	uint64_t abi; /* enum seam_perf_abi */
	uint64_t mask; /* the attribute's sample_regs_user */
	const uint8_t *regs; /* n_regs words, one for each bit of the mask */
	size_t n_regs;
	const uint8_t *stack; /* from SP on; NULL: no copy */
	size_t stack_size; /* what the kernel could copy */
	size_t stack_room; /* in the sample: less than the attribute asks for
			    * where a record would be too large */
	bool in_kernel; /* the sample was taken in kernel mode */
};

/*
 * Fills all but find and ctx, which are 0. The copy is called cut if it has
 * all the room there was: what another lacks is not mapped, or not resident.
 * Return: 0; -ENODATA: the task has no user half; -EINVAL: SP or ip is not
 * among the registers.
 */
int seam_dump_from_perf(const struct seam_perf_user *user,
			struct seam_dump *ret);

/* The ip alone. Return: false: there is none. */
bool seam_perf_user_ip(const struct seam_perf_user *user, uint64_t *ret);

#endif
