// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * depth SECONDS CALLS [cold]
 * Spends its time in a leaf, with CALLS frames of its own on the stack, main
 * and the leaf among them. cold: the leaf reads all over a large array, so
 * that at each event little else is left in the caches, as in programs that
 * do something. Built once with frame pointers and once without.
 */
#include <stdlib.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone))
#define STAY() __asm__ volatile("" : : : "memory")

#ifndef LOCALS
#define LOCALS 64 /* bytes; the frame has 32 more */
#endif
#define LARGE (32UL << 20)

static volatile unsigned long sink;
static unsigned char large[LARGE];
static unsigned long reach = 1;

KEEP static void leaf(double seconds)
{
	struct timespec now;
	unsigned long at = 1;

	do {
		for (unsigned long i = 0; i < 5000000; i++) {
			at = at * 6364136223846793005UL + 1442695040888963407UL;
			sink += large[(at >> 32) & (reach - 1)]++;
		}
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < seconds);
}

KEEP static void down(int calls, double seconds)
{
	volatile char locals[LOCALS];

	locals[0] = (char)calls;
	if (calls > 1)
		down(calls - 1, seconds);
	else
		leaf(seconds);
	STAY();
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int calls = argc > 2 ? atoi(argv[2]) : 5;

	if (argc > 3)
		reach = LARGE;
	if (calls > 2)
		down(calls - 2, seconds);
	else
		leaf(seconds);
	STAY();
	return 0;
}
