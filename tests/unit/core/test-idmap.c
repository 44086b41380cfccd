// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the id map keeps what is put in, through growth and removal,
 * as a plain array says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

static void empty(void **state)
{
	struct seam_idmap map = {0};

	(void)state;
	assert_null(seam_idmap_get(&map, 1));
	assert_null(seam_idmap_remove(&map, 1));
	seam_idmap_fini(&map, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_an_array),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
