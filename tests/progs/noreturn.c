// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: callees that never return. The call is the caller's last
 * instruction, so its return address lies in whatever function comes next.
 * Also longjmp out of that depth, and what comes after it.
 */
#include "path.h"
#include <setjmp.h>

/* On run()'s stack, as the rows of longjmp's last steps are read from it. */
static jmp_buf *back;

__attribute__((noreturn)) KEEP void give_up(unsigned long n)
{
	path_sink += n;
	leaf();
	longjmp(*back, 1);
}

__attribute__((noreturn)) KEEP void fail(unsigned long n)
{
	path_sink += n;
	give_up(n + 1);
}

/* Right behind fail() in the file: naive lookup blames this one. */
KEEP void neighbour(unsigned long n)
{
	path_sink += n;
}

KEEP void check(unsigned long n)
{
	if (path_reps)
		fail(n);
	neighbour(n);
	STAY();
}

/* Saves registers in the same place as others restore them. */
KEEP void neighbour2(unsigned long n)
{
	volatile char room[400];

	room[n % 400] = 1;
	STAY();
}

KEEP void deeper(unsigned long n)
{
	check(n);
	STAY();
}

KEEP void after_jump(void)
{
	leaf();
	STAY();
}

KEEP void run(unsigned long n)
{
	jmp_buf here;

	back = &here;
	if (setjmp(here) == 0)
		deeper(n);
	after_jump();
	neighbour2(n);
	STAY();
}

PATH_MAIN(run(r))
