/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The client that writes a recording: samples, user stacks and sideband to
 * perf.data, each wanted sample counted under what became of its stack.
 *
 * A user stack is held until its entry is over, because readers hand out a
 * task's waiting samples at that task's next stack: the record is stamped
 * after the entry's last sample (late ones, of exec and exit too) and before
 * the task's next one.
 */
#ifndef SEAM_LIB_RECORD_RECORDER_H
#define SEAM_LIB_RECORD_RECORDER_H

#include "core/err.h"
#include "perfdata/writer.h"
#include "seam/tracer.h"

struct seam_recorder;

struct seam_recorder_opts {
	size_t sz;
	struct seam_session_opts session;
	struct seam_client_opts client; /* callbacks are the recorder's */
	const char *output;
	char *const *argv;
	int argc;
	int zstd_level;
};

/* What became of a recording; valid after seam_recorder_stop. */
struct seam_summary {
	struct seam_counts counts;
	uint64_t samples; /* written */
	uint64_t idle; /* of those, of the idle task; not in counts.events */
	uint64_t wanted; /* of those, that want a user half */
	uint64_t end[SEAM_END_MAX]; /* of wanted, by end code */
	uint64_t stacks; /* user stacks written that serve samples */
	uint64_t unused; /* taken, but no sample wanted them */
	uint64_t max_served; /* most samples on one stack */
	uint64_t bytes; /* of the file */
	char event[64]; /* the first event's name */
};

int seam_recorder_open(const struct seam_recorder_opts *opts,
		       struct seam_recorder **ret, struct seam_errinfo *reterr);
int seam_recorder_start(struct seam_recorder *r, struct seam_errinfo *reterr);
int seam_recorder_fd(const struct seam_recorder *r);
/* Reads what waits and writes it. Errors of the output are sticky. */
int seam_recorder_run(struct seam_recorder *r);
/* Return: the first error of all; the summary is filled in any case. */
int seam_recorder_stop(struct seam_recorder *r, struct seam_summary *ret);
struct seam_recorder *seam_recorder_close(struct seam_recorder *r);

#endif
