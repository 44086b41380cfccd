// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a timer's signal comes 5,000 times at whatever instruction of
 * a program whose stack is known. Each time both the handler's stack and the
 * interrupted code's are that path: any of the functions below, in a place
 * that fits, and from there the very addresses that lead to main.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "seam/backtrace.h"
#include "theirs.h"

#define SIGNALS 5000
#define MAX 64

/* Each in a section of its own, so that the linker tells where it lies. */
#define IN(name) __attribute__((noinline, noclone, section("fn_" #name)))
#define PLACE(name) extern char __start_fn_##name[], __stop_fn_##name[]
/* Behind the leaf addresses are those that calls return to. */
#define IS_IN(name, v, i)                                                      \
	((char *)(v)[i] + !(i) > __start_fn_##name &&                          \
	 (char *)(v)[i] + !(i) <= __stop_fn_##name)

PLACE(top);
PLACE(middle);
PLACE(low);

static void *tail[MAX]; /* of top's caller and its callers */
static int num_tail;
static volatile sig_atomic_t left, failed;
static volatile uint64_t sink;
static void *bad[MAX];
static volatile int num_bad, bad_end;

/* A frame from SP, and calls of the C library. */
IN(low) static uint64_t low(uint64_t x)
{
	char text[40], copy[40];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)x);
	memcpy(copy, text, strlen(text) + 1);
	return x * 31 + (unsigned char)copy[0];
}

/* A frame from FP; pushes and pops around calls. */
IN(middle) static uint64_t middle(uint64_t x)
{
	char *room = alloca(x % 64 + 16);

	memset(room, (int)x, x % 64 + 16);
	return low(x) + low(x + 1) + (unsigned char)room[3];
}

IN(top) static void top(void)
{
	uint64_t x = 1;

	while (left > 0) {
		for (int i = 0; i < 20; i++)
			x = middle(x) ^ x >> 3;
		sink += x;
	}
}

/* From the leaf on: code that is not ours, low, middle, top, the tail. */
static int path_fits(void *const *v, int n)
{
	int i = 0, foreign;

	while (i < n && !IS_IN(low, v, i) && !IS_IN(middle, v, i) &&
	       !IS_IN(top, v, i))
		i++;
	/* Of what runs here only low and middle call others. */
	foreign = i > 0;
	if (i < n && IS_IN(low, v, i))
		i++, foreign = 0;
	if (i < n && IS_IN(middle, v, i))
		i++, foreign = 0;
	if (foreign || i >= n || !IS_IN(top, v, i))
		return 0;
	i++;
	return n - i == num_tail &&
	       !memcmp(v + i, tail, sizeof(v[0]) * (size_t)num_tail);
}

static void keep_bad(void *const *v, int n, int end)
{
	if (failed++)
		return;
	memcpy(bad, v, sizeof(v[0]) * (size_t)n);
	num_bad = n;
	bad_end = end;
}

static void on_timer(int sig, siginfo_t *info, void *ucontext)
{
	void *v[MAX];
	int n, m, end;

	(void)sig;
	(void)info;
	if (left <= 0)
		return;
	n = seam_backtrace_ex(v, MAX, ucontext, 0, &end);
	if (end != SEAM_END_OUTERMOST || !path_fits(v, n))
		keep_bad(v, n, end);
	/* Handler, trampoline, and the same. */
	m = seam_backtrace(v, MAX);
	if (seam_backtrace_end() != SEAM_END_OUTERMOST || m != n + 2 ||
	    !path_fits(v + 2, n))
		keep_bad(v, m, seam_backtrace_end());
	left--;
}

static __attribute__((noinline)) void learn_tail(void)
{
	void *v[MAX];

	num_tail = take_theirs(v, MAX, __builtin_return_address(0)) - 2;
	memcpy(tail, v + 2, sizeof(v[0]) * (size_t)num_tail);
}

/* The same call leads to learn_tail and to top, so that the address that it
 * returns to is the same. */
static __attribute__((noinline)) void through(void (*to)(void))
{
	to();
	sink++;
}

static __attribute__((noinline)) void learn(void)
{
	learn_tail();
	sink++;
}

/* One loop, so that also this call is the same one. */
static __attribute__((noinline)) void run(void)
{
	static void (*volatile steps[])(void) = {learn, top};

	for (volatile int i = 0; i < 2; i++) {
		left = i ? SIGNALS : 0;
		through(steps[i]);
	}
}

static void set_timer(long period_us)
{
	struct itimerval timer = {{0, period_us}, {0, period_us}};

	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void at_any_instruction(void **state)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};

	(void)state;
	assert_int_equal(seam_backtrace_init(), 0);
	action.sa_sigaction = on_timer;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	set_timer(173);
	run();
	set_timer(0);
	for (int i = 0; i < num_bad; i++)
		printf("# %d: %p\n", i, bad[i]);
	if (failed)
		printf("# %d stacks, the first ends: %s\n", (int)failed,
		       seam_err_name(bad_end));
	assert_int_equal(failed, 0);
	assert_int_equal(left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_any_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
