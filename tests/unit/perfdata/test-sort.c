// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the index is in the order of time, and of the file where times
 * are equal: of runs that begin little before the last one's end, of long ones,
 * and of none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "perfdata/reader-priv.h"

#define N 20000

static uint64_t nearly(size_t i)
{
	return i - i % 4 * 7 % 5 + 5;
}

/* As of two files of a folder. */
static uint64_t two_runs(size_t i)
{
	return i % (N / 2) * 2 + i / (N / 2);
}

static uint64_t backward(size_t i)
{
	return N - i;
}

/* In order, but for what moves by far now and then. */
static uint64_t far(size_t i)
{
	return i % 5000 < 10 ? 0 : i;
}

static uint64_t all_equal(size_t i)
{
	return i - i;
}

static uint64_t anyhow(size_t i)
{
	return i * 2654435761u >> 7 & 0x3ff;
}

static void sort(uint64_t (*time_of)(size_t), size_t n)
{
	struct seam_spill room = {0};
	struct pd_index *v;

	assert_int_equal(seam_spill_grow(&room, n + 1, sizeof(*v)), 0);
	v = room.p;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct pd_index){.time_ns = time_of(i), .rec = i};
	assert_int_equal(seam_pd_sort_index(&room, n), 0);
	v = room.p;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(v[i].time_ns, time_of(v[i].rec));
	for (size_t i = 1; i < n; i++)
		assert_true(v[i - 1].time_ns < v[i].time_ns ||
			    (v[i - 1].time_ns == v[i].time_ns &&
			     v[i - 1].rec < v[i].rec));
	seam_spill_fini(&room);
}

static void test_sort(void **state)
{
	uint64_t (*const times[])(size_t) = {nearly, two_runs,	backward,
					     far,    all_equal, anyhow};
	const size_t sizes[] = {0, 1, 2, 3, 255, 256, 257, 600, N};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++)
			sort(times[i], sizes[j]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sort)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
