/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What processes do, as the kernel's perf tells it: mmap, comm, fork, exit.
 * One dummy event and ring for each CPU, read together in order of time. Other
 * events may have their samples come by the same rings.
 */
#ifndef SEAM_LIB_EVENT_SIDEBAND_H
#define SEAM_LIB_EVENT_SIDEBAND_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "seam/error.h"

struct seam_sideband;

struct seam_sideband_opts {
	uint32_t pages; /* of each CPU's buffer, a power of two; 0: the usual */
	const struct seam_scope *scope; /* whose; NULL: every task's */
	/* For samples too: the usual is more, or as much as may be locked,
	 * and the descriptor of seam_sideband_fd tells of them. */
	bool samples;
	bool stacks; /* the user's halves that the kernel defers, too */
	bool quiet; /* and nothing else: processes are another's matter */
};

/* One record, with the tail that SEAM_PD_SAMPLE_TYPE gives it; or a sample
 * that begins as that says. */
struct seam_side_record {
	uint64_t time_ns;
	uint32_t cpu;
	const struct perf_event_header *header;
};

int seam_sideband_open(const struct seam_sideband_opts *opts,
		       struct seam_sideband **ret, struct seam_errinfo *reterr);
struct seam_sideband *seam_sideband_close(struct seam_sideband *sb);
int seam_sideband_enable(struct seam_sideband *sb);
/* Sends an event's samples to the rings of its CPUs. */
int seam_sideband_take(struct seam_sideband *sb, const struct seam_event *ev);
/* Readable when a ring fills; borrowed. Without samples: -1. */
int seam_sideband_fd(const struct seam_sideband *sb);
/* Whether the i-th CPU's ring was so full when it was last read that it may
 * have lost what no record tells yet. */
bool seam_sideband_tight(const struct seam_sideband *sb, size_t i);
/* The event's attr and ids, for the recording's header. */
const struct seam_event *seam_sideband_event(const struct seam_sideband *sb);

/*
 * All records that wait, by time, but for those younger than lag_ns, which
 * the next read has: an older one may still be on its way from another CPU.
 * They are valid until the next read, and the array is the caller's to change.
 * Return: how many, or -ENOMEM: none. *ret_lost grows by what the kernel says
 * it dropped, and what there was no memory for.
 */
long seam_sideband_read(struct seam_sideband *sb, uint64_t lag_ns,
			struct seam_side_record **ret, uint64_t *ret_lost);
/* How many there was no memory for, on whatever CPU, since it was opened. */
uint64_t seam_sideband_unkept(const struct seam_sideband *sb);

#endif
