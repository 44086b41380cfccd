/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The command that is recorded: forked, held before its exec, let go. */
#ifndef SEAM_CLI_CHILD_H
#define SEAM_CLI_CHILD_H

#include <sys/types.h>

struct child {
	pid_t pid;
	int go; /* a byte here lets it exec */
	int failure; /* an errno comes here if its exec fails */
	char path[4096]; /* what will run, as PATH has it; "" if not found */
};

/* out: its standard output. Return: 0 or -errno; -ENOENT: no such command. */
int child_start(struct child *c, char **argv, int out);
/* Return: 0, or -errno of the exec. */
int child_exec(struct child *c);
/* An exit status as a shell gives it: 128 + N for signal N. */
int child_status(int wait_status);
/* Ends it where it still waits; NULL pid is fine. */
void child_abandon(struct child *c);

#endif
