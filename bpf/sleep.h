/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where tasks sleep, and for how long. The sample is made when a task goes to
 * sleep, as that is where its stacks are, and sent when it runs again.
 */
#ifndef SEAM_BPF_SLEEP_H
#define SEAM_BPF_SLEEP_H

#include "bpf/sample.h"

/* Interruptible or not. Stopped, traced and dead tasks do not sleep. */
#define TASK_SLEEPS 3

/* What samples of sleeps have in common. */
static __always_inline void sleep_begin(struct sample_buffer *buf)
{
	buf->sp = 0;
	buf->sent = 0;
	buf->sample.ip = 0;
	buf->sample.period = 0;
	buf->sample.event = seam_sleep_event;
	buf->sample.flags = 0;
}

/* The sleep is over; .sent was set. */
static __always_inline void sleep_send(struct sample_buffer *buf,
				       uint64_t now_ns)
{
	buf->sample.period = now_ns - buf->sample.head.time_ns;
	buf->sample.head.time_ns = now_ns;
	sample_emit(buf);
}

/* Return: whether there is room for a sample. */
static __always_inline bool sleep_fill(struct task_struct *task)
{
	uint32_t slot = BUFFER_SLEEP;
	struct sample_buffer *buf = bpf_map_lookup_elem(&sample_buffers, &slot);
	uint64_t key = (uint64_t)task;
	const struct sample_buffer *last = own_find(&client_sleeps, &key);

	if (!buf)
		return false;
	/* It ended, and nothing told when. */
	if (last && !last->sent)
		count(SEAM_COUNT_LOST_SLEEP);
	sleep_begin(buf);
	return true;
}

static __always_inline void sleep_keep(struct sample_buffer *buf,
				       struct task_struct *task)
{
	uint64_t key = (uint64_t)task;

	if (own_put(&client_sleeps, &key, buf, BPF_ANY))
		count(SEAM_COUNT_LOST_SLEEP);
}

/*
 * The task with this address runs again, or the recording ends. Not every
 * switch can be seen, as tasks are known that leave their CPU without a word,
 * and with it who gets it: so the task tells as well, before its stack is
 * taken. It may be preempted here, and then both would.
 */
static __always_inline void sleep_end(uint64_t key)
{
	uint64_t now_ns = bpf_ktime_get_ns();
	struct sample_buffer *buf = own_find(&client_sleeps, &key);

	if (!buf || __sync_val_compare_and_swap(&buf->sent, 0, 1))
		return;
	buf->sample.head.cpu = bpf_get_smp_processor_id();
	sleep_send(buf, now_ns);
	own_drop(&client_sleeps, &key);
}

/* Of a task that is gone another may have the task_struct. */
static __always_inline void sleep_forget(struct task_struct *task)
{
	uint64_t key = (uint64_t)task;
	const struct sample_buffer *last = own_find(&client_sleeps, &key);
	bool is_lost = last && !last->sent;

	if (!own_drop(&client_sleeps, &key) && is_lost)
		count(SEAM_COUNT_LOST_SLEEP);
}

#endif
