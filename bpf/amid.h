/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Events that come amid an unwind of seam's own: whether it makes them, or
 * they have only interrupted it. Asked nowhere else, so it costs nobody else.
 */
#ifndef SEAM_BPF_AMID_H
#define SEAM_BPF_AMID_H

#include "bpf/maps.h"
#include "bpf/words.h"

#define IN_SOFTIRQ 0x100 /* of the count: one is at work */

/* The queue of the CPU that the task runs on, where the kernel has queues for
 * groups of tasks; else NULL. */
static __always_inline const struct rq *queue_of(const struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(task->se.cfs_rq->rq))
		return NULL;
	return VIEW(struct rq,
		    ADDRESS(struct cfs_rq,
			    ADDRESS(struct task_struct, task, se.cfs_rq), rq));
}

/* Which interrupts are at work here: of enum seam_sample_flags. */
static __always_inline uint32_t context_of(const struct task_struct *task)
{
	const struct rq *rq = queue_of(task);
	uint32_t flags = SEAM_SAMPLE_KNOWN;
	uint64_t count;

	if (!rq || !seam_preempt_count)
		return 0;
	count = WORD_AT((const char *)rq + seam_preempt_count);
	/* PREEMPT_RT counts these for each task. */
	if (bpf_core_field_exists(task->softirq_disable_cnt))
		count |= task->softirq_disable_cnt & IN_SOFTIRQ;
	if (count & IN_SOFTIRQ)
		flags |= SEAM_SAMPLE_SOFTIRQ;
	if (count & seam_in_hardirq)
		flags |= SEAM_SAMPLE_HARDIRQ;
	return count & seam_in_nmi ? flags | SEAM_SAMPLE_NMI : flags;
}

/*
 * is_perf: a clock ticked, memory faulted or the processor counted: that tells
 * what runs, which is the unwind. What another program or a tracepoint tells is
 * the unwind's doing where it comes in the task, and not where it interrupts
 * that. In between is a switch: the unwind sleeps, or the task is preempted.
 */
static __always_inline bool is_doing_of_unwind(const struct task_struct *task,
					       bool is_perf)
{
	const struct rq *rq = queue_of(task);

	if (rq && ADDRESS(struct rq, rq, curr) != (uint64_t)task)
		return task->__state;
	if (is_perf || !rq || !seam_preempt_count)
		return true;
	return !(WORD_AT((const char *)rq + seam_preempt_count) &
		 (IN_SOFTIRQ | seam_in_hardirq | seam_in_nmi));
}

#endif
