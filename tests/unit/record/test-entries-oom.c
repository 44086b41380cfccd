// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: wherever memory runs out, each sample that was taken has one
 * end, and what was not taken is said. */
#include <stdlib.h>

#include "given.h"
#include "tests/unit/oom-wrap.h"

static uint64_t n_taken;

static void give(uint64_t cookie, uint64_t time_ns)
{
	const struct seam_sample s = {.tid = TID,
				      .stack_tid = TID,
				      .cookie = cookie,
				      .time_ns = time_ns,
				      .max_frames = SEAM_CLIENT_MAX_FRAMES};

	n_taken += !seam_entries_sample(&t.es, &s);
}

/* Stacks that come at once, in the next entry, at an exec, late, and never. */
static void give_all(void)
{
	give(1, 100);
	give(1, 105);
	stack(1, 110, 3, PLAIN);
	give(2, 200);
	give(3, 300);
	stack(2, 310, 2, LIBRARY);
	stack(3, 320, 7, LIBRARY);
	give(4, 400);
	stack(4, 410, 4, EXEC);
	give(5, 500);
	give(4, 405);
	give(6, 600);
	stack(5, 0, 0, LOST); /* as the session says in the end */
	stack(6, 610, 4, PENDING);
}

static uint64_t n_ends(void)
{
	uint64_t n = 0;

	for (size_t i = 0; i < SEAM_END_MAX; i++)
		n += t.sum.end[i];
	return n;
}

/* Return: false: it did not run out. */
static bool run_out(long n)
{
	bool did;

	set_up(NULL);
	n_taken = 0;
	left = n;
	give_all();
	did = left <= 0;
	seam_entries_end(&t.es);
	left = -1;
	assert_int_equal(n_ends(), n_taken);
	tear_down(NULL);
	return did;
}

static void each_has_an_end(void **state)
{
	long n = 0;

	(void)state;
	while (run_out(n))
		n++;
	assert_in_range(n, 10, 200);
	assert_int_equal(n_taken, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
