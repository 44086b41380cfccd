// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: code that dlopen brought has rules after a refresh, and none
 * before; a library that comes and goes, a hundred times, leaves other
 * threads' stacks whole, which are taken all the while.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "seam/backtrace.h"
#include "theirs.h"

#define MAX 64
#define TIMES 100
#define THREADS 2

static void *ours[MAX], *theirs[MAX];
static int num_ours, num_theirs, end;

static __attribute__((noinline)) int take(void)
{
	num_ours = seam_backtrace_ex(ours, MAX, NULL, 0, &end);
	num_theirs = take_theirs(theirs, MAX, __builtin_return_address(0));
	return 0;
}

static void check_whole(void)
{
	assert_int_equal(end, SEAM_END_OUTERMOST);
	assert_int_equal(num_ours, num_theirs);
	assert_memory_equal(ours + 1, theirs + 1,
			    sizeof(ours[0]) * (size_t)(num_ours - 1));
}

/* The plugin is loaded, called through, and unloaded. */
static void once(void)
{
	int (*call)(int (*)(void)) = NULL;
	void *plugin = dlopen(PLUGIN, RTLD_NOW);
	void *symbol;

	assert_non_null(plugin);
	symbol = dlsym(plugin, "plugin_call");
	memcpy(&call, &symbol, sizeof(call));
	assert_non_null(symbol);
	assert_int_equal(call(take), 0);
	assert_int_equal(end, SEAM_END_NO_TABLE);
	assert_int_equal(num_ours, 2);
	assert_int_equal(seam_backtrace_refresh(), 1);
	assert_int_equal(seam_backtrace_refresh(), 0);
	assert_int_equal(call(take), 0);
	check_whole();
	assert_int_equal(dlclose(plugin), 0);
	assert_int_equal(seam_backtrace_refresh(), 1);
	take();
	check_whole();
}

static volatile int stop;
static int wrong[THREADS];

static __attribute__((noinline)) int down(int n, int *whole)
{
	void *v[MAX];
	volatile int after = 0;

	if (n) {
		after += down(n - 1, whole);
		return after + 1;
	}
	*whole = seam_backtrace(v, MAX);
	if (seam_backtrace_end() != SEAM_END_OUTERMOST)
		*whole = -1;
	return 0;
}

static void *take_stacks(void *arg)
{
	int first, n;

	down(9, &first);
	while (!stop) {
		down(9, &n);
		*(int *)arg += n < 12 || n != first;
	}
	return NULL;
}

static void comes_and_goes(void **state)
{
	pthread_t ids[THREADS];

	(void)state;
	assert_int_equal(seam_backtrace_init(), 0);
	take(); /* glibc loads libgcc_s */
	seam_backtrace_refresh();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&ids[i], NULL, take_stacks, &wrong[i]),
			0);
	for (int i = 0; i < TIMES; i++)
		once();
	stop = 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		assert_int_equal(wrong[i], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
