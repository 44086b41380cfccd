// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: when memory runs out in seam_backtrace_init or a refresh,
 * wherever that is, it says so, and stacks are as they were; the builds with
 * sanitizers see that nothing leaks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "seam/backtrace.h"
#include "tests/unit/oom-wrap.h"

/* Tries with one allocation more each time. Return: how often it failed. */
static long try_until(int (*fn)(void), int done, int end_before)
{
	void *v[64];
	long n = 0;
	int r;

	for (;; n++) {
		left = n;
		r = fn();
		left = -1;
		if (r == done)
			return n;
		assert_int_equal(r, -ENOMEM);
		if (end_before) {
			assert_in_range(seam_backtrace(v, 64), 2, 63);
			assert_int_equal(seam_backtrace_end(), end_before);
		}
	}
}

static void running_out(void **state)
{
	void *v[64], *plugin;
	long places;

	(void)state;
	places = try_until(seam_backtrace_init, 0, 0);
	printf("# init: %ld places\n", places);
	assert_true(places > 50);
	assert_in_range(seam_backtrace(v, 64), 2, 63);
	assert_int_equal(seam_backtrace_end(), SEAM_END_OUTERMOST);
	plugin = dlopen(PLUGIN, RTLD_NOW);
	assert_non_null(plugin);
	places = try_until(seam_backtrace_refresh, 1, SEAM_END_OUTERMOST);
	printf("# refresh: %ld places\n", places);
	assert_true(places > 5);
	dlclose(plugin);
	assert_int_equal(seam_backtrace_refresh(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
