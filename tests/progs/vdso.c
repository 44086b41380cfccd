// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the innermost frame is in the vDSO. */
#include "path.h"

KEEP void ask(void)
{
	struct timespec ts;

	for (unsigned long i = 0; i < 1000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		path_sink += (unsigned long)ts.tv_nsec;
	}
	STAY();
}

KEEP void run(void)
{
	ask();
	STAY();
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	while (path_more())
		run();
	return 0;
}
