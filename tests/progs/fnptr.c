// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the stack spells a number. Path i goes through the functions
 * named by the four digits of i, so every sample says which call it belongs
 * to, and in time order the numbers may only grow: a stack that belongs to
 * another sample shows.
 */
#include "path.h"

typedef void digit_fn(int n, int left);
static digit_fn *const digit[10];
static const int power[5] = {1, 10, 100, 1000, 10000};

KEEP void next(int n, int left)
{
	if (left)
		digit[n / power[left - 1] % 10](n, left - 1);
	else
		leaf();
	STAY();
}

#define D(d, room)                                                             \
	KEEP void d(int n, int left)                                           \
	{                                                                      \
		volatile char pad[room];                                       \
		pad[n % (room)] = 1;                                           \
		next(n, left);                                                 \
		STAY();                                                        \
	}

/* clang-format off */
D(d0, 8) D(d1, 40) D(d2, 3) D(d3, 500) D(d4, 77)
D(d5, 16) D(d6, 1200) D(d7, 9) D(d8, 144) D(d9, 33)
	/* clang-format on */

	static digit_fn *const digit[10] = {d0, d1, d2, d3, d4,
					    d5, d6, d7, d8, d9};

KEEP void spell(int n)
{
	next(n, 4);
	STAY();
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	path_spin = 300000;
	for (int n = 0; n < 10000; n++) {
		spell(n);
		if (path_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) >= path_seconds * 1e9)
			break;
	}
	return 0;
}
