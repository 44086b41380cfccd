/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The client that writes a recording: samples, user stacks and sideband to
 * perf.data, each wanted sample counted under what became of its stack.
 */
#ifndef SEAM_LIB_RECORD_RECORDER_H
#define SEAM_LIB_RECORD_RECORDER_H

#include "perfdata/writer.h"
#include "record/summary.h"
#include "seam/tracer.h"

struct seam_recorder;

struct seam_recorder_opts {
	size_t sz;
	struct seam_session_opts session;
	struct seam_client_opts client; /* callbacks are the recorder's */
	/* One sample, the first, of each entry, without the kernel's half. */
	bool stacks_only;
	/* For who reads along: what there is goes out five times a second, and
	 * is not held back for readers that sort in rounds. */
	bool live;
	const char *output;
	char *const *argv;
	int argc;
	int zstd_level;
	const struct seam_pd_wait *wait; /* see there; NULL: none */
};

int seam_recorder_open(const struct seam_recorder_opts *opts,
		       struct seam_recorder **ret, struct seam_errinfo *reterr);
int seam_recorder_start(struct seam_recorder *r, struct seam_errinfo *reterr);
int seam_recorder_fd(const struct seam_recorder *r);
/* Whether tasks were named to record, and the last of them has ended. */
bool seam_recorder_targets_gone(const struct seam_recorder *r);
/* Reads what waits and writes it. Errors of the output are sticky. */
int seam_recorder_run(struct seam_recorder *r);
/* Return: the first error of all; the summary is filled in any case. */
int seam_recorder_stop(struct seam_recorder *r, struct seam_summary *ret);
struct seam_recorder *seam_recorder_close(struct seam_recorder *r);

#endif
