/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the tests of overflows have in common: one counter, whose signals are
 * counted, and looked at while they are handled. */
#ifndef SEAM_TESTS_OVERFLOW_SIGNALLED_H
#define SEAM_TESTS_OVERFLOW_SIGNALLED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seam/overflow.h"

#define SIGNUM (SIGRTMIN + 3)

static struct seam_overflow *overflow;
static volatile sig_atomic_t signals, other, not_exact;
static volatile int told; /* the thread that had the signal */

/* Each test's own: whether the counter is now what it should be. */
static bool is_exact(void);

static void on_overflow(int signum, siginfo_t *info, void *ucontext)
{
	(void)signum;
	(void)ucontext;
	told = (int)syscall(SYS_gettid);
	if (!seam_overflow_is(overflow, info)) {
		other++;
		return;
	}
	signals++;
	not_exact += !is_exact();
}

/* More signals than may wait come as this. */
static void on_sigio(int signum)
{
	(void)signum;
	other++;
}

static int take_signals(void)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};

	action.sa_sigaction = on_overflow;
	signals = other = not_exact = 0;
	return sigaction(SIGNUM, &action, NULL) ||
	       signal(SIGIO, on_sigio) == SIG_ERR;
}

static void open_it(const struct seam_overflow_opts *opts)
{
	struct seam_errinfo err = {0};
	int ret = seam_overflow_open(opts, &overflow, &err);

	if (ret)
		print_message("# %s\n", err.reason);
	assert_int_equal(ret, 0);
}

static uint64_t count_now(void)
{
	uint64_t count = 0;

	assert_int_equal(seam_overflow_count(overflow, &count), 0);
	return count;
}

struct seen {
	uint64_t n, last, in_order, user;
};

static void on_sample(void *ctx, const struct seam_overflow_sample *sample)
{
	struct seen *seen = ctx;

	seen->n++;
	seen->in_order += sample->count > seen->last;
	seen->last = sample->count;
	seen->user += sample->ip && sample->ip >> 47 == 0 &&
		      sample->sp >> 47 == 0 &&
		      sample->tid == (uint32_t)syscall(SYS_gettid);
}

#endif
