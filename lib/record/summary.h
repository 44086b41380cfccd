/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SEAM_LIB_RECORD_SUMMARY_H
#define SEAM_LIB_RECORD_SUMMARY_H

#include "core/err.h"
#include "seam/tracer.h"

#define SEAM_SUMMARY_EVENTS 16

/* What became of a recording; valid after seam_recorder_stop. */
struct seam_summary {
	struct seam_counts counts;
	uint64_t samples; /* written */
	uint64_t idle; /* of those, of the idle task; not in counts.events */
	uint64_t wanted; /* of those, that want a user half */
	uint64_t end[SEAM_END_MAX]; /* of wanted, by end code */
	uint64_t stacks; /* user stacks written that serve samples */
	/* With stacks_only: of an entry that has a sample, or that want no user
	 * half. In wanted and end, but not in samples. */
	uint64_t left_out;
	uint64_t unused; /* taken, but no sample wanted them */
	uint64_t max_served; /* most samples on one stack */
	uint64_t bytes; /* of the file */
	uint64_t unwritten; /* records that the file did not take */
	uint64_t n_refused; /* files, or some of their CFI */
	struct seam_refused refused[SEAM_REFUSED_NAMED]; /* the first of them */
	uint32_t n_events;
	uint32_t no_payload; /* tracepoints whose payload may not be had */
	char events[SEAM_SUMMARY_EVENTS][256]; /* names, cut if longer */
	const char *why_clock; /* nobody asked for that event; or NULL */
	const char *engine; /* its name */
	char others[160]; /* names of those that it shared with at first */
	char alone[160]; /* why it shares with no other recording; or empty */
	char why[160]; /* auto took no better one; or empty */
};

#endif
