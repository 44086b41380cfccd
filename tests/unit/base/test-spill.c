// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: an array that spills keeps what it has and is sorted as qsort
 * does, in memory, in a file, and where that cannot be had or has no room. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/spill.h"

#define N 300000

struct item {
	uint32_t key, at, pad; /* of no size that pages are of */
};

/* No sort takes more, and one that never ends is seen to. */
#define COMPARED_MAX (64ULL * N)
static uint64_t compared;

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	assert_true(++compared <= COMPARED_MAX);
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Runs of all lengths, keys that repeat. */
static struct item item(uint32_t i)
{
	return (struct item){i / 1000 % 2 ? i % 997 : i * 2654435761u >> 20, i,
			     7};
}

static void fill(struct seam_spill *s)
{
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(seam_spill_grow(s, i + 1, sizeof(struct item)),
				 0);
		((struct item *)s->p)[i] = item(i);
	}
}

static void check_sorted(struct seam_spill *s)
{
	struct item *expected = malloc(N * sizeof(*expected));

	assert_non_null(expected);
	compared = 0;
	for (uint32_t i = 0; i < N; i++)
		expected[i] = item(i);
	assert_memory_equal(s->p, expected, N * sizeof(*expected));
	qsort(expected, N, sizeof(*expected), by_key);
	assert_int_equal(seam_spill_sort(s, N, sizeof(*expected), by_key), 0);
	assert_memory_equal(s->p, expected, N * sizeof(*expected));
	free(expected);
}

static void run(bool in_file)
{
	struct seam_spill s = {0};

	fill(&s);
	assert_int_equal(s.mapped != 0, in_file);
	check_sorted(&s);
	seam_spill_fini(&s);
	assert_null(s.p);
}

/* Bytes of it in this process's memory. */
static size_t resident(const struct seam_spill *s)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long long begin, end;
	size_t kib, found = SIZE_MAX;
	bool here = false;
	char line[4096];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx ", &begin, &end) == 2)
			here = begin == (uintptr_t)s->p;
		else if (here && sscanf(line, "Rss: %zu kB", &kib) == 1)
			found = kib << 10;
	}
	fclose(f);
	return found;
}

static void in_memory(void **state)
{
	(void)state;
	seam_spill_from = SIZE_MAX;
	run(false);
}

static void in_a_file(void **state)
{
	(void)state;
	seam_spill_from = 1; /* from the first on */
	run(true);
	seam_spill_from = 100000; /* what is in memory moves */
	run(true);
}

/* What is let go is there again when it is wanted. */
static void let_go(void **state)
{
	struct seam_spill s = {.from = 50000};

	(void)state;
	seam_spill_from = SIZE_MAX;
	seam_spill_let_go(&s);
	fill(&s);
	assert_int_not_equal(s.mapped, 0);
	assert_true(resident(&s) > s.mapped / 2);
	seam_spill_let_go(&s);
	assert_int_equal(resident(&s), 0);
	check_sorted(&s);
	seam_spill_fini(&s);
}

static void nowhere(void **state)
{
	(void)state;
	seam_spill_from = 100000;
	setenv("TMPDIR", "/nowhere", 1);
	run(false);
	unsetenv("TMPDIR");
}

/* No more room for files, in the middle of it. */
static void no_room(void **state)
{
	struct rlimit was, limit;

	(void)state;
	seam_spill_from = 100000;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = was;
	limit.rlim_cur = 1 << 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	run(false);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
}

/* Each of the runs has its keys between those of the others. most: comparisons
 * for each item. */
static void sort_runs(uint32_t runs, uint64_t most)
{
	struct seam_spill s = {0};
	struct item *v;

	seam_spill_from = SIZE_MAX;
	assert_int_equal(seam_spill_grow(&s, N, sizeof(*v)), 0);
	v = s.p;
	for (uint32_t i = 0; i < N; i++)
		v[i] = (struct item){i % (N / runs) * runs + i / (N / runs), i,
				     7};
	compared = 0;
	assert_int_equal(seam_spill_sort(&s, N, sizeof(*v), by_key), 0);
	assert_true(compared <= most * N);
	v = s.p;
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(v[i].key, i);
	compared = 0;
	assert_int_equal(seam_spill_sort(&s, N, sizeof(*v), by_key), 0);
	assert_true(compared <= N);
	seam_spill_fini(&s);
}

/* Merged up to 1024, and by qsort. */
static void few_runs(void **state)
{
	(void)state;
	sort_runs(4, 7);
	sort_runs(100, 17);
	sort_runs(1000, 23);
	sort_runs(1200, 64);
}

static void none(void **state)
{
	struct seam_spill s = {0};

	(void)state;
	assert_int_equal(seam_spill_sort(&s, 0, 8, by_key), 0);
	assert_int_equal(seam_spill_grow(&s, SIZE_MAX / 2, 8), -ENOMEM);
	assert_null(s.p);
	seam_spill_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_memory), cmocka_unit_test(in_a_file),
		cmocka_unit_test(nowhere),   cmocka_unit_test(no_room),
		cmocka_unit_test(few_runs),  cmocka_unit_test(none),
		cmocka_unit_test(let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
