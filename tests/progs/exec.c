// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: exec by a thread that is not its process's first, again and
 * again: in the middle of it the thread gets another tid.
 */
#include "path.h"
#include <pthread.h>
#include <unistd.h>

static char **arguments;

KEEP void again(void)
{
	leaf();
	execve(arguments[0], arguments, environ);
	STAY();
}

KEEP void *thread_two(void *arg)
{
	leaf();
	again();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t two;

	path_begin(argc, argv);
	arguments = argv;
	if (!path_more())
		return 0;
	path_spin = 100000;
	pthread_create(&two, NULL, thread_two, NULL);
	pthread_join(two, NULL);
	return 1;
}
