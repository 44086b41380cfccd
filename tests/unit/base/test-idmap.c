// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the id map keeps what is put in, through growth and removal,
 * as a plain array says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/idmap.h"

#define IDS 4096

static void against_an_array(void **state)
{
	static char values[IDS];
	void *truth[IDS] = {NULL};
	struct seam_idmap map = {0};
	unsigned int seed = 1;
	size_t n = 0;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		/* Multiples of 64 make long runs of neighbours. */
		unsigned int i = (unsigned int)rand_r(&seed) % IDS;
		uint64_t id = (uint64_t)i * 64;

		if (rand_r(&seed) % 3) {
			assert_int_equal(seam_idmap_put(&map, id, &values[i]),
					 0);
			n += !truth[i];
			truth[i] = &values[i];
		} else {
			assert_ptr_equal(seam_idmap_remove(&map, id), truth[i]);
			n -= truth[i] != NULL;
			truth[i] = NULL;
		}
		assert_int_equal(map.used, n);
		i = (unsigned int)rand_r(&seed) % IDS;
		assert_ptr_equal(seam_idmap_get(&map, (uint64_t)i * 64),
				 truth[i]);
	}
	for (unsigned int i = 0; i < IDS; i++)
		assert_ptr_equal(seam_idmap_get(&map, (uint64_t)i * 64),
				 truth[i]);
	seam_idmap_fini(&map, NULL);
}

/* What a sweep over IDS ids has been asked, and what it keeps. */
struct sweep {
	int n_asked[IDS], n_removed[IDS];
	unsigned int keep_every;
};

static bool swept(void *ctx, uint64_t id, void *value)
{
	struct sweep *s = ctx;
	unsigned int i = (unsigned int)(id / 64);

	assert_ptr_equal(value, s);
	s->n_asked[i]++;
	if (i % s->keep_every == 0)
		return false;
	s->n_removed[i]++;
	return true;
}

/* A full map, and one filled to every other length of runs. */
static void sweep(void **state)
{
	static struct sweep s;

	(void)state;
	for (unsigned int n = 0; n < IDS; n += 1 + n / 8) {
		struct seam_idmap map = {0};

		memset(&s, 0, sizeof(s));
		s.keep_every = 2 + n % 5;
		for (unsigned int i = 0; i < n; i++)
			assert_int_equal(
				seam_idmap_put(&map, (uint64_t)i * 64, &s), 0);
		seam_idmap_sweep(&map, swept, &s);
		assert_int_equal(map.used,
				 (n + s.keep_every - 1) / s.keep_every);
		for (unsigned int i = 0; i < n; i++) {
			bool kept = i % s.keep_every == 0;

			assert_true(s.n_asked[i] >= 1);
			assert_int_equal(s.n_removed[i], !kept);
			assert_ptr_equal(seam_idmap_get(&map, (uint64_t)i * 64),
					 kept ? &s : NULL);
		}
		seam_idmap_fini(&map, NULL);
	}
}

/* Ids that differ in their upper half only, and the ends of the range. */
static void wide_ids(void **state)
{
	static uint64_t ends[] = {
		0, 1, UINT32_MAX, 1ULL << 32, UINT64_MAX - 1, UINT64_MAX};
	static char values[IDS];
	struct seam_idmap map = {0};

	(void)state;
	for (uint64_t i = 1; i < IDS; i++)
		assert_int_equal(seam_idmap_put(&map, i << 48 | 7, &values[i]),
				 0);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		assert_int_equal(seam_idmap_put(&map, ends[i], &ends[i]), 0);
	for (uint64_t i = 1; i < IDS; i++)
		assert_ptr_equal(seam_idmap_get(&map, i << 48 | 7), &values[i]);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		assert_ptr_equal(seam_idmap_get(&map, ends[i]), &ends[i]);
	seam_idmap_fini(&map, NULL);
}

static void make(void **state)
{
	struct seam_idmap map = {0};
	int *a = seam_idmap_make(&map, UINT64_MAX, sizeof(*a));
	int *b = seam_idmap_make(&map, 0, sizeof(*b));

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(*a, 0);
	*a = 3;
	assert_ptr_equal(seam_idmap_make(&map, UINT64_MAX, sizeof(*a)), a);
	assert_int_equal(*a, 3);
	assert_int_equal(map.used, 2);
	seam_idmap_fini(&map, free);
}

static void empty(void **state)
{
	struct seam_idmap map = {0};

	(void)state;
	assert_null(seam_idmap_get(&map, 1));
	assert_null(seam_idmap_remove(&map, 1));
	seam_idmap_sweep(&map, swept, NULL);
	seam_idmap_fini(&map, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_an_array),
		cmocka_unit_test(sweep),
		cmocka_unit_test(wide_ids),
		cmocka_unit_test(make),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
