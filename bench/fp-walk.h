/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What fp-walk's two halves exchange. */
#ifndef BENCH_FP_WALK_H
#define BENCH_FP_WALK_H

#include <stdint.h>

#define FP_WALK_MAX 127 /* kernel.perf_event_max_stack, as it comes */

struct fp_walk_sum {
	uint64_t samples;
	uint64_t user_frames, user_ns; /* of all samples */
	uint64_t kernel_samples, kernel_frames, kernel_ns;
	uint64_t clock_ns; /* two readings of the clock, nothing between */
};

#endif
