// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Times a process' system calls, and asks for the stack of a slow one. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "seam/seam.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
const volatile unsigned int client, pid;
const volatile unsigned long long slow_ns;
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 10240);
	__type(key, __u64);
	__type(value, __u64);
} began SEC(".maps"), took SEC(".maps");

SEC("raw_tp/sys_enter")
int call_begins(void *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();

	if (thread >> 32 == pid)
		bpf_map_update_elem(&began, &thread, &now, BPF_ANY);
	return 0;
}

SEC("raw_tp/sys_exit")
int call_ends(void *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid(), cookie, ns;
	__u64 *start = bpf_map_lookup_elem(&began, &thread);

	ns = start ? bpf_ktime_get_ns() - *start : 0;
	cookie = ns > slow_ns ? seam_request(client, SEAM_FROM_KERNEL) : 0;
	if (cookie)
		bpf_map_update_elem(&took, &cookie, &ns, BPF_ANY);
	return 0;
}
