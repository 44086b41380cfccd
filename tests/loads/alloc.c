// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Some threads map, touch and unmap memory, so that the process's mappings
 * are locked for writing most of the time; others only compute and allocate
 * little. Arguments: mappers, spinners, seconds of wall time.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_THREADS = 64, CHUNK = 64 << 10 };

static volatile int stop;
static volatile unsigned long sink;

static void *mapper(void *arg)
{
	while (!stop) {
		char *p = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			break;
		memset(p, 1, 8192);
		munmap(p, CHUNK);
	}
	return arg;
}

static unsigned long mix(unsigned long x, int depth)
{
	char *p = malloc(16 + (x & 1023));

	if (p)
		p[0] = (char)x;
	x = depth ? mix(x * 6364136223846793005UL + 1, depth - 1) + 1 : x;
	free(p);
	return x;
}

static void *spinner(void *arg)
{
	while (!stop)
		sink += mix(sink, 20);
	return arg;
}

int main(int argc, char **argv)
{
	int mappers = argc > 1 ? atoi(argv[1]) : 2;
	int spinners = argc > 2 ? atoi(argv[2]) : 2;
	int seconds = argc > 3 ? atoi(argv[3]) : 3;
	pthread_t threads[MAX_THREADS];
	int n = 0;

	for (; n < mappers + spinners && n < MAX_THREADS; n++)
		if (pthread_create(&threads[n], NULL,
				   n < mappers ? mapper : spinner, NULL))
			return 1;
	sleep((unsigned int)seconds);
	stop = 1;
	while (n > 0)
		pthread_join(threads[--n], NULL);
	return 0;
}
