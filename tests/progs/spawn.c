// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: posix_spawn, whose child begins in its parent's memory on a
 * new stack: it is no thread, and has no caller.
 */
#include "path.h"
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double used;

KEEP void run(char **argv)
{
	char seconds[] = "0";
	char *child[] = {argv[0], seconds, NULL};
	struct rusage ru = {0};
	pid_t pid;

	leaf();
	if (!posix_spawn(&pid, argv[0], NULL, NULL, child, environ))
		wait4(pid, NULL, 0, &ru);
	used += (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		(double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1e-6;
	STAY();
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	path_spin = 50000;
	while (used + path_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9 <
	       path_seconds)
		run(argv);
	return 0;
}
