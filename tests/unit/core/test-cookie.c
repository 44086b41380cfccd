// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: cookies name CPU and count, wrap inside the count, and are
 * never 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/cookie.h"

static void layout(void **state)
{
	(void)state;
	assert_int_equal(seam_cookie_make(1, 0), 0x10000);
	assert_int_equal(seam_cookie_make(1, 3), 0x10003);
	assert_int_equal(seam_cookie_make(0xabcdef, 0xffff), 0xabcdefffffULL);
}

static void overflow_stays_in_the_count(void **state)
{
	uint64_t last = (1ULL << 48) - 1;

	(void)state;
	assert_int_equal(seam_cookie_make(last, 7), last << 16 | 7);
	/* Wrapped to 0: no cookie, the caller takes the next. */
	assert_int_equal(seam_cookie_make(last + 1, 7), 0);
	assert_int_equal(seam_cookie_make(last + 2, 7), 1 << 16 | 7);
}

static void cpus_differ(void **state)
{
	(void)state;
	for (uint32_t cpu = 1; cpu < 65536; cpu++)
		assert_int_not_equal(seam_cookie_make(5, cpu),
				     seam_cookie_make(5, cpu - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),
		cmocka_unit_test(overflow_stays_in_the_count),
		cmocka_unit_test(cpus_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
