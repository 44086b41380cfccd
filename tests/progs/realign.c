// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: realigned stacks. With alloca beside an over-aligned local GCC
 * reaches its arguments through r10 (DRAP) and describes the CFA by an
 * expression; clang uses rbp and rbx.
 */
#include "path.h"
#include <alloca.h>

typedef long v4 __attribute__((vector_size(32)));

KEEP void use(void *p)
{
	*(volatile char *)p = 1;
	leaf();
	STAY();
}

/* Nine arguments, so that some are on the stack, above the CFA. */
KEEP long drap(long a, long b, long c, long d, long e, long f, long g, long h,
	       unsigned long n)
{
	long room[8] __attribute__((aligned(64)));
	char *p = alloca(n);

	room[n & 7] = a + b + c + d + e + f + g + h;
	use(room);
	use(p);
	return ((volatile long *)room)[n & 7];
}

/* Realigned, but without alloca: GCC needs no r10 when all is in rbp. */
KEEP void aligned_only(unsigned long n)
{
	v4 vec[4] __attribute__((aligned(128)));

	((volatile v4 *)vec)[n & 3] = (v4){1, 2, 3, 4};
	path_sink += (unsigned long)drap(1, 2, 3, 4, 5, 6, 7, 8, n);
	use(vec);
	STAY();
}

/* An ordinary function above it, with rbp callee-saved or free. */
KEEP void caller(unsigned long n)
{
	aligned_only(n);
	STAY();
}

/* A realigned function under another that needs rbp. */
KEEP void twice(unsigned long n)
{
	char vla[n];
	v4 vec __attribute__((aligned(64)));

	((volatile char *)vla)[n - 1] = 1;
	*(volatile v4 *)&vec = (v4){1, 2, 3, 4};
	caller(n);
	use(&vec);
	STAY();
}

PATH_MAIN(twice(16 + (r & 31)))
