// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Two programs at one event, of which one asks for the stack and nothing else:
 * what they take apart is what asking costs. Each notes how long each call
 * took: a mean has in it what interrupts a call, and what takes the processor
 * away from a virtual machine. See request-cost.c. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "request-cost.h"
#include "seam/seam.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile unsigned int client, pid;

/* How many calls took so many ns; the last: so many or more. */
unsigned int empty_ns[COST_MAX_NS], asks_ns[COST_MAX_NS];

static __always_inline void note(unsigned int *calls, unsigned long long began)
{
	unsigned long long ns = bpf_ktime_get_ns() - began;

	calls[ns < COST_MAX_NS ? ns : COST_MAX_NS - 1]++;
}

SEC("raw_tp/task_rename")
int empty(void *ctx)
{
	unsigned long long began = bpf_ktime_get_ns();

	if (bpf_get_current_pid_tgid() >> 32 == pid)
		note(empty_ns, began);
	return 0;
}

SEC("raw_tp/task_rename")
int asks(void *ctx)
{
	unsigned long long began = bpf_ktime_get_ns();

	if (bpf_get_current_pid_tgid() >> 32 == pid) {
		seam_request(client, SEAM_FROM_KERNEL);
		note(asks_ns, began);
	}
	return 0;
}
