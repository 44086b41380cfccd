/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What every known-path program shares.
 *
 * A program calls its path again and again until it has used so many seconds
 * of CPU time. Two phases take turns: in the long one nearly all time passes
 * in the leaf, in the short one in calls, prologues and epilogues, so that
 * samples fall on every instruction of the path and not only on its loop.
 *
 * The paths themselves are written down in NAME.expect; see README.md.
 */
#ifndef TESTS_PROGS_PATH_H
#define TESTS_PROGS_PATH_H

#include <stdlib.h>
#include <time.h>

#include "keep.h"

volatile unsigned long path_sink;
volatile unsigned long path_spin = 1, path_reps = 1;
static double path_seconds = 2;
static unsigned long path_round;

/* Clock in nanoseconds; a bare system call, so that no libc frame appears. */
static inline __attribute__((always_inline)) unsigned long path_cpu_ns(long clk)
{
	struct timespec ts;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(228L), "D"(clk), "S"(&ts)
			 : "rcx", "r11", "memory");
	return (unsigned long)ts.tv_sec * 1000000000UL +
	       (unsigned long)ts.tv_nsec;
}

KEEP void path_begin(int argc, char **argv)
{
	if (argc > 1)
		path_seconds = atof(argv[1]);
	STAY();
}

/* Chooses the next phase; false when the CPU time is used up. */
KEEP int path_more(void)
{
	int is_short = ++path_round & 1;

	/* Not as long each time, or a clock could go in step with it. */
	path_spin = is_short ? 2 : 300000 + path_round * 7919 % 200000;
	path_reps = is_short ? 3000 : 1;
	return path_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) < path_seconds * 1e9;
}

/* The end of most paths: uses CPU time, calls nothing. */
KEEP void leaf(void)
{
	for (unsigned long i = 0, n = path_spin; i < n; i++)
		path_sink += i;
}

#define PATH_MAIN(run)                                                         \
	int main(int argc, char **argv)                                        \
	{                                                                      \
		path_begin(argc, argv);                                        \
		while (path_more())                                            \
			for (unsigned long r = 0, n = path_reps; r < n; r++)   \
				run;                                           \
		return 0;                                                      \
	}

#endif
