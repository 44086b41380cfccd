/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What becomes of a clock's tick between its timer's expiry and the event
 * program: nobody else tells of the ticks that get lost there.
 */
#ifndef SEAM_BPF_TICK_H
#define SEAM_BPF_TICK_H

#include "bpf/mapping.h"

/* The event that a timer lies in. Of another kind's timer this is something
 * else, whose cookie is not our tag. */
static __always_inline const struct perf_event *event_of(struct hrtimer *timer)
{
	return untrusted_below(
		timer, bpf_core_field_offset(struct perf_event, hw.hrtimer),
		TYPE_ID(struct perf_event));
}

static __always_inline uint32_t event_number(const struct perf_event *event)
{
	return event->bpf_cookie & ~SEAM_EVENT_TAG_MASK;
}

static __always_inline void tick_begin(struct seam_tick *tick,
				       struct hrtimer *timer,
				       const struct perf_event *event,
				       uint64_t runs)
{
	tick->timer = (uint64_t)timer;
	tick->runs = runs;
	tick->live = 0;
	/* Of a kernel that counts otherwise nothing can be told. */
	if (!bpf_core_field_exists(event->hw.interrupts_seq) ||
	    !bpf_core_field_exists(event->hw.interrupts))
		return;
	tick->seq = event->hw.interrupts_seq;
	tick->interrupts = event->hw.interrupts;
	tick->live = event->state == PERF_EVENT_STATE_ACTIVE &&
		     !(event->hw.state & PERF_HES_STOPPED);
}

/*
 * The kernel made no event of the tick, though nothing had stopped the event,
 * which counts its interrupts for throttling: none was added. So no handler
 * of any event got it, ours as little as perf's own. A kernel does this where
 * the timer interrupted no registers, and one that hides code or tasks of
 * whoever runs the machine does it there.
 */
static __always_inline bool tick_withheld(const struct seam_tick *tick,
					  const struct perf_event *event)
{
	return event->hw.interrupts_seq == tick->seq &&
	       event->hw.interrupts == tick->interrupts;
}

/* What the timer interrupted, or NULL. */
static __always_inline const struct pt_regs___kernel *
tick_regs(struct hrtimer *timer)
{
	const char *bases = (const char *)timer->base->cpu_base;
	uint64_t regs;

	if (!seam_irq_regs)
		return NULL;
	regs = WORD_AT(bases + seam_irq_regs);
	return regs ? VIEW(struct pt_regs___kernel, regs) : NULL;
}

#endif
