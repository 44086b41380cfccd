// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: lines are counted and come in their order, whether they fit in
 * memory, wait in a file, or cannot, and what is in memory is no more than what
 * may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/fold.h"

#define LINES 5000
#define TIMES 3

/* Each of them comes 3 times, in no order, with others between. */
static void line(char text[static 64], unsigned i)
{
	unsigned n = i * 7919 % LINES;

	snprintf(text, 64, "%u;%0*u", n % 7, (int)(n % 40) + 1, n);
}

static size_t fill(struct seam_fold *f)
{
	size_t most = 0;
	char text[64];

	for (unsigned i = 0; i < LINES * TIMES; i++) {
		line(text, i);
		assert_int_equal(seam_fold_add(f, text, i % 2 + 1), 0);
		most = f->len > most ? f->len : most;
	}
	return most;
}

static void check(struct seam_fold *f)
{
	struct seam_fold_line next;
	uint64_t count = 0;
	char last[64] = "";
	size_t n = 0;

	assert_int_equal(seam_fold_begin(f), 0);
	for (; seam_fold_next(f, &next); n++) {
		assert_true(strcmp(last, next.text) < 0);
		snprintf(last, sizeof(last), "%s", next.text);
		/* LINES is even: either each time 1 or each time 2. */
		assert_true(next.count == TIMES || next.count == 2 * TIMES);
		count += next.count;
	}
	assert_int_equal(n, LINES);
	assert_int_equal(count, LINES * TIMES * 3 / 2);
	assert_false(seam_fold_next(f, &next));
}

static void run(size_t most, size_t runs, bool in_file)
{
	const size_t was = seam_fold_most;
	struct seam_fold f = {0};

	seam_fold_most = most;
	assert_true(fill(&f) <= most);
	assert_true(f.n_runs >= runs && (runs || !f.n_runs));
	assert_int_equal(f.room.mapped != 0, in_file);
	check(&f);
	seam_fold_fini(&f);
	seam_fold_most = was;
}

static void in_memory(void **state)
{
	(void)state;
	run(seam_fold_most, 0, false);
}

static void in_a_file(void **state)
{
	(void)state;
	run(100000, 2, true);
	run(4000, 50, true);
	run(64, LINES, true); /* each line is a run */
}

static void nowhere(void **state)
{
	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	run(4000, 50, false);
	unsetenv("TMPDIR");
}

static void none(void **state)
{
	struct seam_fold f = {0};
	struct seam_fold_line next;

	(void)state;
	assert_int_equal(seam_fold_begin(&f), 0);
	assert_false(seam_fold_next(&f, &next));
	seam_fold_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_memory),
		cmocka_unit_test(in_a_file),
		cmocka_unit_test(nowhere),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
