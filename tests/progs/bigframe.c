// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: frames above 64 KiB and above 1 MiB. */
#include "path.h"

KEEP void big64k(unsigned long n)
{
	volatile char room[80 << 10];

	room[n] = 1;
	leaf();
	STAY();
}

KEEP void big1m(unsigned long n)
{
	volatile char room[(1 << 20) + 4096];

	room[n * 16] = 1;
	big64k(n);
	STAY();
}

KEEP void small(unsigned long n)
{
	big1m(n);
	STAY();
}

KEEP void big2m(unsigned long n)
{
	volatile char room[2 << 20];

	room[n * 32] = 1;
	small(n);
	STAY();
}

PATH_MAIN(big2m(r * 7 & 65535))
