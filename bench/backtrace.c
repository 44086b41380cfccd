// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What a frame of the own stack costs: seam_backtrace, glibc's backtrace,
 * libunwind's unw_step and a walk along frame pointers, one after the other
 * in each round, on the same stack. Built with frame pointers, for the last.
 * Prints medians in ns a frame, and the ratios of seam's to them. What a walk
 * finds may be as it was at the last one, or not: the innermost frames others
 * each time, or every frame at another place.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "seam/backtrace.h"

#define MAX 512
#define ROUNDS 31

static void *stack[MAX];
static int (*glibc)(void **buffer, int size);

static __attribute__((noinline)) int by_seam(void)
{
	return seam_backtrace(stack, MAX);
}

static __attribute__((noinline)) int by_glibc(void)
{
	return glibc(stack, MAX);
}

static __attribute__((noinline)) int by_unw_step(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t ip;
	int n = 0;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		stack[n++] = (void *)ip;
	} while (n < MAX && unw_step(&cursor) > 0);
	return n;
}

/* What the calls themselves take. */
static __attribute__((noinline)) int by_nothing(void)
{
	return 0;
}

/* With the check without which it would follow anything. */
static __attribute__((noinline)) int by_frame_pointers(void)
{
	uintptr_t *fp = __builtin_frame_address(0), *next;
	int n = 0;

	for (; n < MAX; fp = next) {
		stack[n++] = (void *)fp[1];
		next = (uintptr_t *)fp[0];
		if (next <= fp)
			break;
	}
	return n;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const struct way {
	const char *name;
	int (*take)(void);
	int calls; /* in a round */
} ways[] = {
	{"seam_backtrace", by_seam, 2000},
	{"glibc backtrace", by_glibc, 100},
	{"libunwind unw_step", by_unw_step, 100},
	{"frame pointers", by_frame_pointers, 2000},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static int compare(const void *a, const void *b)
{
	double l = *(const double *)a, r = *(const double *)b;

	return l < r ? -1 : l > r;
}

static int same_stack(int (*take)(void), int i)
{
	(void)i;
	return take();
}

static volatile int sink;

static __attribute__((noinline)) int deeper(int (*take)(void), int levels)
{
	int n = levels ? deeper(take, levels - 1) : take();

	sink++;
	return n;
}

/* One to five frames, none of which is where the last walk had one. */
static int new_top(int (*take)(void), int i)
{
	return deeper(take, i % 5);
}

/* Of all calls. Return: in ns; *ret_frames: the sum. */
static double time_calls(int (*run)(int (*take)(void), int i),
			 int (*take)(void), int calls, int *ret_frames)
{
	double start = now_ns();
	int sum = 0;

	for (int i = 0; i < calls; i++)
		sum += run(take, i);
	*ret_frames = sum;
	return now_ns() - start;
}

static __attribute__((noinline)) void
measure(const char *shape, int (*run)(int (*take)(void), int i))
{
	static double ns[WAYS][ROUNDS];
	int frames[WAYS];

	for (int round = 0; round < ROUNDS; round++)
		for (size_t w = 0; w < WAYS; w++) {
			int calls = ways[w].calls, sum, none;
			double took =
				time_calls(run, ways[w].take, calls, &sum);

			took -= time_calls(run, by_nothing, calls, &none);
			ns[w][round] = took / sum;
			frames[w] = sum / calls;
		}
	for (size_t w = 0; w < WAYS; w++) {
		qsort(ns[w], ROUNDS, sizeof(double), compare);
		printf("| %s | %s | %d | %.2f [%.2f, %.2f] | %.2f |\n", shape,
		       ways[w].name, frames[w], ns[w][ROUNDS / 2],
		       ns[w][ROUNDS / 4], ns[w][3 * ROUNDS / 4],
		       ns[0][ROUNDS / 2] / ns[w][ROUNDS / 2]);
	}
}

static __attribute__((noinline)) void recurse(int n)
{
	if (n)
		recurse(n - 1);
	else
		measure("recursion", same_stack);
	sink++;
}

/* A chain of functions that differ, as stacks mostly are. */
#define LINK(a, b)                                                             \
	static __attribute__((noinline)) void a(void)                          \
	{                                                                      \
		volatile char room[sizeof(#a) * 8 + __LINE__ % 7 * 16];        \
		room[0] = 1;                                                   \
		b();                                                           \
		sink += room[0];                                               \
	}
static int (*taken)(void); /* by the leaf, or it measures */
static int num_taken;

static __attribute__((noinline)) void leaf(void)
{
	if (taken) {
		num_taken = taken();
	} else {
		measure("distinct functions", same_stack);
		measure("distinct functions, new innermost", new_top);
	}
	sink++;
}
#define LINKS(a, next)                                                         \
	LINK(a##4, next)                                                       \
	LINK(a##33, a##4)                                                      \
	LINK(a##222, a##33)                                                    \
	LINK(a##1111, a##222)
LINKS(h, leaf)
LINKS(g, h1111)
LINKS(f, g1111)
LINKS(e, f1111)
LINKS(d, e1111)
LINKS(c, d1111)
LINKS(b, c1111)

/* The chain anew, with SP where it was not the last 30 times. */
static int new_stack(int (*take)(void), int i)
{
	volatile char *room = alloca((size_t)(i % 31) * 16 + 16);

	room[0] = 1;
	taken = take;
	b1111();
	sink += room[0];
	return num_taken;
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	/* libunwind has a backtrace as well. */
	void *symbol = libc ? dlsym(libc, "backtrace") : NULL;

	if (!symbol)
		return 1;
	memcpy(&glibc, &symbol, sizeof(glibc));
	glibc(stack, MAX); /* loads libgcc_s */
	if (seam_backtrace_init())
		return 1;
	puts("| stack | by | frames | ns a frame | seam's by this |");
	puts("|---|---|---|---|---|");
	b1111();
	measure("distinct functions, all new", new_stack);
	recurse(100);
	return 0;
}
