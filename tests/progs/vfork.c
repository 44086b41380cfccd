// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: vfork: the child runs on its parent's stack, and inside
 * vfork() itself the return address is in a register.
 */
#include "path.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Long enough for a sample, though each child's period begins anew. */
KEEP void in_child(void)
{
	path_spin = 8000000;
	leaf();
	STAY();
}

static double used;

KEEP void run(void)
{
	struct rusage ru;
	pid_t pid = vfork();

	if (pid == 0) {
		in_child();
		_exit(0);
	}
	wait4(pid, NULL, 0, &ru);
	used += (double)ru.ru_utime.tv_sec + (double)ru.ru_utime.tv_usec * 1e-6;
	STAY();
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	while (used < path_seconds)
		run();
	return 0;
}
