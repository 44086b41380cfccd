// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what was decompressed is kept whole: the first of it in memory,
 * the rest in a file, or in memory where no file can be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "perfdata/reader-priv.h"

#define SOME (9u << 20)
#define N 12 /* more than one segment */
#define FIRST 3 /* of them stay in memory */

static void fill(uint8_t *p, unsigned seed)
{
	for (size_t i = 0; i < SOME; i += 64)
		memset(p + i, (int)(seed + i / 64 * 7), 64);
}

static void check(const struct pd_chunk *c, unsigned seed, uint8_t *scratch)
{
	fill(scratch, seed);
	assert_int_equal(c->len, SOME);
	assert_memory_equal(c->p, scratch, SOME);
}

static void keep_all(bool spooled)
{
	struct seam_pd_reader r = {0};
	struct pd_chunk c[N] = {0};
	uint8_t *scratch = malloc(SOME);

	assert_non_null(scratch);
	for (unsigned i = 0; i < N; i++) {
		fill(scratch, i);
		assert_int_equal(seam_pd_keep(&r, scratch, SOME, &c[i]), 0);
		r.inflated += SOME;
		assert_int_equal(c[i].allocated, !spooled || i < FIRST);
	}
	for (unsigned i = 0; i < N; i++)
		check(&c[i], i, scratch);
	seam_pd_spool_let_go(&r.spool);
	for (unsigned i = N; i-- > 0;)
		check(&c[i], i, scratch);
	for (unsigned i = 0; i < N; i++)
		if (c[i].allocated)
			free(c[i].p);
	seam_pd_spool_fini(&r.spool);
	free(scratch);
}

static void in_a_file(void **state)
{
	(void)state;
	keep_all(true);
}

static void without_a_file(void **state)
{
	const char *was = getenv("TMPDIR");
	char *old = was ? strdup(was) : NULL;

	(void)state;
	setenv("TMPDIR", "/proc/nowhere", 1);
	keep_all(false);
	if (old)
		setenv("TMPDIR", old, 1);
	else
		unsetenv("TMPDIR");
	free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_file),
		cmocka_unit_test(without_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
