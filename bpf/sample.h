/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One sample: what its event asks for, the user's half requested, the
 * kernel's half taken. */
#ifndef SEAM_BPF_SAMPLE_H
#define SEAM_BPF_SAMPLE_H

#include "bpf/ask.h"
#include "bpf/watch.h"
#include "core/entry-count.h"

static __always_inline void count_event(uint32_t event, bool is_ours)
{
	struct seam_cpu_state *cpu = cpu_state();

	if (!cpu || event >= SEAM_MAX_EVENTS)
		return;
	/* A clock may tick inside a tracepoint's program. */
	__sync_fetch_and_add(&cpu->counts[SEAM_COUNT_EVENTS], 1);
	__sync_fetch_and_add(&cpu->event_runs[event], 1);
	if (is_ours)
		__sync_fetch_and_add(&cpu->counts[SEAM_COUNT_WATCHED], 1);
}

/* Whether an event in this mode is none to whoever asks for :u or :k. */
static __always_inline bool is_excluded(struct task_struct *task, uint32_t asks,
					bool in_user)
{
	return ((asks & SEAM_ASK_KERNEL_MODE) && in_user) ||
	       ((asks & SEAM_ASK_NO_KERNEL) && !has_user(task));
}

/* Inside seam's own unwind, and that one's doing. */
static __always_inline bool is_own(struct task_struct *task, bool is_perf)
{
	uint64_t self = (uint64_t)task;
	const struct seam_element *el = bpf_map_lookup_elem(&elements, &self);

	return el && (el->state.entry.flags & SEAM_ENTRY_RUNNING) &&
	       is_doing_of_unwind(task, is_perf);
}

/* The stack was taken before, in an exec or exit: when, and where it left user
 * space. The task's registers may be the new program's by now. */
static __always_inline void fill_tail(struct seam_wire_sample *sample,
				      struct task_struct *task)
{
	uint64_t self = (uint64_t)task;
	const struct seam_element *el = bpf_map_lookup_elem(&elements, &self);

	sample->user_ip = 0;
	if (el) {
		sample->taken_ns = el->state.taken_ns;
		if (!(el->state.regs_flags & REGS_LACKED))
			sample->user_ip = el->state.regs[SEAM_AMD64_REG_IP];
	}
	if (sample->flags & SEAM_SAMPLE_USER)
		sample->ip = sample->user_ip;
}

/* Asks for the user's half. unsure: what the task's registers are, at an event
 * in the kernel. is_perf: bpf/amid.h. Return: whether the event is a sample,
 * and not seam's own doing. */
static __always_inline bool take_user(struct seam_wire_sample *sample,
				      struct task_struct *task, uint32_t depth,
				      bool in_user, bool unsure, bool is_perf)
{
	struct ask a = {
		.depth = depth,
		.turn.unsure = unsure,
		.in_user = in_user,
		.is_perf = is_perf,
		.sleeps = seam_take_sleeps && sample->event == seam_sleep_event,
	};

	head_fill(&sample->head, SEAM_WIRE_SAMPLE, task, 0);
	sample->end = SEAM_NO_USER;
	sample->stack_tid = task->pid;
	sample->taken_ns = 0;
	sample->user_ip = 0;
	if (!has_user(task))
		return true;
	if (!depth)
		return !is_own(task, is_perf);
	/* Known whatever becomes of its stack. */
	if (!in_user && !unsure)
		sample->user_ip = task_regs(task)->ip;
	ask(&a);
	if (!seam_sample_asked(NULL, &a.turn.asked))
		return false;
	sample->head.cookie = a.turn.asked.cookie;
	sample->end = a.turn.asked.end;
	sample->stack_tid = a.turn.asked.stack_tid;
	sample->flags |= a.turn.asked.flags;
	if (a.turn.asked.flags & SEAM_SAMPLE_TAIL)
		fill_tail(sample, task);
	return true;
}

/* Return: the number of frames. */
static __always_inline uint32_t take_kernel(void *ctx,
					    struct sample_buffer *buf)
{
	long bytes = bpf_get_stack(ctx, buf->ips, sizeof(buf->ips), 0);

