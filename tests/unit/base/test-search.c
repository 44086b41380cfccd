// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a binary search finds what looking at each item does, in
 * arrays of every small length, with equal items and without any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/search.h"

#define LENGTH 9
#define VALUES 4 /* 0 to 3, to be looked for with what is beside them */

static size_t in_line(const int *items, size_t n, int from)
{
	size_t i = 0;

	while (i < n && items[i] < from)
		i++;
	return i;
}

static void look(const int *items, size_t n)
{
	for (int from = -1; from <= VALUES; from++) {
		size_t got = SEAM_SEARCH(i, n, items[i] < from);

		assert_int_equal(got, in_line(items, n, from));
	}
}

/* All sorted arrays that begin so. */
static void extend(int *items, size_t n)
{
	look(items, n);
	if (n == LENGTH)
		return;
	for (int v = n ? items[n - 1] : 0; v < VALUES; v++) {
		items[n] = v;
		extend(items, n + 1);
	}
}

static void every_array(void **state)
{
	int items[LENGTH];

	(void)state;
	extend(items, 0);
}

/* Nothing is looked at twice, nor outside, of as many as there can be. */
static void as_many_as_there_are(void **state)
{
	const size_t n = SIZE_MAX;
	size_t looks = 0, found;

	(void)state;
	found = SEAM_SEARCH(i, n, (looks++, i < n - 7));
	assert_true(found == n - 7);
	assert_true(looks <= 64);
	found = SEAM_SEARCH(i, n, (looks++, i < n));
	assert_true(found == n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_array),
		cmocka_unit_test(as_many_as_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
