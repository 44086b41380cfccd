// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: an index gives every number under its hash, however many
 * share it, and what else it gives is few. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/index.h"

#define ITEMS 20000

/* How often a number is given under a hash; *ret_others: what else is. */
static size_t given(const struct seam_index *ix, uint64_t hash, uint32_t number,
		    size_t *ret_others)
{
	size_t n = 0;
	uint32_t i;

	*ret_others = 0;
	for (size_t at = 0; seam_index_next(ix, hash, &at, &i);) {
		n += i == number;
		*ret_others += i != number;
	}
	return n;
}

static void check_all(uint64_t (*hash_of)(uint32_t i))
{
	struct seam_index ix = {0};
	size_t others, sum = 0;

	for (uint32_t i = 0; i < ITEMS; i++)
		assert_int_equal(seam_index_add(&ix, hash_of(i), i), 0);
	for (uint32_t i = 0; i < ITEMS; i++) {
		assert_int_equal(given(&ix, hash_of(i), i, &others), 1);
		sum += others;
	}
	assert_true(sum < 10);
	assert_int_equal(given(&ix, hash_of(ITEMS + 1), ITEMS + 1, &others), 0);
	seam_index_fini(&ix);
}

static uint64_t low(uint32_t i)
{
	return i;
}

static uint64_t high(uint32_t i)
{
	return (uint64_t)i << 45;
}

static uint64_t text(uint32_t i)
{
	return seam_hash(SEAM_HASH_START, &i, sizeof(i));
}

static void found(void **state)
{
	(void)state;
	check_all(low);
	check_all(high);
	check_all(text);
}

static void equal_hashes(void **state)
{
	struct seam_index ix = {0};
	bool seen[1000] = {false};
	size_t n = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_int_equal(seam_index_add(&ix, 77, i), 0);
	for (size_t at = 0; seam_index_next(&ix, 77, &at, &i); n++) {
		assert_true(i < 1000 && !seen[i]);
		seen[i] = true;
	}
	assert_int_equal(n, 1000);
	seam_index_fini(&ix);
}

static void ends(void **state)
{
	struct seam_index ix = {0};
	size_t others;

	(void)state;
	assert_int_equal(given(&ix, 0, 0, &others), 0);
	assert_int_equal(seam_index_add(&ix, 0, UINT32_MAX), -EOVERFLOW);
	assert_int_equal(seam_index_add(&ix, 0, UINT32_MAX - 1), 0);
	assert_int_equal(given(&ix, 0, UINT32_MAX - 1, &others), 1);
	seam_index_fini(&ix);
	seam_index_fini(&ix);
}

/* http://www.isthe.com/chongo/tech/comp/fnv has these values. */
static void hash(void **state)
{
	(void)state;
	assert_true(seam_hash(SEAM_HASH_START, "", 0) == 0xcbf29ce484222325);
	assert_true(seam_hash(SEAM_HASH_START, "a", 1) == 0xaf63dc4c8601ec8c);
	assert_true(seam_hash(SEAM_HASH_START, "foobar", 6) ==
		    0x85944171f73967e8);
	assert_true(seam_hash(seam_hash(SEAM_HASH_START, "foo", 3), "bar", 3) ==
		    0x85944171f73967e8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),
		cmocka_unit_test(equal_hashes),
		cmocka_unit_test(ends),
		cmocka_unit_test(hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
