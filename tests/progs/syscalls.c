// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: system calls from a given depth (argument 2, 40 frames when
 * not given): many short ones (write), and long ones (getrandom of 1 MiB)
 * during which many samples share one user stack.
 */
#include "path.h"
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

static int depth = 40, null_fd;
static char big[1 << 20];

KEEP void writes(void)
{
	for (unsigned long i = 0; i < 2000; i++)
		path_sink += (unsigned long)write(null_fd, big, 512);
	STAY();
}

KEEP void randoms(void)
{
	path_sink += (unsigned long)getrandom(big, sizeof(big), 0);
	STAY();
}

KEEP void down(int n)
{
	if (n > 1)
		down(n - 1);
	else if (path_round & 1)
		writes();
	else
		randoms();
	STAY();
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	if (argc > 2)
		depth = atoi(argv[2]);
	null_fd = open("/dev/null", O_WRONLY);
	while (path_more())
		down(depth);
	return 0;
}
