// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: alloca and variable-length arrays: the CFA hangs on rbp. */
#include "path.h"
#include <alloca.h>

KEEP void touch(volatile char *p, unsigned long n)
{
	p[0] = 1;
	p[n - 1] = 2;
	leaf();
	STAY();
}

KEEP void with_vla(unsigned long n)
{
	char vla[n];

	touch(vla, n);
	STAY();
}

KEEP void with_alloca(unsigned long n)
{
	char *p = alloca(n);

	p[0] = 0;
	with_vla(n + 13);
	for (int i = 0; i < 3; i++) {
		volatile char *q = alloca(n);

		q[0] = 1;
		with_vla(n * 2 + 1);
	}
	STAY();
}

/* No frame pointer of its own between two functions that need rbp. */
KEEP void plain(unsigned long n)
{
	with_alloca(n);
	STAY();
}

KEEP void outer(unsigned long n)
{
	char vla[n + 3];

	((volatile char *)vla)[n] = 1;
	plain(n);
	STAY();
}

PATH_MAIN(outer(17 + (r & 63)))
