// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What a frame of the own stack costs: seam_backtrace, glibc's backtrace,
 * libunwind's unw_step and a walk along frame pointers, one after the other
 * in each round, on the same stack. Built with frame pointers, for the last.
 * Prints medians in ns a frame, and the ratios of seam's to them.
 */
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

static __attribute__((noinline)) void measure(const char *shape)
{
	static double ns[WAYS][ROUNDS];
	int frames[WAYS];

	for (int round = 0; round < ROUNDS; round++)
		for (size_t w = 0; w < WAYS; w++) {
			double start = now_ns();
			int sum = 0;

			for (int i = 0; i < ways[w].calls; i++)
				sum += ways[w].take();
			ns[w][round] = (now_ns() - start) / sum;
			frames[w] = sum / ways[w].calls;
		}
	for (size_t w = 0; w < WAYS; w++) {
		qsort(ns[w], ROUNDS, sizeof(double), compare);
		printf("| %s | %s | %d | %.2f [%.2f, %.2f] | %.2f |\n", shape,
		       ways[w].name, frames[w], ns[w][ROUNDS / 2],
		       ns[w][ROUNDS / 4], ns[w][3 * ROUNDS / 4],
		       ns[0][ROUNDS / 2] / ns[w][ROUNDS / 2]);
	}
}

static volatile int sink;

static __attribute__((noinline)) void recurse(int n)
{
	if (n)
		recurse(n - 1);
	else
		measure("recursion");
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
static __attribute__((noinline)) void leaf(void)
{
	measure("distinct functions");
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
	recurse(100);
	return 0;
}
