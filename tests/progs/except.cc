// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: C++ exceptions in flight: time is spent in a destructor while
 * the stack unwinds, in a catch block, and in the unwinder itself.
 */
#include "path.h"

KEEP void in_dtor()
{
	leaf();
	STAY();
}

struct guard {
	KEEP ~guard();
};

KEEP guard::~guard()
{
	in_dtor();
	STAY();
}

KEEP void thrower(unsigned long n)
{
	if (path_reps)
		throw (int)n;
	STAY();
}

KEEP void guarded(unsigned long n)
{
	volatile char room[100];
	guard g;

	room[n % 100] = 1;
	thrower(n);
	STAY();
}

KEEP void between(unsigned long n)
{
	char vla[n % 64 + 1];

	((volatile char *)vla)[n % 64] = 1;
	guarded(n);
	STAY();
}

KEEP void in_catch(int n)
{
	path_sink += (unsigned long)n;
	leaf();
	STAY();
}

KEEP void catcher(unsigned long n)
{
	try {
		between(n);
	} catch (int e) {
		in_catch(e);
	}
	STAY();
}

KEEP void run(unsigned long n)
{
	catcher(n);
	STAY();
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	while (path_more())
		for (unsigned long r = 0, n = path_reps; r < n; r += 50)
			run(r);
	return 0;
}
