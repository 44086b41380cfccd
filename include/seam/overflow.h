/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/overflow.h: a signal when a thread's counter reaches a number, every
 * time, and the exact count.
 *
 * This is what a record-and-replay debugger stands on: it stops a thread
 * after so many events and must miss none. Where a thread is then is another
 * matter: the kernel may notice late (skid) and be at work itself. A sampler
 * may then have to hold its sample back, so that no kernel address leaks. Here
 * that never holds back the signal, nor changes the count:
 *
 *  - the signal comes from the counter itself. No BPF program is attached to
 *    it, as the kernel drops the whole overflow where such a program returns
 *    0, and where another one happens to be at work on that CPU;
 *  - samples, if wanted, hold user registers and the count, and never the
 *    address that the counter interrupted;
 *  - others that sample the same thread, seam record among them, have
 *    counters of their own.
 *
 *	struct seam_overflow_opts opts = {
 *		.sz = sizeof(opts),
 *		.type = PERF_TYPE_HARDWARE,
 *		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
 *		.tid = tracee,
 *		.signum = SIGSTKFLT,
 *	};
 *	seam_overflow_open(&opts, &overflow, &err);
 *	seam_overflow_arm(overflow, 1000000);
 *	... let the tracee run until the signal stops it ...
 *	seam_overflow_count(overflow, &events);
 *
 * It takes no rights but those to count in the thread.
 */
#ifndef SEAM_OVERFLOW_H
#define SEAM_OVERFLOW_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct seam_overflow;

enum seam_overflow_flags {
	SEAM_OVERFLOW_KERNEL = 1 << 0, /* counts in the kernel too */
	SEAM_OVERFLOW_SAMPLES = 1 << 1, /* seam_overflow_read */
};

/* What is counted is said as in struct perf_event_attr. */
struct seam_overflow_opts {
	size_t sz; /* sizeof(struct seam_overflow_opts) */
	uint32_t type;
	uint32_t bp_type; /* of PERF_TYPE_BREAKPOINT; its address and length
			   * are config1 and config2 */
	uint64_t config, config1, config2;
	int32_t tid; /* the thread; 0: the calling one */
	int32_t notify_tid; /* who gets the signal; 0: the thread itself */
	int32_t signum; /* 0: none, poll seam_overflow_fd */
	uint32_t flags; /* enum seam_overflow_flags */
};

/* Where an overflow found the thread. */
struct seam_overflow_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t count; /* events since seam_overflow_arm */
	uint64_t ip, sp; /* of its user code; 0: it has none */
	uint32_t pid, tid;
};

/*
 * Opens a counter, which does not count yet.
 * Return: 0; -EINVAL: the options, or an event that the kernel does not know;
 * -ENOENT, -EOPNOTSUPP: an event that this machine does not have; -EACCES,
 * -EPERM: the thread is not the caller's, or counting takes more rights;
 * -ESRCH: there is no such thread; -ENOMEM. *reterr says it in words.
 */
int seam_overflow_open(const struct seam_overflow_opts *opts,
		       struct seam_overflow **ret, struct seam_errinfo *reterr);
/* overflow may be NULL. Return: NULL. */
struct seam_overflow *seam_overflow_close(struct seam_overflow *overflow);

/*
 * Counts from 0, and overflows after each every events; what was armed before
 * is over. The thread is stopped, or the caller, if no event is to be missed
 * in between. Async-signal-safe. Return: 0; -EINVAL: every is 0 or has its
 * highest bit set; -errno.
 */
int seam_overflow_arm(struct seam_overflow *overflow, uint64_t every);
/* The count stands still, and there is no overflow any more. The same. */
int seam_overflow_disarm(struct seam_overflow *overflow);

/*
 * Events since seam_overflow_arm; by every, rounded down, so many overflows
 * have been. Async-signal-safe.
 * Return: 0; -EBUSY: the counter could not always count, since others had
 * it, and nothing exact can be said; -errno.
 */
int seam_overflow_count(const struct seam_overflow *overflow, uint64_t *ret);

/* For poll: readable after an overflow that nobody has waited for, hung up
 * once the thread is gone. Owned by overflow. */
int seam_overflow_fd(const struct seam_overflow *overflow);
/* Whether a signal that came with info is this counter's: several may have
 * the same number. Async-signal-safe. */
bool seam_overflow_is(const struct seam_overflow *overflow,
		      const siginfo_t *info);

typedef void (*seam_overflow_fn)(void *ctx,
				 const struct seam_overflow_sample *sample);

/*
 * Gives all samples since the last call to fn, oldest first. *ret_lost, which
 * may be NULL, is how many there was no room for meanwhile; their signals
 * came nevertheless.
 * Return: how many, or -EINVAL: opened without SEAM_OVERFLOW_SAMPLES.
 */
long seam_overflow_read(struct seam_overflow *overflow, seam_overflow_fn fn,
			void *ctx, uint64_t *ret_lost);

#ifdef __cplusplus
}
#endif

#endif
