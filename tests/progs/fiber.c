// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: two coroutines on stacks of their own (makecontext); a stack
 * ends where its coroutine began.
 */
#include "path.h"
#include <ucontext.h>

static ucontext_t home, other;

KEEP void in_fiber(void)
{
	leaf();
	STAY();
}

KEEP void fiber(void)
{
	for (;;) {
		in_fiber();
		swapcontext(&other, &home);
	}
}

KEEP void at_home(void)
{
	leaf();
	STAY();
}

KEEP void run(void)
{
	at_home();
	swapcontext(&home, &other);
	STAY();
}

int main(int argc, char **argv)
{
	static char stack[64 << 10];

	path_begin(argc, argv);
	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	other.uc_link = &home;
	makecontext(&other, fiber, 0);
	while (path_more())
		for (unsigned long r = 0, n = path_reps; r < n; r += 4)
			run();
	return 0;
}
