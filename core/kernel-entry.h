/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Whether the registers that a task entered the kernel with can be believed in
 * the middle of its stay. At the return to user space they can; but an event
 * may come while they are written, which its kernel stack tells:
 *
 *   before they are saved, what lies where they will is of the entry before.
 *   The leaf's stack pointer is then the user's, or the entry area's, whatever
 *   the doors call there against speculation; or the leaf is in the code of the
 *   kernel's doors, and its stack pointer not below them all.
 *   the kernel replaces them for a signal, at the return from one, and for old
 *   vsyscalls. Code that does is then what was interrupted: it calls nothing
 *   with some of them written. With probes it does, and is one of the frames.
 *
 * On the way out they stay where they are after they were loaded; but that
 * code is a door's, too, and is not told from the way in.
 */
#ifndef SEAM_CORE_KERNEL_ENTRY_H
#define SEAM_CORE_KERNEL_ENTRY_H

#include "core/env.h"

#define SEAM_KERNEL_STACK (64u << 10) /* bytes; no kernel has a larger one */
/* What a processor pushes, and the kernel: struct pt_regs, and what FRED has
 * behind it. */
#define SEAM_KERNEL_REGS_SIZE 192
/* x86-64: the cpu_entry_area, where exceptions begin on a stack of their own.
 * The kernel's documentation of its memory map has it, and no randomness moves
 * it. */
#define SEAM_KERNEL_ENTRY_AREA 0xfffffe0000000000ULL
#define SEAM_KERNEL_ENTRY_AREA_SIZE (512ULL << 30)

/*
 * Where it is enough that they can be had at the return: whether they may not
 * be saved yet, by the event's stack pointer alone. It is still the user's, or
 * the entry area's, or it is where they are pushed. An interrupt's own stack is
 * not taken for such, as all are saved before it. sp, regs: as below.
 */
SEAM_INLINE bool seam_kernel_may_lack_regs(uint64_t sp, uint64_t regs)
{
	if (!sp)
		return false;
	return !(sp >> 63) || sp - regs - 1 < SEAM_KERNEL_REGS_SIZE ||
	       sp - SEAM_KERNEL_ENTRY_AREA < SEAM_KERNEL_ENTRY_AREA_SIZE;
}

/* start == end: there is none. */
struct seam_kernel_range {
	uint64_t start, end;
};

#define SEAM_KERNEL_DOORS 8 /* powers of two */
#define SEAM_KERNEL_WRITERS 32
#define SEAM_KERNEL_PROBERS 8

struct seam_kernel_entry {
	/* Where every way into the kernel begins, and registers are saved. */
	struct seam_kernel_range doors[SEAM_KERNEL_DOORS];
	/* What replaces registers that were saved, by itself or while it calls
	 * others. */
	struct seam_kernel_range writers[SEAM_KERNEL_WRITERS];
	struct seam_kernel_range probers[SEAM_KERNEL_PROBERS];
};

SEAM_INLINE bool seam_kernel_has(const volatile struct seam_kernel_range *r,
				 uint32_t n, uint64_t addr)
{
	uint32_t i;

	for (i = seam_unknown(0); i < n; i++) {
		uint32_t at = seam_unknown(i) & (n - 1);
		uint64_t start = r[at].start;

		SEAM_LOOP_GUARD;
		if (addr - start < r[at].end - start)
			return true;
	}
	return false;
}

/*
 * ips: the kernel's stack, leaf first, nr of at most max. sp: the leaf's; 0:
 * not known, and it is no door's. regs: the address at which the last register
 * is saved.
 */
SEAM_INLINE bool
seam_kernel_is_sure(const volatile struct seam_kernel_entry *entry,
		    const uint64_t *ips, uint32_t nr, uint32_t max, uint64_t sp,
		    uint64_t regs)
{
	bool is_door = true; /* what the frame was interrupted by is */
	uint64_t last = 0;
	uint32_t i;

	if (!nr || seam_kernel_may_lack_regs(sp, regs))
		return false;
	if (sp && (sp > regs || regs - sp >= SEAM_KERNEL_STACK) &&
	    seam_kernel_has(entry->doors, SEAM_KERNEL_DOORS, ips[0]))
		return false;
	for (i = seam_unknown(0); i < nr; i++) {
		uint64_t at = seam_unknown(i);

		SEAM_LOOP_GUARD;
		if (at >= max)
			break;
		last = ips[at];
		if (is_door &&
		    seam_kernel_has(entry->writers, SEAM_KERNEL_WRITERS, last))
			return false;
		if (seam_kernel_has(entry->probers, SEAM_KERNEL_PROBERS, last))
			return false;
		is_door =
			seam_kernel_has(entry->doors, SEAM_KERNEL_DOORS, last);
	}
	/* Else the stack goes on behind what was seen of it. */
	return is_door;
}

#endif
