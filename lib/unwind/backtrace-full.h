/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The own stack where rules do not suffice: with full CFI and every register
 * that calls preserve, from the first frame on. Async-signal-safe, some
 * microseconds a frame.
 */
#ifndef SEAM_LIB_UNWIND_BACKTRACE_FULL_H
#define SEAM_LIB_UNWIND_BACKTRACE_FULL_H

#include "unwind/own-memory.h"
#include "unwind/snapshot.h"

struct seam_full_start {
	const struct seam_snapshot *snapshot;
	uint64_t context; /* ucontext of the interrupted leaf; 0: none */
	/* Without context: a caller of the function that asks. */
	uint64_t ip, sp;
	uint64_t pc; /* of the frame that was not stepped */
};

/*
 * Goes on behind the n addresses in buffer, of size, if it finds these too.
 * *ret_end: why they end there; changed if more is found.
 * Return: how many addresses there are now.
 */
int seam_backtrace_full(const struct seam_full_start *start, void **buffer,
			int n, int size, int *ret_end);

/* In a child after fork: what other threads held is free. */
void seam_backtrace_full_forked(void);

#endif
