// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: an array that grows keeps what it has, and one that cannot
 * grow is as it was. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/grow.h"

static void one_by_one(void **state)
{
	uint32_t *v = NULL;
	size_t max = 0, moves = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		size_t before = max;

		assert_int_equal(seam_grow(&v, i + 1, &max, sizeof(*v)), 0);
		assert_true(max > i);
		moves += max != before;
		v[i] = i;
	}
	/* Doubling, or a long recording would be copied for ever. */
	assert_true(moves < 20);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(v[i], i);
	free(v);
}

static void many(void **state)
{
	uint8_t *v = NULL;
	size_t max = 0;

	(void)state;
	assert_int_equal(seam_grow(&v, 0, &max, 1), 0);
	assert_null(v);
	assert_int_equal(seam_grow(&v, 70000, &max, 1), 0);
	assert_true(max >= 70000);
	v[69999] = 1;
	free(v);
}

static void too_many(void **state)
{
	static const size_t needs[] = {SIZE_MAX, SIZE_MAX / 2 + 2,
				       SIZE_MAX / 8 + 1, SIZE_MAX / 8 - 8};
	uint64_t *v = NULL, *was;
	size_t max = 0, had;

	(void)state;
	assert_int_equal(seam_grow(&v, 3, &max, sizeof(*v)), 0);
	v[2] = 7;
	was = v;
	had = max;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		assert_int_equal(seam_grow(&v, needs[i], &max, sizeof(*v)),
				 -ENOMEM);
		assert_ptr_equal(v, was);
		assert_int_equal(max, had);
		assert_int_equal(v[2], 7);
	}
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_by_one),
		cmocka_unit_test(many),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
