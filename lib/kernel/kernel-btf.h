/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the running kernel's own BTF says of it. */
#ifndef SEAM_LIB_KERNEL_KERNEL_BTF_H
#define SEAM_LIB_KERNEL_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAM_TASK_WORK_IMPL "bpf_task_work_schedule_resume_impl"

struct seam_kernel_facts {
	/* The kfunc that schedules task work, by its name; NULL: none. */
	const char *task_work;
	/* From a CPU's timers to its pointer to the interrupted registers, in
	 * bytes; 0: this BTF does not say. */
	int64_t irq_regs;
	/* Likewise from its queue of tasks to its count of preemption. */
	int64_t preempt_count;
	uint32_t in_hardirq, in_nmi; /* bits of that */
	/* Tracepoints at which BPF programs can be run. */
	bool sys_enter, prctl;
	/* Whether sched_process_exit comes while a task still has its memory.
	 */
	bool exits_with_memory;
	/* Whether a tracepoint's programs may be preempted. */
	bool preempts_programs;
};

/* Of the running kernel. Return: 0 or -errno: it has none. */
int seam_kernel_ask_btf(struct seam_kernel_facts *ret);
/* Of BTF in memory, aligned to 4 bytes. -EINVAL: it is none. */
int seam_kernel_btf_says(const void *data, size_t size,
			 struct seam_kernel_facts *ret);

#endif
