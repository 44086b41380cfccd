// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Asks for stacks in a program of each tracing type, of one object. What they
 * are attached to does not come in one stay in the kernel, so that each opens
 * an entry of its own.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>

#include "asks.h"
#include "seam/seam.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define NR_GETPPID 110

const volatile unsigned int client, pid, deletes;
/* No constant: of what is never called the verifier counts calls otherwise. */
unsigned int one_type;
unsigned long long lost_asks;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} asked SEC(".maps");

/* The cookies that threads wait for, and the stacks when they are there. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} waiting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct seam_bpf_stack);
} stacks SEC(".maps");

static __always_inline void ask(unsigned int type, unsigned int from)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct ask ask = {.type = type, .tid = id};

	if (id >> 32 != pid || (one_type < ASKS_TYPES && one_type != type))
		return;
	ask.cookie = seam_request(client, from);
	if (ask.cookie)
		bpf_map_update_elem(&waiting, &ask.tid, &ask.cookie, BPF_ANY);
	if (bpf_ringbuf_output(&asked, &ask, sizeof(ask), 0))
		__sync_fetch_and_add(&lost_asks, 1);
}

SEC("perf_event")
int of_perf_event(struct bpf_perf_event_data *ctx)
{
	ask(ASKS_PERF_EVENT, SEAM_FROM_PERF(ctx));
	return 0;
}

SEC("tracepoint/task/task_rename")
int of_tracepoint(void *ctx)
{
	ask(ASKS_TRACEPOINT, SEAM_FROM_KERNEL);
	return 0;
}

SEC("raw_tp/sys_exit")
int of_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs regs;

	if (!bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]) &&
	    regs.orig_rax == NR_GETPPID)
		ask(ASKS_RAW_TP, SEAM_FROM_KERNEL);
	return 0;
}

static __always_inline void find(__u64 cookie)
{
	struct seam_bpf_stack *stack = bpf_map_lookup_elem(&stacks, &cookie);
	struct found found = {.cookie = cookie};

	if (!stack)
		return;
	found.end = stack->end;
	found.nr = stack->nr;
	__builtin_memcpy(found.ips, stack->ips, sizeof(found.ips));
	if (bpf_ringbuf_output(&asked, &found, sizeof(found), 0))
		__sync_fetch_and_add(&lost_asks, 1);
	if (deletes)
		bpf_map_delete_elem(&stacks, &cookie);
}

/* The thread has been in user space since, so that its last stack is there. */
SEC("raw_tp/sys_enter")
int finds(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), *cookie;
	__u32 tid = id;

	if (id >> 32 != pid)
		return 0;
	cookie = bpf_map_lookup_elem(&waiting, &tid);
	if (!cookie)
		return 0;
	find(*cookie);
	bpf_map_delete_elem(&waiting, &tid);
	return 0;
}

/* The task that goes is still the current one. */
SEC("tp_btf/sched_switch")
int of_tp_btf(unsigned long long *ctx)
{
	ask(ASKS_TP_BTF, SEAM_FROM_KERNEL);
	return 0;
}

SEC("fentry/__x64_sys_getpgid")
int of_fentry(unsigned long long *ctx)
{
	ask(ASKS_FENTRY, SEAM_FROM_KERNEL);
	return 0;
}

SEC("fexit/__x64_sys_getsid")
int of_fexit(unsigned long long *ctx)
{
	ask(ASKS_FEXIT, SEAM_FROM_KERNEL);
	return 0;
}

SEC("uprobe")
int of_uprobe(struct pt_regs *ctx)
{
	ask(ASKS_UPROBE, SEAM_FROM_PROBE);
	return 0;
}

SEC("uretprobe")
int of_uretprobe(struct pt_regs *ctx)
{
	ask(ASKS_URETPROBE, SEAM_FROM_PROBE);
	return 0;
}

SEC("uprobe.s")
int of_uprobe_s(struct pt_regs *ctx)
{
	ask(ASKS_UPROBE_S, SEAM_FROM_PROBE);
	return 0;
}

SEC("kprobe/__x64_sys_getuid")
int of_kprobe(struct pt_regs *ctx)
{
	ask(ASKS_KPROBE, SEAM_FROM_KERNEL);
	return 0;
}

/* In the timer's interrupt, wherever the task was. The perf event's clock is
 * such a timer, and would never ask first. */
SEC("tp_btf/hrtimer_expire_entry")
int of_irq(unsigned long long *ctx)
{
	if (one_type == ASKS_IRQ)
		ask(ASKS_IRQ, SEAM_FROM_KERNEL);
	return 0;
}

/* Behind each handler of an NMI, which may have come anywhere. */
SEC("raw_tp/nmi_handler")
int of_nmi(void *ctx)
{
	if (one_type == ASKS_NMI)
		ask(ASKS_NMI, SEAM_FROM_NMI);
	return 0;
}
