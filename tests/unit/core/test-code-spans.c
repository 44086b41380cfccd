// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: where made code lies is known by the page while there is room,
 * also where some of it goes; beyond that the nearest become one, and never is
 * code forgotten that is still there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/code-spans.h"

#define PAGE SEAM_CODE_PAGE
#define FAR (16 * PAGE)

static struct seam_code_spans *fresh(void)
{
	static struct seam_code_spans s;

	memset(&s, 0, sizeof(s));
	return &s;
}

static void add(struct seam_code_spans *s, uint64_t page, uint64_t pages)
{
	seam_code_spans_add(s, page * PAGE, (page + pages) * PAGE);
}

static void cut(struct seam_code_spans *s, uint64_t page, uint64_t pages)
{
	seam_code_spans_cut(s, page * PAGE, (page + pages) * PAGE);
}

static bool has(struct seam_code_spans *s, uint64_t page)
{
	return seam_code_spans_meet(s, page * PAGE, (page + 1) * PAGE);
}

static void test_by_pages(void **state)
{
	struct seam_code_spans *s = fresh();

	(void)state;
	assert_false(seam_code_spans_meet(s, 0, UINT64_MAX));
	seam_code_spans_add(s, 3 * PAGE + 5, 3 * PAGE + 6);
	assert_int_equal(s->v[0].start, 3 * PAGE);
	assert_int_equal(s->v[0].end, 4 * PAGE);
	assert_true(seam_code_spans_meet(s, 0, UINT64_MAX));
	assert_false(seam_code_spans_meet(s, 0, 3 * PAGE));
	assert_false(seam_code_spans_meet(s, 4 * PAGE, UINT64_MAX));
	/* No such addresses. */
	seam_code_spans_add(s, 8 * PAGE, UINT64_MAX);
	seam_code_spans_add(s, 9 * PAGE, 9 * PAGE);
	assert_int_equal(s->n, 1);
}

static void test_join(void **state)
{
	struct seam_code_spans *s = fresh();

	(void)state;
	add(s, 10, 2);
	add(s, 20, 2);
	add(s, 30, 2);
	assert_int_equal(s->n, 3);
	add(s, 12, 1); /* touches */
	add(s, 19, 1);
	assert_int_equal(s->n, 3);
	add(s, 13, 17); /* from one to the last */
	assert_int_equal(s->n, 1);
	assert_int_equal(s->v[0].start, 10 * PAGE);
	assert_int_equal(s->v[0].end, 32 * PAGE);
	add(s, 15, 1);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->v[0].end, 32 * PAGE);
}

static void test_cut(void **state)
{
	struct seam_code_spans *s = fresh();

	(void)state;
	add(s, 10, 10);
	add(s, 30, 10);
	add(s, 50, 10);
	cut(s, 20, 10); /* between them */
	cut(s, 0, 10);
	assert_int_equal(s->n, 3);
	cut(s, 14, 2);
	assert_int_equal(s->n, 4);
	assert_true(has(s, 13));
	assert_false(has(s, 14));
	assert_false(has(s, 15));
	assert_true(has(s, 16));
	cut(s, 18, 37); /* an end, one whole, a beginning */
	assert_int_equal(s->n, 3);
	assert_true(has(s, 17));
	assert_false(seam_code_spans_meet(s, 18 * PAGE, 55 * PAGE));
	assert_true(has(s, 55));
	cut(s, 0, 100);
	assert_int_equal(s->n, 0);
}

/* What is far apart stays so, whatever comes. */
static void test_full(void **state)
{
	struct seam_code_spans *s = fresh();

	(void)state;
	for (uint64_t i = 0; i < SEAM_CODE_SPANS; i++)
		add(s, i * FAR, 1);
	assert_int_equal(s->n, SEAM_CODE_SPANS);
	for (uint64_t i = 0; i < SEAM_CODE_SPANS; i++)
		assert_false(has(s, i * FAR + 1));
	/* Near one of them: with that one. */
	add(s, 5 * FAR + 2, 1);
	assert_int_equal(s->n, SEAM_CODE_SPANS);
	assert_true(has(s, 5 * FAR + 1));
	assert_false(has(s, 4 * FAR + 1));
	add(s, 7 * FAR - 2, 1);
	assert_true(has(s, 7 * FAR - 1));
	/* Far from all: two others become one. */
	cut(s, 9 * FAR, 1);
	add(s, 10 * FAR - 3, 1);
	assert_int_equal(s->n, SEAM_CODE_SPANS);
	add(s, 1000 * FAR, 1);
	assert_int_equal(s->n, SEAM_CODE_SPANS);
	assert_true(has(s, 1000 * FAR));
	assert_true(has(s, 10 * FAR - 1));
	assert_false(has(s, 999 * FAR));
	assert_false(has(s, 11 * FAR + 1));
	/* No room for two parts: the whole stays. */
	add(s, 2000 * FAR, 9);
	cut(s, 2000 * FAR + 2, 1);
	assert_true(has(s, 2000 * FAR + 2));
}

/* Beside a map of all pages. */
static void test_random(void **state)
{
	static uint8_t model[1 << 14];
	const uint64_t pages = sizeof(model);
	struct seam_code_spans *s = fresh();
	uint64_t inexact = 0;

	(void)state;
	srandom(1);
	for (int round = 0; round < 30000; round++) {
		uint64_t at = (uint64_t)random() % (pages - 32);
		uint64_t n = 1 + (uint64_t)random() % 4;
		bool adds = random() % 8 < 5, any = false;

		if (adds)
			add(s, at, n);
		else
			cut(s, at, n *= 4);
		memset(model + at, adds, n);
		for (uint64_t i = 1; i < s->n; i++)
			assert_true(s->v[i - 1].end < s->v[i].start);
		assert_true(s->n <= SEAM_CODE_SPANS);
		at = (uint64_t)random() % (pages - 32);
		for (uint64_t i = 0; i < 4; i++)
			any |= model[at + i];
		if (any)
			assert_true(seam_code_spans_meet(s, at * PAGE,
							 (at + 4) * PAGE));
		else
			inexact += seam_code_spans_meet(s, at * PAGE,
							(at + 4) * PAGE);
	}
	/* There were more than there is room for. */
	assert_true(inexact > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_pages), cmocka_unit_test(test_join),
		cmocka_unit_test(test_cut),	 cmocka_unit_test(test_full),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
