// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the table cache stays within its size: who stores a table
 * removes those used longest ago, never what is not a table, also with many
 * at work. The large tables are holes, so that they take no room. */
#include <errno.h>
#include <time.h>

#include "cache.h"

#define MIB (1LL << 20)
#define DAY 86400
#define PROCESSES 6
#define ROUNDS 40

/* One of this size, last used so many days ago. */
static void make(const char *name, off_t size, int days)
{
	struct timespec at[2];
	char path[PATH_MAX];
	int fd;

	path_in(path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	at[0].tv_sec = at[1].tv_sec = time(NULL) - days * DAY;
	at[0].tv_nsec = at[1].tv_nsec = 0;
	assert_int_equal(futimens(fd, at), 0);
	close(fd);
}

static bool is_there(const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	path_in(path, name);
	return !lstat(path, &st);
}

/* Loads a table that is not there. */
static void store(void)
{
	struct seam_table_cache *cache = open_cache();

	assert_true(!unlink(t.file) || errno == ENOENT);
	load_right(cache);
	seam_table_cache_close(cache);
	assert_int_not_equal(inode(), 0);
}

static void test_oldest_goes(void **state)
{
	(void)state;
	/* The names say nothing; other versions' tables count. */
	make("aa.k3", 200 * MIB, 2);
	make("bb.k1", 200 * MIB, 3);
	make("cc.k99", 200 * MIB, 1);
	store();
	assert_false(is_there("bb.k1"));
	assert_true(is_there("aa.k3"));
	assert_true(is_there("cc.k99"));
	/* 400 MiB and the table: nothing has to go. */
	store();
	assert_true(is_there("aa.k3"));
	assert_true(is_there("cc.k99"));
	make("dd.k3", 112 * MIB, 4);
	store();
	assert_false(is_there("dd.k3"));
	assert_true(is_there("aa.k3"));
}

static void test_use_counts(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct seam_table_cache *cache = open_cache();
	uint8_t *bytes;
	size_t size;

	(void)state;
	/* The table is the oldest file until it is used. */
	make("aa.k3", 300 * MIB, 2);
	make("bb.k3", 300 * MIB, 1);
	assert_int_equal(utimensat(AT_FDCWD, t.file, old, 0), 0);
	load_right(cache);
	/* Another one is stored. */
	assert_int_equal(seam_table_load_kernel(cache, t.other, &bytes, &size,
						NULL, NULL),
			 0);
	free(bytes);
	seam_table_cache_close(cache);
	assert_false(is_there("aa.k3"));
	assert_true(is_there("bb.k3"));
	assert_int_not_equal(inode(), 0);
}

static void test_small_ones(void **state)
{
	char name[32];

	(void)state;
	/* A byte takes a block. */
	make("aa.k3", 512 * MIB - 100 * 4096, 1);
	for (int i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "b%03x.k3", i);
		make(name, 1, 200 - i);
	}
	store();
	assert_true(is_there("aa.k3"));
	assert_false(is_there("b000.k3"));
	assert_false(is_there("b014.k3"));
	assert_true(is_there("b077.k3"));
}

static void test_others_stay(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	static const char *const names[] = {
		"notes", "aa", "aa.k", "aa.k3x", "xy.k3", ".k3", "aa.k3.bak",
	};
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		make(names[i], 600 * MIB, 9);
	path_in(path, "ab.k3");
	assert_int_equal(mkdir(path, 0700), 0);
	path_in(path, "ac.k3");
	assert_int_equal(symlink("notes", path), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, old, AT_SYMLINK_NOFOLLOW),
			 0);
	make("ad.k3", MIB, 9);
	store();
	/* They do not count, so that there is room. */
	assert_true(is_there("ad.k3"));
	make("ae.k3", 600 * MIB, 1);
	store();
	assert_false(is_there("ae.k3"));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(is_there(names[i]));
	assert_true(is_there("ab.k3"));
	assert_true(is_there("ac.k3"));
}

/* A long recording makes room while it runs, before it closes the cache. */
static void test_meanwhile(void **state)
{
	struct seam_table_cache *cache = open_cache();
	int n = 0;

	(void)state;
	make("aa.k3", 600 * MIB, 1);
	while (is_there("aa.k3") && n++ < 100000) {
		assert_int_equal(unlink(t.file), 0);
		load_right(cache);
	}
	assert_false(is_there("aa.k3"));
	/* 1/16 of the size was stored by then, and not much more. */
	assert_true((long long)(n * t.size) >= 31 * MIB);
	assert_true((long long)(n * t.size) <= 33 * MIB);
	seam_table_cache_close(cache);
}

static int store_many(int who)
{
	char name[32], path[PATH_MAX];

	for (int i = 0; i < ROUNDS; i++) {
		int fd, err;

		snprintf(name, sizeof(name), "%02x%02x.k3", (unsigned)who,
			 (unsigned)i);
		path_in(path, name);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, 100 * MIB) || close(fd))
			return 3;
		if (i % 3)
			unlink(t.file);
		err = load_in_child();
		if (err)
			return err;
	}
	return 0;
}

static void test_many_at_once(void **state)
{
	int n;

	(void)state;
	in_children(PROCESSES, store_many);
	store();
	/* Five of 100 MiB and the table; not much less, either. */
	n = list(false, NULL);
	assert_true(n <= 6);
	assert_true(n >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_oldest_goes, fill),
		cmocka_unit_test_setup(test_use_counts, fill),
		cmocka_unit_test_setup(test_small_ones, fill),
		cmocka_unit_test_setup(test_others_stay, fill),
		cmocka_unit_test_setup(test_meanwhile, fill),
		cmocka_unit_test_setup(test_many_at_once, fill),
	};

	return run_cache_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
