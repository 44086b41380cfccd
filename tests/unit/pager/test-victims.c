// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what was used longest ago makes room, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../random.h"
#include "pager/victims.h"

#define MANY 300

static uint64_t used[MANY];
static unsigned asked[MANY];

static uint64_t used_of(void *ctx, size_t i)
{
	(void)ctx;
	asked[i]++;
	return used[i];
}

static void test_few(void **state)
{
	static const uint64_t ns[] = {50, 10, 40, 0, 10, 30};
	static const size_t order[] = {3, 1, 4, 5, 2, 0};
	size_t got[8];

	(void)state;
	for (size_t i = 0; i < 6; i++)
		used[i] = ns[i];
	for (size_t count = 0; count <= 8; count++) {
		size_t want = count < 6 ? count : 6;

		assert_int_equal(seam_victims(6, used_of, NULL, count, got),
				 want);
		assert_memory_equal(got, order, want * sizeof(*got));
	}
	assert_int_equal(seam_victims(0, used_of, NULL, 3, got), 0);
}

/* Nobody who stays was used before anybody who goes. */
static void test_many(void **state)
{
	struct random r = {5};

	(void)state;
	for (int turn = 0; turn < 200; turn++) {
		size_t n = 1 + next(&r, MANY), got[MANY];
		size_t count = 1 + next(&r, (uint32_t)n);
		uint64_t newest = 0;
		bool goes[MANY] = {false};

		for (size_t i = 0; i < n; i++) {
			used[i] = next(&r, 1000);
			asked[i] = 0;
		}
		assert_int_equal(seam_victims(n, used_of, NULL, count, got),
				 count);
		for (size_t i = 0; i < count; i++) {
			assert_false(goes[got[i]]);
			goes[got[i]] = true;
			assert_true(used[got[i]] >= newest);
			newest = used[got[i]];
		}
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(asked[i], 1);
			assert_true(goes[i] || used[i] >= newest);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
