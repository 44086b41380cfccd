// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a new range takes the place of what it covers, and what is
 * left of others stays: case by case, and against a plain array of units. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ranges.h"

#define TOP UINT64_MAX

/* Values are strings, so that a range can be written down. */
struct want {
	uint64_t start, end;
	const char *value;
};

static int n_values; /* that are owned by somebody */
static bool no_memory;

static void *copy_string(const void *value)
{
	if (no_memory)
		return NULL;
	n_values++;
	return strdup(value);
}

static void free_string(void *value)
{
	n_values--;
	free(value);
}

static const struct seam_range_ops strings = {copy_string, free_string};

static int put(struct seam_ranges *rs, uint64_t start, uint64_t end,
	       const char *value)
{
	bool was = no_memory;
	struct seam_range range = {start, end, NULL};
	int err;

	no_memory = false;
	range.value = copy_string(value);
	no_memory = was;
	err = seam_ranges_put(rs, &range, &strings);
	if (err)
		free_string(range.value);
	return err;
}

static void check(const struct seam_ranges *rs, const struct want *want,
		  size_t n)
{
	assert_int_equal(rs->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(rs->v[i].start, want[i].start);
		assert_int_equal(rs->v[i].end, want[i].end);
		assert_string_equal(rs->v[i].value, want[i].value);
		/* An end of its own for each part, that is freed once. */
		for (size_t j = 0; j < i; j++)
			assert_ptr_not_equal(rs->v[i].value, rs->v[j].value);
	}
	assert_int_equal(n_values, n);
}

/* Puts "new" over [100, 200) "a", [200, 300) "b" and [400, 500) "c". */
static void over(uint64_t start, uint64_t end, const struct want *want,
		 size_t n)
{
	struct seam_ranges rs = {0};

	assert_int_equal(put(&rs, 400, 500, "c"), 0);
	assert_int_equal(put(&rs, 100, 200, "a"), 0);
	assert_int_equal(put(&rs, 200, 300, "b"), 0);
	assert_int_equal(put(&rs, start, end, "new"), 0);
	check(&rs, want, n);
	seam_ranges_fini(&rs, &strings);
	assert_int_equal(n_values, 0);
}

#define OVER(start, end, ...)                                                  \
	do {                                                                   \
		const struct want want[] = {__VA_ARGS__};                      \
                                                                               \
		over(start, end, want, sizeof(want) / sizeof(want[0]));        \
	} while (0)
#define A                                                                      \
	{                                                                      \
		100, 200, "a"                                                  \
	}
#define B                                                                      \
	{                                                                      \
		200, 300, "b"                                                  \
	}
#define C                                                                      \
	{                                                                      \
		400, 500, "c"                                                  \
	}

static void nothing(void **state)
{
	(void)state;
	OVER(10, 20, {10, 20, "new"}, A, B, C);
	OVER(50, 100, {50, 100, "new"}, A, B, C);
	OVER(300, 400, A, B, {300, 400, "new"}, C);
	OVER(500, 501, A, B, C, {500, 501, "new"});
}

static void left(void **state)
{
	(void)state;
	OVER(50, 101, {50, 101, "new"}, {101, 200, "a"}, B, C);
	OVER(100, 199, {100, 199, "new"}, {199, 200, "a"}, B, C);
	OVER(350, 450, A, B, {350, 450, "new"}, {450, 500, "c"});
}

static void right(void **state)
{
	(void)state;
	OVER(199, 200, {100, 199, "a"}, {199, 200, "new"}, B, C);
	OVER(250, 350, A, {200, 250, "b"}, {250, 350, "new"}, C);
	OVER(499, 600, A, B, {400, 499, "c"}, {499, 600, "new"});
}

static void middle(void **state)
{
	(void)state;
	OVER(120, 130, {100, 120, "a"}, {120, 130, "new"}, {130, 200, "a"}, B,
	     C);
	OVER(401, 499, A, B, {400, 401, "c"}, {401, 499, "new"},
	     {499, 500, "c"});
}

static void exact(void **state)
{
	(void)state;
	OVER(100, 200, {100, 200, "new"}, B, C);
	OVER(400, 500, A, B, {400, 500, "new"});
}

static void several(void **state)
{
	(void)state;
	OVER(100, 300, {100, 300, "new"}, C);
	OVER(0, 1000, {0, 1000, "new"});
	OVER(150, 450, {100, 150, "a"}, {150, 450, "new"}, {450, 500, "c"});
	OVER(150, 300, {100, 150, "a"}, {150, 300, "new"}, C);
	OVER(200, 401, A, {200, 401, "new"}, {401, 500, "c"});
	OVER(0, TOP, {0, TOP, "new"});
}

static void empty(void **state)
{
	struct seam_ranges rs = {0}, copy;
	const struct want want[] = {{5, 9, "a"}};

	(void)state;
	assert_null(seam_ranges_find(&rs, 0));
	assert_int_equal(seam_ranges_copy(&copy, &rs, 0, &strings), 0);
	assert_int_equal(copy.n, 0);
	assert_int_equal(put(&rs, 7, 7, "none"), -EINVAL);
	assert_int_equal(put(&rs, 5, 9, "a"), 0);
	assert_int_equal(put(&rs, 7, 7, "none"), -EINVAL);
	assert_int_equal(put(&rs, 8, 6, "backwards"), -EINVAL);
	check(&rs, want, 1);
	seam_ranges_fini(&rs, &strings);
	seam_ranges_fini(&rs, &strings);
	assert_int_equal(n_values, 0);
}

