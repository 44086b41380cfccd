/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: what a name in /proc/PID/maps may be as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/maps-path.h"

static void is_other(const char *path, const char *want)
{
	char *other = seam_maps_path_other(path);

	assert_true(seam_maps_path_is_unsure(path));
	assert_string_equal(other, want);
	free(other);
}

static void test_other(void **state)
{
	(void)state;
	is_other("/a\\012b", "/a\nb");
	is_other("\\012", "\n");
	is_other("\\012\\012x\\012", "\n\nx\n");
	is_other("\\\\012", "\\\n");
	/* What came of it is not looked at again. */
	is_other("\\\\012012", "\\\n012");
}

static void test_sure(void **state)
{
	static const char *const sure[] = {"",	    "/a", "\\01", "\\013",
					   "\\040", "\n", "012"};

	(void)state;
	for (size_t i = 0; i < sizeof(sure) / sizeof(*sure); i++) {
		assert_false(seam_maps_path_is_unsure(sure[i]));
		assert_null(seam_maps_path_other(sure[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other),
		cmocka_unit_test(test_sure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
