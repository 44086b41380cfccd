// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Asks for stacks of tasks that are not the current one. */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "seam/seam.bpf.h"
#include "wakes.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct task_struct {
	int pid, tgid;
} __attribute__((preserve_access_index));

const volatile unsigned int client, pid, parent;
/* No constant: of what is never called the verifier counts calls otherwise. */
unsigned int mode;
unsigned long long lost_asks;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} asked SEC(".maps");

extern struct task_struct *bpf_task_from_pid(int nr) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

static __always_inline void note(unsigned int what, unsigned int tid,
				 unsigned long long cookie)
{
	struct wake wake = {.cookie = cookie, .what = what, .tid = tid};

	if (bpf_ringbuf_output(&asked, &wake, sizeof(wake), 0))
		__sync_fetch_and_add(&lost_asks, 1);
}

SEC("tp_btf/sched_wakeup")
int wakes(unsigned long long *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	if (task->tgid == pid && mode <= WAKES_BOTH)
		note(WAKES_AWAKE, task->pid,
		     seam_request_task(client, SEAM_FROM_KERNEL, task));
	return 0;
}

SEC("tp_btf/sched_switch")
int sleeps(unsigned long long *ctx)
{
	struct task_struct *task = (void *)ctx[1];

	if (task->tgid == pid && mode == WAKES_BOTH)
		note(WAKES_ASLEEP, task->pid,
		     seam_request(client, SEAM_FROM_KERNEL));
	return 0;
}

SEC("tp_btf/sched_switch")
int runs_next(unsigned long long *ctx)
{
	struct task_struct *task = (void *)ctx[2];

	if (task->tgid == pid && mode == WAKES_NEXT)
		note(WAKES_AWAKE, task->pid,
		     seam_request_task(client, SEAM_FROM_KERNEL, task));
	return 0;
}

SEC("tp_btf/sched_switch")
int kicks(unsigned long long *ctx)
{
	struct task_struct *goes = (void *)ctx[1], *task;

	if (goes->tgid != parent || mode != WAKES_KICK)
		return 0;
	task = bpf_task_from_pid(pid);
	if (!task)
		return 0;
	note(WAKES_AWAKE, task->pid,
	     seam_request_task(client, SEAM_FROM_KERNEL, task));
	bpf_task_release(task);
	return 0;
}
