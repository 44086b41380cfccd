/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Writes perf.data as Linux's own deferral would have it: samples whose
 * callchain ends in PERF_CONTEXT_USER_DEFERRED + cookie, and
 * PERF_RECORD_CALLCHAIN_DEFERRED records.
 *
 * At every moment the file on disk is a whole recording up to the last
 * seam_pd_flush(_within): a flush writes behind what the header shows, and then
 * the header shows it, by one write. A writer killed at any moment, or a full
 * disk, leaves the last flush. (Not a machine that stops: nothing is synced.)
 * The feature table, which must lie where the data ends, is absent for the
 * time of a flush; the data begins with the same features as records.
 *
 * Each seam_pd_flush ends with a FINISHED_ROUND record. Perf then delivers, in
 * the order of time, what was written before the PREVIOUS flush. So a record
 * written after the n-th must not be older than any record written before
 * the one before (it may be older than those between the two). A record that
 * comes later still is kept, but perf may take it out of order.
 *
 * A user stack's record must come, by time, after its last sample and before
 * its tid's next record: perf delivers all of a tid's waiting samples there.
 *
 * The process must ignore SIGXFSZ if a file size limit is to be an error
 * rather than its end.
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
	/* Taken as it is but for what makes a recording ours: size 128,
	 * sample_type (below, and PERF_SAMPLE_RAW if it has that),
	 * sample_id_all, CLOCK_MONOTONIC, defer_callchain. A dummy event for
	 * sideband is one of these too. */
	struct perf_event_attr attr;
	const char *name; /* as the user wrote it: "cpu-clock" */
	const uint64_t *ids; /* sample ids, n_ids of them */
	size_t n_ids;
	/* Of a tracepoint whose attr asks for PERF_SAMPLE_RAW: SUBSYSTEM:NAME,
	 * and its format as tracefs has it; else NULL. */
	const char *tracepoint, *format;
	size_t payload_size; /* of what each payload has */
};

/* While a pipe takes nothing, done is asked each time that fd can be read: it
 * reads that. Return: 0: to wait on; else -errno: to give the pipe up. */
struct seam_pd_wait {
	int fd;
	int (*done)(void *ctx);
	void *ctx;
};

struct seam_pd_opts {
	size_t sz; /* sizeof(struct seam_pd_opts) */
	const struct seam_pd_event *events;
	size_t n_events;
	char *const *argv; /* from the sub-command's name on: "record" ... */
	int argc;
	int zstd_level; /* 0: do not compress */
	/* Of tracefs, for readers of payloads; NULL: not known. */
	const char *header_page, *header_event;
	const char *engine; /* that got the user stacks: behind the version of
			     * seam in the file; NULL: not said */
	/* NULL: for a pipe that takes nothing it is waited without an end. */
	const struct seam_pd_wait *wait;
};

/* sample_id tail and sample fields that every record of ours has; open the
 * events whose records go to seam_pd_write_raw with the same. */
#define SEAM_PD_SAMPLE_TYPE                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |           \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CPU |          \
	 PERF_SAMPLE_PERIOD)

struct seam_pd_id {
	uint32_t pid, tid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	uint64_t id;
};

struct seam_pd_sample {
	struct seam_pd_id id;
	uint16_t misc; /* PERF_RECORD_MISC_KERNEL or _USER */
	uint64_t ip, period, cookie; /* cookie 0: no user half comes */
	int end; /* why, of enum seam_err; 0: none was wanted */
	/* If the event's attr is of seam_pd_want_user_ip. ip 0: not known. */
	bool has_user_ip;
	uint64_t user_ip;
	const uint64_t *kernel_ips; /* leaf first, without marker */
	size_t n_kernel;
	/* If the event's attr asks for PERF_SAMPLE_RAW; NULL: lost. */
	const void *payload;
	size_t payload_size;
};

/* Taken before an exec: addresses are of the program that was replaced,
 * also for samples that come after its mappings were. */
#define SEAM_PD_STACK_EXEC 0x1

/* The file has this in .flags where .methods is given. */
#define SEAM_PD_STACK_METHODS 0x2

struct seam_pd_stack {
	struct seam_pd_id id;
	uint64_t cookie;
	const uint64_t *ips; /* leaf first, without marker */
	size_t n_ips;
	int end; /* enum seam_err below SEAM_END_MAX; 0: not said */
	unsigned flags; /* SEAM_PD_STACK_* */
	/* n_ips values below 16, enum seam_method; NULL: none said. */
	const uint8_t *methods;
};

/* Entries that fit one record, whose size is 16 bits; and that do with what is
 * said of how each was found. */
#define SEAM_PD_MAX_IPS 8184
#define SEAM_PD_MAX_IPS_METHODS 7702

/* A file that is there is renamed to path.old, as perf does. Created 0600. What
 * is no file is left alone: /dev/null and its like are written to, all else is
 * refused with -EISDIR or -EINVAL. "-" is standard output, in perf's format for
 * pipes: what was flushed is out, and whoever reads it may have less than the
 * last flush. */
int seam_pd_writer_open(const char *path, const struct seam_pd_opts *opts,
			struct seam_pd_writer **ret,
			struct seam_errinfo *reterr);
/* All of these buffer; -ENOSPC and other write errors come from flush (or
 * from a write that had to make room) and are sticky: the file keeps what
 * the last flush left. -E2BIG: more entries than fit, nothing was
 * written. */
/* The attr asks for SEAM_PD_REG_IP. */
void seam_pd_want_user_ip(struct perf_event_attr *attr);
int seam_pd_write_sample(struct seam_pd_writer *w,
			 const struct seam_pd_sample *sample);
int seam_pd_write_stack(struct seam_pd_writer *w,
			const struct seam_pd_stack *stack);
/* A record as the kernel wrote it (sideband, LOST), sample_id included.
 * -EINVAL: its size is less than a header or no multiple of 8. */
int seam_pd_write_raw(struct seam_pd_writer *w,
		      const struct perf_event_header *record);
/* Makes what was written so far a whole file. Nothing new: does nothing. */
int seam_pd_flush(struct seam_pd_writer *w);
/* The same, but for the FINISHED_ROUND: what belongs before it may follow. */
int seam_pd_flush_within(struct seam_pd_writer *w);
uint64_t seam_pd_bytes(const struct seam_pd_writer *w); /* on disk so far */
/* Records that the last flush did not bring out; after an error those that will
 * never be, the ones given since among them. Of compressed ones more may be out
 * than that tells. */
uint64_t seam_pd_unwritten(const struct seam_pd_writer *w);
/* Flushes, closes, frees, also when it fails; NULL is fine. Return: 0, or
 * the first error that any call met. */
int seam_pd_writer_close(struct seam_pd_writer *w);

#endif
