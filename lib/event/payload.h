/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What tracepoints tell, for samples that a BPF program makes.
 *
 * A program sees a tracepoint's arguments, not the record that perf would make
 * of them. So the tracepoint is opened as a perf event as well, without BPF,
 * for its records alone, and a sample finds its own by thread and time: the
 * kernel calls those who listen in the order in which they came, and perf came
 * first. So it is the thread's last one before the sample, by a microsecond, of
 * the same interrupts, since one may come between the two and hit it as well;
 * if none was lost in between; where one may have been, there is none.
 */
#ifndef SEAM_LIB_EVENT_PAYLOAD_H
#define SEAM_LIB_EVENT_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "seam/error.h"

struct seam_payloads;

/* Takes the records of those events that have a payload, before any program is
 * attached to their tracepoints. pages: of each buffer, 0: the usual. No event
 * has one: *ret is NULL, with which nothing else may be called but close.
 * The events stay the caller's, and must outlive *ret. */
int seam_payloads_open(const struct seam_event *events, size_t n,
		       uint32_t pages, struct seam_payloads **ret,
		       struct seam_errinfo *reterr);
struct seam_payloads *seam_payloads_close(struct seam_payloads *p);

/* Readable when a buffer fills; borrowed. */
int seam_payloads_fd(const struct seam_payloads *p);
/* Reads what there is, after the samples that it is for were drained. */
int seam_payloads_read(struct seam_payloads *p);

/* A sample that wants its own. */
struct seam_payload_of {
	const struct seam_event *event;
	uint32_t tid, cpu;
	uint32_t flags; /* enum seam_sample_flags */
	uint64_t time_ns;
};

/*
 * The payload for a sample; each serves one. Valid until the next read. Return:
 * NULL: there is none; it counts as lost.
 */
const void *seam_payloads_find(struct seam_payloads *p,
			       const struct seam_payload_of *of,
			       size_t *ret_size);
uint64_t seam_payloads_lost(const struct seam_payloads *p);
/* Addresses of the kernel that were taken out, for events with :u. */
uint64_t seam_payloads_hidden(const struct seam_payloads *p);

#endif
