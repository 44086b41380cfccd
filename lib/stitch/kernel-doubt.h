/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Whether a sample in the kernel came where the registers that its task entered
 * with are not there: not saved yet, so that what perf stores as them is of an
 * entry before; or being replaced, for a signal or a probe. Where that code is
 * says the kernel's list of symbols (symbol/kernel-code.h).
 */
#ifndef SEAM_LIB_STITCH_KERNEL_DOUBT_H
#define SEAM_LIB_STITCH_KERNEL_DOUBT_H

#include "perfdata/reader.h"
#include "symbol/kernel-code.h"

struct seam_kernel_doubt {
	bool is_known; /* else nothing is doubted */
	int64_t shift; /* to be taken off recorded addresses */
	struct seam_kernel_entry entry;
	struct seam_kernel_doors doors;
};

/* kallsyms: of the recorded kernel; NULL: what perf has kept of it, or, if it
 * runs here, /proc/kallsyms. Return: 0 or -ENOMEM. */
int seam_kernel_doubt_read(const struct seam_pd_reader *r, const char *kallsyms,
			   struct seam_kernel_doubt *ret);

struct seam_kernel_place {
	/* It begins where the event interrupted the kernel. The ip may be
	 * before that, of a precise event; it counts where there is no chain.
	 */
	struct seam_pd_words chain;
	uint64_t ip;
	bool is_fault; /* the event is a page fault */
};

/* Whether such an event is a page fault. */
bool seam_kernel_is_fault(const struct perf_event_attr *attr);

bool seam_kernel_doubts(const struct seam_kernel_doubt *d,
			const struct seam_kernel_place *at);

#endif
