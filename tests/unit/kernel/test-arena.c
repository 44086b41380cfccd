// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: an address that an arena is being made for is nobody else's,
 * however many sessions of the process begin at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "kernel/arena.h"

#define N 8
#define HINT 5

static void *take(void *ret)
{
	*(uint64_t *)ret = seam_arena_address(HINT);
	return NULL;
}

static void at_once(void **state)
{
	uint64_t taken[N];
	pthread_t threads[N];

	(void)state;
	for (int i = 0; i < N; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, take, &taken[i]), 0);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < N; i++) {
		assert_int_not_equal(taken[i], 0);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(taken[i], taken[k]);
	}
	for (int i = 0; i < N; i++)
		seam_arena_give_back(taken[i]);
}

static void given_back(void **state)
{
	uint64_t first = seam_arena_address(HINT);

	(void)state;
	assert_int_not_equal(seam_arena_address(HINT), first);
	seam_arena_give_back(first);
	assert_int_equal(seam_arena_address(HINT), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_once),
		cmocka_unit_test(given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