	return bytes > 0 && bytes <= (long)sizeof(buf->ips) ? bytes / 8 : 0;
}

/* Whether an event in the kernel, whose frames are there, came where the task's
 * registers are not those that it entered with; or, where stacks are taken at
 * the return, are still of the entry before. A global function: the verifier
 * walks it once. */
__noinline int seam_is_unsure(struct sample_buffer *buf ARG_NONNULL)
{
	if (!IS_AT_ONCE)
		return seam_kernel_may_lack_regs(buf->sp, buf->regs);
	return !seam_kernel_is_sure(&seam_kernel_entry, buf->ips,
				    buf->sample.nr, SEAM_MAX_KERNEL, buf->sp,
				    buf->regs);
}

/* What all kinds of events have in common. Its ip, 0 for the kernel's leaf,
 * and its period are there. Return: whether it is a sample, which has the
 * kernel's half or not. */
static __always_inline bool ask_sample(struct seam_wire_sample *sample,
				       struct task_struct *task, uint32_t event,
				       uint32_t flags, bool unsure,
				       bool *ret_kernel_stack)
{
	bool in_user = flags & SEAM_SAMPLE_USER, kernel_stack = !in_user;
	bool is_perf = sample->ip; /* a tracepoint has it from the stack */
	uint64_t nr = event;
	uint32_t asks;

	/* One register to the verifier. */
	asm volatile("" : "+r"(nr));
	if (nr >= SEAM_MAX_EVENTS)
		return false;
	asks = seam_asks[nr].flags;
	if (is_excluded(task, asks, in_user)) {
		count(SEAM_COUNT_EXCLUDED);
		return false;
	}
	if (!in_user && (asks & SEAM_ASK_NO_KERNEL)) {
		sample->ip = unsure ? 0 : task_regs(task)->ip;
		flags = SEAM_SAMPLE_USER | (flags & SEAM_SAMPLE_CONTEXT);
		kernel_stack = false;
	}
	/* A tracepoint has its ip from the stack. */
	if ((asks & SEAM_ASK_NO_KERNEL_STACK) && sample->ip)
		kernel_stack = false;
	sample->event = event;
	sample->flags = flags;
	sample->nr = 0;
	if (!take_user(sample, task, seam_asks[nr].depth, in_user, unsure,
		       is_perf)) {
		count(SEAM_COUNT_OWN);
		return false;
	}
	count(SEAM_COUNT_SAMPLES);
	*ret_kernel_stack = kernel_stack;
	return true;
}

/* With the kernel's half. Its sp is there, too. */
static __always_inline bool make_sample(void *ctx, struct sample_buffer *buf,
					struct task_struct *task,
					uint32_t event, uint32_t flags)
{
	bool kernel_stack = false, unsure = false;
	uint32_t nr = 0;

	if (!(flags & SEAM_SAMPLE_USER) && has_user(task)) {
		/* Taken first where it is to tell what they are worth. */
		if (IS_AT_ONCE)
			nr = take_kernel(ctx, buf);
		buf->sample.nr = nr;
		buf->regs = (uint64_t)task_regs(task);
		unsure = seam_is_unsure(buf);
	}
	if (!ask_sample(&buf->sample, task, event, flags, unsure,
			&kernel_stack))
		return false;
	if (kernel_stack)
		buf->sample.nr = nr ? nr : take_kernel(ctx, buf);
	return true;
}

static __always_inline void sample_emit(struct sample_buffer *buf)
{
	uint64_t nr = buf->sample.nr;
	void *to = own_ring(SEAM_RING_STACKS);

	asm volatile("" : "+r"(nr));
	if (nr > SEAM_MAX_KERNEL)
		nr = SEAM_MAX_KERNEL;
	seam_sample_sent(NULL,
			 !to || bpf_ringbuf_output(to, &buf->sample,
						   sizeof(buf->sample) + nr * 8,
						   ring_flags(to)));
}

static __always_inline void take_sample(void *ctx, struct sample_buffer *buf,
					struct task_struct *task,
					uint32_t event, uint32_t flags)
{
	if (make_sample(ctx, buf, task, event, flags))
		sample_emit(buf);
}

#endif
