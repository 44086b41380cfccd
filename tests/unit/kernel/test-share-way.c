// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a group's name tells what makes it one: how its clients unwind,
 * how large their copies are and where their tables come from, or another
 * build. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "event/order.h"
#include "kernel/share-way.h"

static const char object[] = "the programs of some build";

static void found(const char *order, uint32_t copy, enum seam_tables_from from)
{
	uint64_t build = seam_share_build(object, sizeof(object));
	struct seam_share_way way = {0};
	uint32_t methods;
	char name[24];

	assert_null(seam_order_parse(order, &methods));
	snprintf(name, sizeof(name), "%016" PRIx64,
		 seam_share_group_of(build, methods, copy, from));
	assert_true(seam_share_way_of(build, name, &way));
	assert_string_equal(way.order, order);
	assert_int_equal(way.stack_copy, copy);
	assert_int_equal(way.tables_from, from);
	/* Of the same name to none of another. */
	build = seam_share_build(object, sizeof(object) - 1);
	assert_false(seam_share_way_of(build, name, &way));
}

static void ways(void **state)
{
	static const char *const sframe_fp[] = {"sframe", "fp", "sframe,fp",
						"fp,sframe"};
	static const char *const guesses[] = {"", ",guess", ",guess-all"};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 3; j++) {
			char order[32];

			snprintf(order, sizeof(order), "%s%s", sframe_fp[i],
				 guesses[j]);
			found(order, 65536, SEAM_TABLES_AUTO);
		}
	found("guess", 65536, SEAM_TABLES_KERNEL);
	found("guess-all", 65536, SEAM_TABLES_MAPPED);
	found("sframe,fp", 256, SEAM_TABLES_AUTO);
	found("sframe,fp", 8191, SEAM_TABLES_MAPPED);
}

/* Whoever made the folder may have named it so. */
static void odd(void **state)
{
	struct seam_share_way way = {.stack_copy = 1};

	(void)state;
	assert_false(seam_share_way_of(1, "", &way));
	assert_false(seam_share_way_of(1, "no group", &way));
	assert_int_equal(way.stack_copy, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways),
		cmocka_unit_test(odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
