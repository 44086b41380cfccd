// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the table cache gives back what was converted, and nothing
 * else: a file that is corrupt, of another user or no file at all is
 * replaced, and a folder that is not ours alone is refused.
 */
#include <errno.h>

#include "cache.h"
#include "table/fingerprint.h"

#define NOBODY 65534

/* In a cache file: the checksum, and what it covers. */
#define CRC_AT 12
#define CRC_FROM 16

static void test_hit(void **state)
{
	struct seam_table_cache *cache = open_cache();
	ino_t old = inode();

	(void)state;
	load_right(cache);
	assert_int_equal(inode(), old);
	seam_table_cache_close(cache);
	load_right(NULL);
}

static uint8_t *read_file(size_t *ret_size)
{
	int fd = open(t.file, O_RDONLY);
	struct stat st;
	uint8_t *p;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*ret_size = (size_t)st.st_size;
	p = malloc(*ret_size + 16);
	assert_int_equal(read(fd, p, *ret_size), *ret_size);
	close(fd);
	return p;
}

static void write_file(const uint8_t *p, size_t size)
{
	int fd = open(t.file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, size), size);
	close(fd);
}

static void test_flipped_bytes(void **state)
{
	size_t size;
	uint8_t *p = read_file(&size);

	(void)state;
	for (size_t i = 0; i < size; i += i < 300 ? 1 : size / 40) {
		p[i] ^= 0x10;
		write_file(p, size);
		expect_rebuilt();
		p[i] ^= 0x10;
	}
	free(p);
}

static void test_other_lengths(void **state)
{
	size_t size;
	uint8_t *p = read_file(&size);
	size_t lengths[] = {0, 1, 15, 100, size / 2, size - 1, size + 1};

	(void)state;
	p[size] = 0;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		write_file(p, lengths[i]);
		expect_rebuilt();
	}
	free(p);
}

/* With a right checksum it still has to be SFrame. */
static void test_checksum_is_not_enough(void **state)
{
	size_t size;
	uint8_t *p = read_file(&size);
	uint8_t *table = p + size - t.size;
	uint32_t crc;

	(void)state;
	assert_memory_equal(table, t.table, t.size);
	table[2] = 2; /* the version */
	crc = seam_crc32(0, p + CRC_FROM, size - CRC_FROM);
	memcpy(p + CRC_AT, &crc, sizeof(crc));
	write_file(p, size);
	expect_rebuilt();
	/* The test knows the layout: unchanged, the same steps are a hit. */
	free(p);
	p = read_file(&size);
	crc = seam_crc32(0, p + CRC_FROM, size - CRC_FROM);
	assert_memory_equal(p + CRC_AT, &crc, sizeof(crc));
	free(p);
}

static void test_no_plain_file(void **state)
{
	char target[PATH_MAX];
	struct seam_table_cache *cache = open_cache();
	struct stat st;

	(void)state;
	/* A link to a perfectly good table is not followed. */
	path_in(target, "target");
	assert_int_equal(rename(t.file, target), 0);
	assert_int_equal(symlink(target, t.file), 0);
	load_right(cache);
	assert_int_equal(lstat(t.file, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(unlink(target), 0);
	assert_int_equal(list(false, NULL), 1);
	assert_int_equal(unlink(t.file), 0);
	assert_int_equal(mkfifo(t.file, 0600), 0);
	expect_rebuilt();
	/* A folder cannot be replaced: converted every time, then. */
	assert_int_equal(unlink(t.file), 0);
	assert_int_equal(mkdir(t.file, 0700), 0);
	load_right(cache);
	assert_int_equal(rmdir(t.file), 0);
	seam_table_cache_close(cache);
}

static void test_others_may_write(void **state)
{
	struct seam_table_cache *cache = NULL;

	(void)state;
	assert_int_equal(chmod(t.file, 0666), 0);
	expect_rebuilt();
	assert_int_equal(chmod(t.dir, 0777), 0);
	assert_int_equal(seam_table_cache_open(t.dir, &cache), -EPERM);
	assert_int_equal(chmod(t.dir, 0700), 0);
	if (geteuid()) {
		print_message("not root: other owners are not tried\n");
		return;
	}
	assert_int_equal(chown(t.file, NOBODY, NOBODY), 0);
	expect_rebuilt();
	assert_int_equal(chown(t.dir, NOBODY, NOBODY), 0);
	assert_int_equal(seam_table_cache_open(t.dir, &cache), -EPERM);
	assert_int_equal(chown(t.dir, 0, 0), 0);
}

/* A cache that cannot be written is no error. */
static void test_gone(void **state)
{
	struct seam_table_cache *cache = open_cache();

	(void)state;
	assert_int_equal(unlink(t.file), 0);
	assert_int_equal(rmdir(t.dir), 0);
	load_right(cache);
	seam_table_cache_close(cache);
	assert_int_equal(mkdir(t.dir, 0700), 0);
}

/* What a killed writer left goes away, what one is writing now stays. */
static void test_stale(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char stale[PATH_MAX], fresh[PATH_MAX];

	(void)state;
	path_in(stale, ".tmp-1-0");
	path_in(fresh, ".tmp-1-1");
	assert_int_equal(mknod(stale, S_IFREG | 0600, 0), 0);
	assert_int_equal(mknod(fresh, S_IFREG | 0600, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, stale, old, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, t.file, old, 0), 0);
	seam_table_cache_close(open_cache());
	assert_int_equal(access(stale, F_OK), -1);
	assert_int_equal(access(fresh, F_OK), 0);
	assert_int_equal(access(t.file, F_OK), 0);
}

static void check_default(const char *dir)
{
	struct seam_table_cache *cache;
	char path[PATH_MAX];
	struct stat st;

	path_in(path, dir);
	assert_int_equal(seam_table_cache_open(NULL, &cache), 0);
	load_right(cache);
	seam_table_cache_close(cache);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void test_default_dir(void **state)
{
	char path[PATH_MAX], command[PATH_MAX + 16];

	(void)state;
	path_in(path, "a/b");
	setenv("XDG_CACHE_HOME", path, 1);
	check_default("a/b/seam");
	if (geteuid()) {
		setenv("XDG_CACHE_HOME", "relative", 1); /* does not count */
		setenv("HOME", t.dir, 1);
		check_default(".cache/seam");
	}
	unsetenv("XDG_CACHE_HOME");
	snprintf(command, sizeof(command), "rm -r %s/a %s/.cache 2>&-", t.dir,
		 t.dir);
	(void)!system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_hit, fill),
		cmocka_unit_test_setup(test_flipped_bytes, fill),
		cmocka_unit_test_setup(test_other_lengths, fill),
		cmocka_unit_test_setup(test_checksum_is_not_enough, fill),
		cmocka_unit_test_setup(test_no_plain_file, fill),
		cmocka_unit_test_setup(test_others_may_write, fill),
		cmocka_unit_test_setup(test_gone, fill),
		cmocka_unit_test_setup(test_stale, fill),
		cmocka_unit_test_setup(test_default_dir, fill),
	};

	return run_cache_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