static void top(void **state)
{
	struct seam_ranges rs = {0};
	const struct want want[] = {{TOP - 9, TOP - 5, "a"},
				    {TOP - 5, TOP - 4, "b"},
				    {TOP - 4, TOP, "a"}};

	(void)state;
	assert_int_equal(seam_range_end(0, 0), 0);
	assert_int_equal(seam_range_end(4096, 4096), 8192);
	assert_int_equal(seam_range_end(1, TOP - 2), TOP - 1);
	assert_int_equal(seam_range_end(1, TOP - 1), TOP);
	assert_int_equal(seam_range_end(1, TOP), TOP);
	assert_int_equal(seam_range_end(TOP - 4095, 4096), TOP);
	assert_int_equal(seam_range_end(TOP, 1), TOP);
	assert_int_equal(seam_range_end(TOP, TOP), TOP);
	assert_int_equal(seam_range_end(TOP, 0), TOP);

	assert_int_equal(put(&rs, TOP - 9, seam_range_end(TOP - 9, TOP), "a"),
			 0);
	assert_int_equal(put(&rs, TOP - 5, TOP - 4, "b"), 0);
	check(&rs, want, 3);
	assert_null(seam_ranges_find(&rs, 0));
	assert_string_equal(seam_ranges_find(&rs, TOP - 1)->value, "a");
	assert_null(seam_ranges_find(&rs, TOP));
	seam_ranges_fini(&rs, &strings);
}

/* A value that cannot be copied: all stays as it was. */
static void failing(void **state)
{
	struct seam_ranges rs = {0}, copy = {0};
	const struct want want[] = {A};

	(void)state;
	assert_int_equal(put(&rs, 100, 200, "a"), 0);
	no_memory = true;
	assert_int_equal(put(&rs, 120, 130, "new"), -ENOMEM);
	assert_int_equal(seam_ranges_copy(&copy, &rs, 3, &strings), -ENOMEM);
	no_memory = false;
	assert_null(copy.v);
	check(&rs, want, 1);
	seam_ranges_fini(&rs, &strings);
	assert_int_equal(n_values, 0);
}

/* A copy is one's own; without ops its values are the same ones. */
static void copied(void **state)
{
	struct seam_ranges rs = {0}, copy, shared;
	const struct want want[] = {A, B};

	(void)state;
	assert_int_equal(put(&rs, 100, 200, "a"), 0);
	assert_int_equal(put(&rs, 200, 300, "b"), 0);
	assert_int_equal(seam_ranges_copy(&shared, &rs, 5, NULL), 0);
	assert_int_equal(shared.cap, 7);
	assert_ptr_equal(shared.v[1].value, rs.v[1].value);
	seam_ranges_fini(&shared, NULL);
	assert_int_equal(seam_ranges_copy(&copy, &rs, 0, &strings), 0);
	assert_int_equal(n_values, 4);
	seam_ranges_fini(&rs, &strings);
	check(&copy, want, 2);
	assert_int_equal(put(&copy, 0, 1, "new"), 0);
	seam_ranges_fini(&copy, &strings);
	assert_int_equal(n_values, 0);
}

#define UNITS 256

static bool any(const char *const *truth, uint64_t start, uint64_t end)
{
	while (start < end && !truth[start])
		start++;
	return start < end;
}

/* As many steps as fill and cut the space many times over. */
static void against_an_array(void **state)
{
	static char values[20000];
	const char *truth[UNITS] = {NULL};
	struct seam_ranges rs = {0};
	unsigned int seed = 1;

	(void)state;
	for (size_t step = 0; step < sizeof(values); step++) {
		uint64_t start = (unsigned int)rand_r(&seed) % UNITS;
		uint64_t len = 1 + (unsigned int)rand_r(&seed) % 40;
		struct seam_range range = {start, start + len, &values[step]};

		if (range.end > UNITS)
			range.end = UNITS;
		/* Now and then all go, or few would be alone. */
		if (step % 50 == 0) {
			seam_ranges_fini(&rs, NULL);
			memset(truth, 0, sizeof(truth));
		}
		assert_int_equal(seam_ranges_any(&rs, range.start, range.end),
				 any(truth, range.start, range.end));
		assert_int_equal(seam_ranges_put(&rs, &range, NULL), 0);
		for (uint64_t i = range.start; i < range.end; i++)
			truth[i] = range.value;
		for (uint64_t i = 0; i < UNITS; i++) {
			struct seam_range *r = seam_ranges_find(&rs, i);

			assert_ptr_equal(r ? r->value : NULL, truth[i]);
		}
		for (size_t i = 1; i < rs.n; i++)
			assert_true(rs.v[i - 1].end <= rs.v[i].start);
	}
	seam_ranges_fini(&rs, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),
		cmocka_unit_test(left),
		cmocka_unit_test(right),
		cmocka_unit_test(middle),
		cmocka_unit_test(exact),
		cmocka_unit_test(several),
		cmocka_unit_test(empty),
		cmocka_unit_test(top),
		cmocka_unit_test(failing),
		cmocka_unit_test(copied),
		cmocka_unit_test(against_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
