// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: threads, whose stacks end at clone3 and not at _start. */
#include "path.h"
#include <pthread.h>

static volatile int stop;

KEEP void one_work(void)
{
	leaf();
	STAY();
}

KEEP void two_work(unsigned long n)
{
	char vla[n];

	((volatile char *)vla)[n - 1] = 1;
	leaf();
	STAY();
}

KEEP void *thread_one(void *arg)
{
	while (!stop)
		one_work();
	return arg;
}

KEEP void *thread_two(void *arg)
{
	while (!stop)
		two_work(1 + (path_sink & 15));
	return arg;
}

/* Threads that live a moment, so that samples fall on starting and ending. */
KEEP void *thread_brief(void *arg)
{
	leaf();
	return arg;
}

KEEP void start_brief(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread_brief, NULL);
	pthread_join(t, NULL);
}

KEEP void run(void)
{
	start_brief();
	STAY();
}

int main(int argc, char **argv)
{
	pthread_t one, two;

	path_begin(argc, argv);
	pthread_create(&one, NULL, thread_one, NULL);
	pthread_create(&two, NULL, thread_two, NULL);
	while (path_more())
		for (unsigned long r = 0, n = path_reps; r < n; r += 100)
			run();
	stop = 1;
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	return 0;
}
