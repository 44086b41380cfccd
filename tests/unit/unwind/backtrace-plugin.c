// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What test-backtrace-dlopen.c loads: a frame between two of its own. */
int plugin_call(int (*fn)(void));

static volatile int sum;

int plugin_call(int (*fn)(void))
{
	volatile char room[56];

	room[0] = 1;
	sum = fn();
	return sum + room[0] - 1;
}
