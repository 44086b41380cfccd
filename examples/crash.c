// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A program that says where it crashed: a SIGSEGV handler, on a stack of its
 * own, prints the stack of the code that it interrupted.
 *
 *	cc -O2 crash.c -lseam && ./a.out
 */
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "seam/backtrace.h"

static void on_crash(int sig, siginfo_t *info, void *ucontext)
{
	void *stack[64];
	const char *why;
	int end, n;

	(void)info;
	n = seam_backtrace_ex(stack, 64, ucontext, 0, &end);
	/* It allocates nothing, unlike backtrace_symbols. */
	backtrace_symbols_fd(stack, n, STDERR_FILENO);
	why = seam_err_name(end);
	if (write(STDERR_FILENO, why, strlen(why)) < 0 ||
	    write(STDERR_FILENO, "\n", 1) < 0)
		_exit(1);
	_exit(128 + sig);
}

static int *volatile nowhere;

int inner(void);
int outer(void);

__attribute__((noinline)) int inner(void)
{
	return *nowhere;
}

__attribute__((noinline)) int outer(void)
{
	return inner() + 1;
}

int main(void)
{
	static char room[65536];
	const stack_t other = {.ss_sp = room, .ss_size = sizeof(room)};
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

	action.sa_sigaction = on_crash;
	if (seam_backtrace_init() || sigaltstack(&other, NULL) ||
	    sigaction(SIGSEGV, &action, NULL))
		return 1;
	return outer();
}
