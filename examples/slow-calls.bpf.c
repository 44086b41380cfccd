// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Measures the system calls of a process, and asks for the stacks of slow ones.
 * Nothing here knows of unwinding: see slow-calls.c.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>

#include "seam/seam.bpf.h"
#include "slow-calls.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile unsigned int client, pid;
const volatile unsigned long long slow_ns;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, __u64);
} began SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u64);
	__type(value, struct call);
} calls SEC(".maps");

SEC("raw_tp/sys_enter")
int call_begins(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	__u32 tid = id;

	if (id >> 32 == pid)
		bpf_map_update_elem(&began, &tid, &now, BPF_ANY);
	return 0;
}

SEC("raw_tp/sys_exit")
int call_ends(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 *start = bpf_map_lookup_elem(&began, &tid), cookie;
	struct call call = {};
	struct pt_regs regs;

	if (!start)
		return 0;
	call.took_ns = bpf_ktime_get_ns() - *start;
	bpf_map_delete_elem(&began, &tid);
	if (call.took_ns < slow_ns ||
	    bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]))
		return 0;
	call.nr = regs.orig_rax;
	call.args[0] = regs.rdi;
	call.args[1] = regs.rsi;
	call.args[2] = regs.rdx;
	cookie = seam_request(client, SEAM_FROM_KERNEL);
	if (cookie)
		bpf_map_update_elem(&calls, &cookie, &call, BPF_ANY);
	return 0;
}
