/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What perf's sideband would have said of processes that run already, and
 * of the kernel: COMM, FORK and MMAP2 records made from /proc.
 */
#ifndef SEAM_LIB_PROCESS_SYNTH_H
#define SEAM_LIB_PROCESS_SYNTH_H

#include <linux/perf_event.h>
#include <stdint.h>

typedef int seam_synth_fn(void *ctx, const struct perf_event_header *record);

/* The tail that every record gets. */
struct seam_synth {
	uint64_t time_ns, id;
	seam_synth_fn *fn;
	void *ctx;
};

/* Where the kernel's code is, as /proc/kallsyms has it, read up to there. A
 * start of 0: hidden. */
void seam_synth_find_kernel(uint64_t *ret_start, uint64_t *ret_end);
/* Return: 0, fn's error, or -errno (-ESRCH: the process is gone). */
int seam_synth_kernel(const struct seam_synth *sy, uint64_t start,
		      uint64_t end);
/* with_threads: COMM and FORK for each thread too. */
int seam_synth_process(const struct seam_synth *sy, uint32_t pid);
int seam_synth_all(const struct seam_synth *sy);

#endif
