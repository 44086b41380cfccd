// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: recursion to a depth given as argument 2, mutual recursion. */
#include "path.h"

static int depth = 40;

KEEP void down(int n)
{
	if (n > 1)
		down(n - 1);
	else
		leaf();
	STAY();
}

void pong(int n);

KEEP void ping(int n)
{
	pong(n);
	STAY();
}

KEEP void pong(int n)
{
	if (n > 1)
		ping(n - 1);
	else
		leaf();
	STAY();
}

KEEP void run(void)
{
	down(depth);
	ping(depth / 2);
	STAY();
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	if (argc > 2)
		depth = atoi(argv[2]);
	while (path_more())
		for (unsigned long r = 0, n = path_reps; r < n; r += depth)
			run();
	return 0;
}
