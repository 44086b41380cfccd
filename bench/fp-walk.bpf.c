// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What the kernel's own walks cost: at each event the user's stack by frame
 * pointers, and the kernel's where the event came there. One task, one
 * event: the sums need no locks.
 */
#include "bench/fp-walk.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct fp_walk_sum sum;

static uint64_t ips[FP_WALK_MAX];

static __always_inline long walk(void *ctx, uint64_t flags, uint64_t *ret_ns)
{
	uint64_t began = bpf_ktime_get_ns();
	long bytes = bpf_get_stack(ctx, ips, sizeof(ips), flags);

	*ret_ns = bpf_ktime_get_ns() - began;
	return bytes > 0 ? bytes / 8 : 0;
}

SEC("perf_event")
int fp_walk(struct bpf_perf_event_data *ctx)
{
	volatile uint64_t *cs = (volatile uint64_t *)&ctx->regs.cs;
	uint64_t began, ns;

	sum.samples++;
	sum.user_frames += walk(ctx, BPF_F_USER_STACK, &ns);
	sum.user_ns += ns;
	if (!(*cs & 3)) {
		sum.kernel_frames += walk(ctx, 0, &ns);
		sum.kernel_ns += ns;
		sum.kernel_samples++;
	}
	began = bpf_ktime_get_ns();
	sum.clock_ns += bpf_ktime_get_ns() - began;
	return 0;
}
