// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: tail calls. The function that ended in a jump has no frame any
 * more and must not be shown; its caller must.
 */
#include "path.h"

/* Tail calls at every -O: clang by musttail, GCC by switching it on. */
#ifdef __clang__
#define TAIL __attribute__((musttail)) return
#define TAILER KEEP
#else
#define TAIL return
#define TAILER KEEP __attribute__((optimize("O2")))
#endif

KEEP unsigned long target(unsigned long n)
{
	leaf();
	return path_sink + n;
}

TAILER unsigned long hop2(unsigned long n)
{
	TAIL target(n + 2);
}

TAILER unsigned long hop1(unsigned long n)
{
	TAIL hop2(n + 1);
}

/* Calls first, so that it has a frame to take down before the jump. */
TAILER unsigned long works_first(unsigned long n)
{
	leaf();
	STAY();
	TAIL hop1(n);
}

KEEP void caller(unsigned long n)
{
	path_sink += hop1(n);
	path_sink += works_first(n);
	STAY();
}

/* Jumps to itself: a loop, one frame for ever. */
TAILER unsigned long again(unsigned long n)
{
	if (n == 0)
		return target(n) + 1;
	TAIL again(n - 1);
}

KEEP void run(unsigned long n)
{
	caller(n);
	path_sink += again(9);
	STAY();
}

PATH_MAIN(run(r))
