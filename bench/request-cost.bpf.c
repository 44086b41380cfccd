// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Two programs at one event, of which one asks for the stack and nothing else:
 * what they take apart is what asking costs. See request-cost.c. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "seam/seam.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile unsigned int client, pid;

SEC("raw_tp/task_rename")
int empty(void *ctx)
{
	return bpf_get_current_pid_tgid() >> 32 == pid;
}

SEC("raw_tp/task_rename")
int asks(void *ctx)
{
	if (bpf_get_current_pid_tgid() >> 32 == pid)
		seam_request(client, SEAM_FROM_KERNEL);
	return 0;
}
