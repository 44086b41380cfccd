/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The seam record behind seam top, a process of its own. */
#ifndef SEAM_CLI_TOP_RECORD_H
#define SEAM_CLI_TOP_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct top_record {
	pid_t pid;
	int said; /* a file in memory: its standard error */
	volatile sig_atomic_t asked; /* to end */
};

/* Its recording comes by standard input. Return: 0, or -errno. */
int top_record_start(struct top_record *r, char *const *options, size_t n);
/* Whether anything came of it; false: it has failed. */
bool top_record_wait(void);
/* Asks it to end, once: what it has yet to tell still comes. May be called by
 * a signal's handler. */
void top_record_end(struct top_record *r);
/* Waits for its end, and prints what it said. Return: its exit status. */
int top_record_finish(struct top_record *r);

#endif
