// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a timer's signal arrives anywhere, so also in prologues and
 * epilogues; every second one is handled on the alternate stack.
 */
#include "path.h"
#include <signal.h>
#include <sys/time.h>

KEEP void hspin(void)
{
	for (unsigned long i = 0; i < 300000; i++)
		path_sink += i;
}

KEEP void on_prof(int sig)
{
	(void)sig;
	hspin();
	STAY();
}

KEEP void on_alarm(int sig)
{
	(void)sig;
	hspin();
	STAY();
}

KEEP void f4(unsigned long n)
{
	path_sink += n;
	leaf();
	STAY();
}

KEEP void f3(unsigned long n)
{
	char vla[n + 1];

	((volatile char *)vla)[n] = 1;
	f4(n);
	STAY();
}

KEEP void f2(unsigned long n)
{
	volatile char room[300];

	room[n] = 1;
	f3(n);
	f3(n + 1);
	STAY();
}

KEEP void f1(unsigned long n)
{
	f2(n);
	STAY();
}

KEEP void set_up(void)
{
	static char stack[64 << 10];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};
	/* Not in step: the profiling clock is looked at by the kernel's tick,
	 * and would always find the other handler at work. */
	struct itimerval prof = {{0, 7000}, {0, 7000}};
	struct itimerval it = {{0, 1300}, {0, 1300}};
	struct sigaction sa = {.sa_flags = SA_RESTART};

	sigaltstack(&ss, NULL);
	sa.sa_handler = on_prof;
	sigaction(SIGPROF, &sa, NULL);
	sa.sa_flags |= SA_ONSTACK;
	sa.sa_handler = on_alarm;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_PROF, &prof, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	set_up();
	while (path_more())
		for (unsigned long r = 0, n = path_reps; r < n; r++)
			f1(r & 127);
	return 0;
}
