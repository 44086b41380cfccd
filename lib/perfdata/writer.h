/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Writes perf.data as Linux's own deferral would have it: samples whose
 * callchain ends in PERF_CONTEXT_USER_DEFERRED + cookie, and
 * PERF_RECORD_CALLCHAIN_DEFERRED records.
 *
 * After each seam_pd_flush the file on disk is a whole recording: features
 * lie behind the data, and the next flush leaves them in place as a record
 * that readers pass over, appends, and only then moves the header's data
 * size with one write. A writer killed at any moment leaves the last flush.
 */
#ifndef SEAM_LIB_PERFDATA_WRITER_H
#define SEAM_LIB_PERFDATA_WRITER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seam/error.h"

struct seam_pd_writer;

struct seam_pd_event { /* one event of the recording */
	struct perf_event_attr attr; /* size is forced to 128 */
	const char *name;	     /* as the user wrote it: "cpu-clock" */
	const uint64_t *ids;	     /* sample ids, n_ids of them */
	size_t n_ids;
};

struct seam_pd_opts {
	size_t sz; /* sizeof(struct seam_pd_opts) */
	const struct seam_pd_event *events;
	size_t n_events;
	char *const *argv; /* the command line, for the CMDLINE feature */
	int argc;
	int zstd_level; /* 0: do not compress */
};

/* sample_id tail and sample fields that every record of ours has:
 * sample_type = IP|TID|TIME|CALLCHAIN|CPU|PERIOD|IDENTIFIER, sample_id_all */
struct seam_pd_id {
	uint32_t pid, tid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	uint64_t id;
};

struct seam_pd_sample {
	struct seam_pd_id id;
	uint16_t misc; /* PERF_RECORD_MISC_KERNEL or _USER */
	uint64_t ip, period, cookie; /* cookie 0: no user half wanted */
	const uint64_t *kernel_ips;  /* leaf first, without marker */
	size_t n_kernel;
};

struct seam_pd_stack {
	struct seam_pd_id id;
	uint64_t cookie;
	const uint64_t *ips; /* leaf first, without marker */
	size_t n_ips;
};

/* An existing path is renamed to path.old, as perf does. "-" is refused
 * for now with -ENOTSUP. Created 0600. */
int seam_pd_writer_open(const char *path, const struct seam_pd_opts *opts,
			struct seam_pd_writer **ret,
			struct seam_errinfo *reterr);
/* All of these buffer; -ENOSPC and other write errors come from flush (or
 * from a write that had to flush) and are sticky. */
int seam_pd_write_sample(struct seam_pd_writer *w,
			 const struct seam_pd_sample *sample);
int seam_pd_write_stack(struct seam_pd_writer *w,
			const struct seam_pd_stack *stack);
/* A record as the kernel wrote it (sideband, LOST), sample_id included. */
int seam_pd_write_raw(struct seam_pd_writer *w,
		      const struct perf_event_header *record);
/* Up to this time everything has been written: lets readers sort in rounds. */
int seam_pd_flush(struct seam_pd_writer *w);
uint64_t seam_pd_bytes(const struct seam_pd_writer *w); /* on disk so far */
/* Flushes, adds the final features, closes, frees. */
int seam_pd_writer_close(struct seam_pd_writer *w);

#endif
