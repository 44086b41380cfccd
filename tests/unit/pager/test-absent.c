/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: keys without a table: a file that could not be had is asked
 * for again, later each time; one without CFI never; and the least recently
 * used go before the kernel side's map is full.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pager/absent.h"
#include "pager/tables.h"

#define SECOND 1000000000ULL
#define KEYS 100000

/* What the map of tables knows, by inode number. */
static struct {
	uint64_t used_ns[KEYS];
	bool known[KEYS];
	size_t n;
} map;

static struct seam_file_key key(uint64_t ino)
{
	return (struct seam_file_key){.ino = ino, .size = 7 * ino, .dev = 3};
}

static uint64_t used_ns(void *ctx, const struct seam_file_key *k)
{
	assert_ptr_equal(ctx, &map);
	return map.known[k->ino] ? map.used_ns[k->ino] : 0;
}

static void drop(void *ctx, const struct seam_file_key *k)
{
	assert_ptr_equal(ctx, &map);
	assert_true(map.known[k->ino]);
	map.known[k->ino] = false;
	map.n--;
}

static const struct seam_absent_ops ops = {used_ns, drop, &map};

static int add(struct seam_absent *a, uint64_t ino, enum seam_absence why,
	       uint64_t now_ns)
{
	const struct seam_absent_new new = {key(ino), why, now_ns};
	uint32_t failed = 0;
	int n = seam_absent_add(a, &new, &ops, &failed);

	assert_true(n >= 0 && failed > 0);
	map.n += !map.known[ino];
	map.known[ino] = true;
	map.used_ns[ino] = now_ns;
	return n;
}

static bool is_found(const struct seam_absent *a, uint64_t ino)
{
	const struct seam_file_key k = key(ino);

	return seam_absent_find(a, &k);
}

static int set_up(void **state)
{
	(void)state;
	memset(&map, 0, sizeof(map));
	return 0;
}

static void test_wait(void **state)
{
	uint64_t now = 1000 * SECOND, wait = SEAM_ABSENT_FIRST_NS, all = 0;
	struct seam_absent a = {0};

	(void)state;
	for (int i = 1; i < 20; i++) {
		add(&a, 5, SEAM_ABSENT_GONE, now);
		assert_int_equal(seam_absent_retry(&a, now, &ops), 0);
		assert_int_equal(seam_absent_retry(&a, now + wait - 1, &ops),
				 0);
		assert_true(map.known[5]);
		assert_int_equal(seam_absent_retry(&a, now + wait, &ops), 1);
		assert_false(map.known[5]);
		/* Once: it is for BPF to ask now. */
		assert_int_equal(seam_absent_retry(&a, now + 999 * wait, &ops),
				 0);
		all += wait;
		if (i == SEAM_ABSENT_COPIES)
			assert_true(all < 4 * SECOND);
		now += wait;
		wait = wait * 2 < SEAM_ABSENT_LAST_NS ? wait * 2
						      : SEAM_ABSENT_LAST_NS;
	}
	assert_int_equal(wait, 10 * SECOND);
	/* Had at last: it begins anew. */
	seam_absent_remove(&a, &(struct seam_file_key){0}); /* none */
	assert_int_equal(a.n, 1);
	seam_absent_remove(&a, &(const struct seam_file_key){
				       .ino = 5, .size = 35, .dev = 3});
	assert_int_equal(a.n, 0);
	add(&a, 5, SEAM_ABSENT_GONE, now);
	assert_int_equal(
		seam_absent_retry(&a, now + SEAM_ABSENT_FIRST_NS, &ops), 1);
	seam_absent_fini(&a);
}

static void test_kinds(void **state)
{
	struct seam_absent a = {0};

	(void)state;
	add(&a, 1, SEAM_ABSENT_NO_CFI, SECOND);
	add(&a, 2, SEAM_ABSENT_REFUSED, SECOND);
	add(&a, 3, SEAM_ABSENT_GONE, SECOND);
	assert_true(is_found(&a, 1) && is_found(&a, 2) && is_found(&a, 3));
	assert_false(is_found(&a, 4));
	assert_int_equal(seam_absent_retry(&a, 2 * SECOND, &ops), 1);
	assert_false(map.known[3] || is_found(&a, 3));
	assert_int_equal(seam_absent_retry(&a, 60 * SECOND, &ops), 0);
	assert_int_equal(seam_absent_retry(&a, 61 * SECOND, &ops), 1);
	assert_false(map.known[2] || is_found(&a, 2));
	assert_true(is_found(&a, 1));
	assert_int_equal(seam_absent_retry(&a, UINT64_MAX - 1, &ops), 0);
	assert_true(map.known[1]);
	seam_absent_fini(&a);
}

/* A recording that meets far more such files than the map holds. */
static void test_full(void **state)
{
	struct seam_absent a = {0};
	size_t most = 0, gone = 0;

	(void)state;
	assert_true(SEAM_ABSENT_MAX + SEAM_TABLES_MAX < 65536);
	for (uint64_t i = 0; i < KEYS; i++) {
		gone += (size_t)add(&a, i, SEAM_ABSENT_NO_CFI, SECOND + i);
		/* One that is met all the time, and was there first. */
		map.used_ns[0] = SECOND + i;
		if (map.n > most)
			most = map.n;
	}
	assert_int_equal(most, SEAM_ABSENT_MAX);
	assert_int_equal(map.n, a.n);
	assert_int_equal(gone, KEYS - a.n);
	assert_true(map.known[0]);
	/* The newest are there, and nothing older than what went. */
	for (uint64_t i = KEYS - a.n + 1; i < KEYS; i++)
		assert_true(map.known[i]);
	seam_absent_fini(&a);
}

/* Those that BPF does not know cost the map nothing, and go first. */
static void test_unknown_first(void **state)
{
	struct seam_absent a = {0};

	(void)state;
	for (uint64_t i = 0; i < SEAM_ABSENT_MAX; i++)
		add(&a, i, i < 5000 ? SEAM_ABSENT_NO_CFI : SEAM_ABSENT_GONE,
		    SECOND + i);
	assert_int_equal(seam_absent_retry(&a, 3 * SECOND, &ops),
			 SEAM_ABSENT_MAX - 5000);
	assert_int_equal(add(&a, KEYS - 1, SEAM_ABSENT_NO_CFI, 4 * SECOND),
			 SEAM_ABSENT_PRUNE);
	for (uint64_t i = 0; i < 5000; i++)
		assert_true(map.known[i]);
	assert_int_equal(a.n, SEAM_ABSENT_MAX - SEAM_ABSENT_PRUNE + 1);
	seam_absent_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_wait, set_up),
		cmocka_unit_test_setup(test_kinds, set_up),
		cmocka_unit_test_setup(test_full, set_up),
		cmocka_unit_test_setup(test_unknown_first, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
