// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: vfork: the child runs on its parent's stack, and inside
 * vfork() itself the return address is in a register.
 */
#include "path.h"
#include <sys/wait.h>
#include <unistd.h>

/* Long enough for a sample, though each child's period begins anew. */
KEEP void in_child(void)
{
	path_spin = 8000000;
	leaf();
	STAY();
}

KEEP void run(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		in_child();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	STAY();
}

/* The children's time is theirs, so this counts rounds of wall time. */
int main(int argc, char **argv)
{
	unsigned long start = path_cpu_ns(CLOCK_MONOTONIC);

	path_begin(argc, argv);
	do {
		path_more();
		run();
	} while (path_cpu_ns(CLOCK_MONOTONIC) - start < path_seconds * 1e9);
	return 0;
}
