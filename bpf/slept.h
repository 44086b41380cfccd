/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tasks that sleep already as the recording begins, like a thread that waits
 * for a lock for good. Nothing of theirs was seen, so both halves are taken
 * from outside: the stack at once, as it stays what it is for as long as they
 * sleep, and the sample is sent as those of sleep.h are.
 */
#ifndef SEAM_BPF_SLEPT_H
#define SEAM_BPF_SLEPT_H

#include "bpf/sleep.h"
#include "core/entry-other.h"

/* Not where it was preempted on its way to sleep. What sleeps may be taken off
 * its queue late, between two of these looks. */
static __always_inline bool is_asleep(const struct task_struct *task)
{
	const volatile struct task_struct *now = task;

	if (now->on_cpu || !(now->__state & TASK_SLEEPS))
		return false;
	if (!now->on_rq || (bpf_core_field_exists(task->se.sched_delayed) &&
			    now->se.sched_delayed))
		return true;
	return !now->on_rq;
}

static __always_inline uint64_t switches_of(const struct task_struct *task)
{
	const volatile struct task_struct *now = task;

	return now->nvcsw + now->nivcsw;
}

/* Whether what was read of the task was of one sleep, which goes on. Whoever
 * wakes it changes its state before it is on a CPU. */
static __always_inline bool has_slept_on(const struct task_struct *task,
					 uint64_t switches)
{
	const volatile struct task_struct *now = task;

	return !now->on_cpu && now->__state & TASK_SLEEPS &&
	       switches_of(task) == switches;
}

/* The sample's kernel half, and what is known of the user's. */
static __always_inline void slept_fill(struct sample_buffer *buf,
				       struct task_struct *task, uint32_t asks)
{
	struct seam_wire_sample *sample = &buf->sample;
	long bytes;

	sleep_begin(buf);
	head_fill(&sample->head, SEAM_WIRE_SAMPLE, task, 0);
	sample->end = SEAM_NO_USER;
	sample->stack_tid = task->pid;
	sample->taken_ns = 0;
	sample->user_ip = task_regs(task)->ip;
	sample->nr = 0;
	if (asks & SEAM_ASK_NO_KERNEL) {
		sample->ip = sample->user_ip;
		sample->flags = SEAM_SAMPLE_USER;
		return;
	}
	bytes = bpf_get_task_stack(task, buf->ips, sizeof(buf->ips), 0);
	if (bytes > 0 && bytes <= (long)sizeof(buf->ips))
		sample->nr = bytes / 8;
}

/* Sent when the task runs again, which it may have by now, or sleep once more:
 * then nobody has seen that this sleep was kept, nor on which CPU it ended. */
static __always_inline void slept_keep(struct sample_buffer *buf,
				       struct task_struct *task,
				       uint64_t switches, bool is_wanted)
{
	uint64_t key = (uint64_t)task;
	struct sample_buffer *kept;
	long err;

	count_event(seam_sleep_event, true);
	count(SEAM_COUNT_SAMPLES);
	if (is_wanted)
		count(SEAM_COUNT_WANTED);
	err = own_put(&client_sleeps, &key, buf, BPF_NOEXIST);
	if (err == -EEXIST) {
		sleep_send(buf, bpf_ktime_get_ns());
		return;
	}
	if (err)
		count(SEAM_COUNT_LOST_SLEEP);
	if (err || has_slept_on(task, switches))
		return;
	/* By its time: in one entry a task may sleep more than once. */
	kept = own_find(&client_sleeps, &key);
	if (kept && kept->sample.head.time_ns == buf->sample.head.time_ns &&
	    !__sync_val_compare_and_swap(&kept->sent, 0, 1))
		sleep_send(buf, bpf_ktime_get_ns());
}

/* The cookie of the entry that another client has opened, whose stack is yet to
 * be taken; or 0. */
static __always_inline uint64_t slept_join(struct seam_entry_task *t)
{
	struct seam_element *el = seam_entry_env_element(t);

	return el && !IS_AT_ONCE ? seam_other_join(t, &el->state.entry) : 0;
}

/* With a stack of our own. */
static __always_inline void slept_take(struct sample_buffer *buf,
				       struct task_struct *task,
				       struct task_state *state,
				       uint64_t switches, uint32_t depth)
{
	struct seam_env env = {.state = state, .task = task, .how = HOW_OTHER};
	uint64_t began = bpf_ktime_get_ns();
	int end;

	env.scratch = scratch_take();
	if (!env.scratch) {
		buf->sample.end = SEAM_LOST;
		buf->sample.head.cookie = 0;
		slept_keep(buf, task, switches, true);
		return;
	}
	outside_begin(state, task, depth);
	end = unwind(&env);
	if (has_slept_on(task, switches)) {
		slept_keep(buf, task, switches, true);
		env.scratch->clients = OWN_CLIENT | all_clients();
		env.scratch->lost = 0;
		count(SEAM_COUNT_UNWINDS);
		emit_end(&env, buf->sample.head.cookie, SEAM_STACK_ASLEEP, end,
			 began);
		lose(&env, buf->sample.head.cookie, 0);
	}
	scratch_give(env.scratch);
}

/* One that has run meanwhile has none: its sleep ended as we began. */
static __always_inline void take_slept(struct sample_buffer *buf,
				       struct task_struct *task)
{
	uint64_t switches = switches_of(task), key = (uint64_t)task;
	uint32_t zero = 0, event = seam_sleep_event & (SEAM_MAX_EVENTS - 1);
	uint32_t depth = seam_asks[event].depth;
	struct task_state *state = bpf_map_lookup_elem(&outside_state, &zero);
	struct seam_entry_env env;
	struct seam_entry_task t;

	if (!state || !is_asleep(task))
		return;
	slept_fill(buf, task, seam_asks[event].flags);
	if (!has_slept_on(task, switches) || own_find(&client_sleeps, &key))
		return;
	if (!depth) {
		buf->sample.user_ip = 0;
		slept_keep(buf, task, switches, false);
		return;
	}
	entry_task(&t, &env, task);
	t.depth = depth;
	buf->sample.end = 0;
	buf->sample.head.cookie = slept_join(&t);
	if (buf->sample.head.cookie) {
		slept_keep(buf, task, switches, true);
		return;
	}
	buf->sample.head.cookie = seam_entry_cookie(&t);
	slept_take(buf, task, state, switches, depth);
}

#endif
