/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Perf events to sample on: one descriptor for each CPU. With BPF, tasks are
 * filtered there, so that a clock ticks on through short processes: a clock for
 * each task starts a whole period at each task's start, and a task that lives
 * shorter than a period is never seen.
 */
#ifndef SEAM_LIB_EVENT_EVENT_H
#define SEAM_LIB_EVENT_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/scope.h"
#include "event/tracepoint.h"
#include "seam/error.h"
#include "seam/tracer.h"

/* How an event's own samples have the user's half, where no BPF program takes
 * it: see capture/direct.h. */
struct seam_event_direct {
	struct seam_scope scope; /* the tasks */
	uint32_t stack_copy; /* bytes, a multiple of 8 */
	bool defers; /* the kernel, instead of the copy */
};

struct seam_event_spec { /* what the user asked for */
	/* With terms and modifiers (event/event-name.h). NULL: cycles if
	 * there is a PMU, else cpu-clock. */
	const char *name;
	/* Where its terms do not say: */
	uint64_t freq; /* Hz; or */
	uint64_t period; /* events */
	uint32_t max_frames; /* of a user stack */
	bool stacks_only; /* no frames of the kernel, no payloads */
	struct seam_event_direct *direct; /* NULL: BPF takes the stacks */
	const uint32_t *cpus; /* NULL: every one */
	size_t n_cpus;
};

struct seam_event {
	char *name; /* as output and the file have it */
	char *base; /* without terms and modifiers */
	const char *why_clock; /* NULL: it was asked for, or is no clock */
	struct perf_event_attr attr; /* as the file has it */
	struct perf_event_attr opened; /* as the kernel has it */
	uint32_t max_frames; /* of a user stack; 0: none is wanted */
	uint32_t asks; /* of enum seam_ask */
	bool is_tracepoint; /* SUBSYSTEM:NAME */
	const char *raw_name; /* of one: what BPF programs know it by */
	int syscall; /* of one of single calls: whose; else -1 */
	/* What tracefs says of it, if samples have its payload; else zeros. */
	struct seam_tracepoint tracepoint;
	bool payload_refused; /* it was wanted, but may not be had */
	bool is_probe; /* uprobe:FILE:SYMBOL */
	int probe_fd; /* of a probe, else not open */
	bool is_sleep; /* offcpu-time: a sample for each sleep */
	bool is_clock; /* counts ns */
	uint64_t period_ns; /* of a clock */
	int *fds; /* of each task in its scope, one for each online CPU */
	uint64_t *ids; /* sample ids, in the same order */
	int *cpus;
	size_t n;
};

/*
 * What an event asks of the kernel where BPF takes the stacks, opened nowhere
 * yet. seam_event_close frees it. -EINVAL: the name is unknown, or wants what
 * the event cannot do; -ENOMEM.
 */
int seam_event_plan(const struct seam_event_spec *spec, struct seam_event *ret,
		    struct seam_errinfo *reterr);

/*
 * -EINVAL: the name is unknown; -ENOENT, -EACCES, ...: the kernel refuses it;
 * reterr says what to do. Events are opened disabled.
 */
int seam_event_open(const struct seam_event_spec *spec, struct seam_event *ret,
		    struct seam_errinfo *reterr);
void seam_event_close(struct seam_event *ev);
int seam_event_enable(struct seam_event *ev, bool on);

/*
 * How often it must have fired by its own count; 0 for clocks,
 * tracepoints and sleeps, which BPF counts. SEAM_UNKNOWN for others by
 * frequency: their period changes all the time, so that what was counted does
 * not tell how many samples that makes.
 */
uint64_t seam_event_expected(const struct seam_event *ev);
/* Of an event whose samples come from the kernel itself: its own count,
 * divided by the period, clocks too; and samples that a full buffer lost. */
uint64_t seam_event_counted(const struct seam_event *ev, uint64_t *ret_lost);
/* Whether BPF makes its samples without the event, which lends its ids. */
bool seam_event_is_lent(const struct seam_event *ev);
/* Whether samples have what the tracepoint tells, as perf has it. Where BPF
 * makes them, that comes from the event itself: see event/payload.h. */
bool seam_event_has_payload(const struct seam_event *ev);
/* Says so in the file's attr, if .opened asks the kernel for it. */
void seam_event_use_payload(struct seam_event *ev);
/* The sample id of the descriptor for a CPU. */
uint64_t seam_event_id(const struct seam_event *ev, uint32_t cpu);

/* Online CPUs. Caller frees *ret. Return: how many, or -errno. */
int seam_online_cpus(int **ret);

int seam_perf_event_open(struct perf_event_attr *attr, int pid, int cpu);
/* Sets SEAM_ATTR_DEFER_CALLCHAIN or _OUTPUT. */
void seam_event_defer(struct perf_event_attr *attr, unsigned bit);

#endif
