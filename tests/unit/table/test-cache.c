// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the table cache gives back what was converted, and nothing
 * else: a file that is corrupt, of another program, of another user or no
 * file at all is replaced, by many processes at once if need be.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/elf.h"
#include "table/fingerprint.h"
#include "table/table.h"

#define WRITERS 8
#define READERS 4
#define ROUNDS 150
#define NOBODY 65534

/* In a cache file: the checksum, and what it covers. */
#define CRC_AT 12
#define CRC_FROM 16

static struct {
	struct seam_elf *elf, *other;
	uint8_t *table;
	size_t size;
	struct seam_table_stats stats;
	char dir[64];
	char file[PATH_MAX];
} t;

static struct seam_elf *open_elf(const char *path)
{
	struct seam_elf *elf = NULL;
	uint8_t id[SEAM_BUILD_ID_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (seam_elf_open_fd(fd, 0, &elf, NULL) || !seam_elf_build_id(elf, id))
		elf = seam_elf_close(elf);
	close(fd);
	return elf;
}

static void path_in(char *to, const char *name)
{
	snprintf(to, PATH_MAX, "%s/%s", t.dir, name);
}

/* Empties the folder; how many files it held, and the last one's name. */
static int list(bool remove, char *ret_name)
{
	DIR *d = opendir(t.dir);
	struct dirent *e;
	char path[PATH_MAX];
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		n++;
		if (ret_name)
			strcpy(ret_name, e->d_name);
		path_in(path, e->d_name);
		if (remove && unlink(path))
			assert_int_equal(rmdir(path), 0);
	}
	closedir(d);
	return n;
}

static struct seam_table_cache *open_cache(void)
{
	struct seam_table_cache *cache;

	assert_int_equal(seam_table_cache_open(t.dir, &cache), 0);
	return cache;
}

/* A load gives exactly the table, with its statistics. */
static void load_right(struct seam_table_cache *cache)
{
	struct seam_table_stats stats;
	uint8_t *bytes;
	size_t size;

	assert_int_equal(seam_table_load_kernel(cache, t.elf, &bytes, &size,
						&stats, NULL),
			 0);
	assert_int_equal(size, t.size);
	assert_memory_equal(bytes, t.table, size);
	assert_memory_equal(&stats, &t.stats, sizeof(stats));
	free(bytes);
}

static ino_t inode(void)
{
	struct stat st;

	return lstat(t.file, &st) ? 0 : st.st_ino;
}

/* One load that must find the file as it is wrong, and replace it; then one
 * that believes it. A link keeps the old inode's number from being reused. */
static void expect_rebuilt(void)
{
	struct seam_table_cache *cache = open_cache();
	char kept[PATH_MAX];
	ino_t old = inode();
	struct stat st;

	path_in(kept, "kept");
	assert_int_equal(link(t.file, kept), 0);
	load_right(cache);
	assert_int_not_equal(inode(), old);
	assert_int_equal(lstat(t.file, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	old = inode();
	load_right(cache);
	assert_int_equal(inode(), old);
	assert_int_equal(unlink(kept), 0);
	seam_table_cache_close(cache);
}

static int fill(void **state)
{
	struct seam_table_cache *cache;
	char name[NAME_MAX + 1];

	(void)state;
	assert_int_equal(chmod(t.dir, 0700), 0);
	list(true, NULL);
	cache = open_cache();
	load_right(cache);
	seam_table_cache_close(cache);
	assert_int_equal(list(false, name), 1);
	path_in(t.file, name);
	return 0;
}

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

/* Another program's file under this build-id: a build-id is only a claim. */
static void test_another_program(void **state)
{
	struct seam_table_cache *cache = open_cache();
	struct dirent *e;
	uint8_t *bytes;
	size_t size;
	char path[PATH_MAX];
	DIR *d;

	(void)state;
	assert_int_equal(unlink(t.file), 0);
	assert_int_equal(seam_table_load_kernel(cache, t.other, &bytes, &size,
						NULL, NULL),
			 0);
	free(bytes);
	seam_table_cache_close(cache);
	d = opendir(t.dir);
	while ((e = readdir(d)) && e->d_name[0] == '.')
		;
	path_in(path, e->d_name);
	closedir(d);
	assert_string_not_equal(path, t.file);
	assert_int_equal(rename(path, t.file), 0);
	expect_rebuilt();
}

/* The same build-id, the same everything but what was changed in copy, of
 * which another table is made. */
static void expect_another(uint8_t *copy, size_t size)
{
	struct seam_table_cache *cache = open_cache();
	uint8_t *want, *got;
	struct seam_elf *elf;
	size_t want_size, got_size;

	assert_int_equal(seam_elf_open_mem(copy, size, &elf, NULL), 0);
	assert_int_equal(
		seam_table_build_kernel(elf, &want, &want_size, NULL, NULL), 0);
	assert_true(want_size != t.size || memcmp(want, t.table, t.size));
	assert_int_equal(
		seam_table_load_kernel(cache, elf, &got, &got_size, NULL, NULL),
		0);
	assert_int_equal(got_size, want_size);
	assert_memory_equal(got, want, want_size);
	free(got);
	free(want);
	seam_elf_close(elf);
	load_right(cache);
	seam_table_cache_close(cache);
}

static uint8_t *copy_of(const struct seam_elf *elf, size_t *ret_size)
{
	const uint8_t *from = seam_elf_bytes(elf, ret_size);
	uint8_t *copy = malloc(*ret_size);

	assert_non_null(copy);
	return memcpy(copy, from, *ret_size);
}

/* One byte of CFI. */
static void test_another_build(void **state)
{
	struct seam_elf_section cfi;
	uint8_t *copy, *op;
	size_t size;

	(void)state;
	copy = copy_of(t.elf, &size);
	assert_int_equal(seam_elf_section(t.elf, ".eh_frame", &cfi), 0);
	/* def_cfa_offset 16 becomes 24 */
	op = memmem(copy + cfi.off, cfi.size, "\x0e\x10", 2);
	assert_non_null(op);
	op[1] = 24;
	expect_another(copy, size);
	free(copy);
}

/* What rules are derived from, in this test itself: whether or not another
 * table comes of it, the one in the cache is not believed. */
static void test_other_code(void **state)
{
	static const char *const sections[] = {
		".init",    ".text",   ".fini_array", ".rela.dyn",
		".dynamic", ".symtab", ".shstrtab",
	};
	struct seam_elf *self = open_elf("/proc/self/exe");
	struct seam_table_cache *cache = open_cache();
	struct seam_elf_section s;
	char path[PATH_MAX], name[NAME_MAX + 1];
	uint8_t *copy, *table;
	size_t size, table_size;

	(void)state;
	if (!self)
		skip();
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		struct seam_elf *other;
		struct stat old, now;

		print_message("%s\n", sections[i]);
		list(true, NULL);
		assert_int_equal(seam_table_load_kernel(cache, self, &table,
							&table_size, NULL,
							NULL),
				 0);
		free(table);
		assert_int_equal(list(false, name), 1);
		path_in(path, name);
		assert_int_equal(seam_elf_section(self, sections[i], &s), 0);
		copy = copy_of(self, &size);
		copy[s.off + s.size / 2] ^= 0x20;
		assert_int_equal(seam_elf_open_mem(copy, size, &other, NULL),
				 0);
		assert_int_equal(lstat(path, &old), 0);
		path_in(t.file, "kept");
		assert_int_equal(link(path, t.file), 0);
		assert_int_equal(seam_table_load_kernel(cache, other, &table,
							&table_size, NULL,
							NULL),
				 0);
		assert_int_equal(lstat(path, &now), 0);
		assert_int_not_equal(old.st_ino, now.st_ino);
		free(table);
		seam_elf_close(other);
		free(copy);
	}
	seam_elf_close(self);
	seam_table_cache_close(cache);
}

/* Another table, when it is code that is other. */
static void test_other_init(void **state)
{
	struct seam_elf *self = open_elf("/proc/self/exe"), *loader = t.elf;
	struct seam_table_stats stats = t.stats;
	uint8_t *table = t.table, *copy;
	struct seam_elf_section s;
	size_t table_size = t.size, size;

	(void)state;
	if (!self)
		skip();
	t.elf = self;
	assert_int_equal(seam_table_build_kernel(self, &t.table, &t.size,
						 &t.stats, NULL),
			 0);
	assert_int_equal(seam_elf_section(self, ".init", &s), 0);
	copy = copy_of(self, &size);
	memset(copy + s.off, 0x06, s.size); /* no instruction */
	expect_another(copy, size);
	free(copy);
	free(t.table);
	seam_elf_close(self);
	t.elf = loader;
	t.table = table;
	t.size = table_size;
	t.stats = stats;
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

/* In a child, where an assertion would return into the parent's tests. */
static int load_many(unsigned int seed)
{
	struct seam_table_cache *cache;
	uint8_t *bytes;
	size_t size;

	for (int i = 0; i < ROUNDS; i++) {
		bool right;

		if (seam_table_cache_open(t.dir, &cache) ||
		    seam_table_load_kernel(cache, t.elf, &bytes, &size, NULL,
					   NULL))
			return 1;
		right = size == t.size && !memcmp(bytes, t.table, size);
		free(bytes);
		seam_table_cache_close(cache);
		if (!right)
			return 2;
		/* Writers remove what they find, so that they all write. */
		if (seed < WRITERS && i % 2)
			unlink(t.file);
	}
	return 0;
}

/* Someone who damages the file in place while others read it. */
static void damage_forever(void)
{
	for (unsigned int i = 0;; i++) {
		int fd = open(t.file, O_WRONLY | O_NOFOLLOW);

		if (fd < 0)
			continue;
		if (i % 3 == 0)
			(void)!ftruncate(fd, i % 1000);
		else
			(void)!pwrite(fd, "damage", 6, 16 + i * 37 % 5000);
		close(fd);
	}
}

static void test_many_at_once(void **state)
{
	pid_t children[WRITERS + READERS], damager;

	(void)state;
	damager = fork();
	if (!damager)
		damage_forever();
	for (unsigned int i = 0; i < WRITERS + READERS; i++) {
		children[i] = fork();
		if (!children[i])
			_exit(load_many(i));
	}
	for (unsigned int i = 0; i < WRITERS + READERS; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	kill(damager, SIGKILL);
	waitpid(damager, NULL, 0);
	/* No private name is left behind. */
	assert_true(list(false, NULL) <= 1);
	fill(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_hit, fill),
		cmocka_unit_test_setup(test_flipped_bytes, fill),
		cmocka_unit_test_setup(test_other_lengths, fill),
		cmocka_unit_test_setup(test_checksum_is_not_enough, fill),
		cmocka_unit_test_setup(test_another_program, fill),
		cmocka_unit_test_setup(test_another_build, fill),
		cmocka_unit_test_setup(test_other_code, fill),
		cmocka_unit_test_setup(test_other_init, fill),
		cmocka_unit_test_setup(test_no_plain_file, fill),
		cmocka_unit_test_setup(test_others_may_write, fill),
		cmocka_unit_test_setup(test_gone, fill),
		cmocka_unit_test_setup(test_stale, fill),
		cmocka_unit_test_setup(test_default_dir, fill),
		cmocka_unit_test_setup(test_many_at_once, fill),
	};
	Dl_info libc = {0};
	int bad;

	dladdr(dlsym(RTLD_DEFAULT, "printf"), &libc);
	t.elf = open_elf("/lib64/ld-linux-x86-64.so.2");
	t.other = open_elf(libc.dli_fname ? libc.dli_fname : "");
	if (!t.elf || !t.other) {
		printf("skipped: the C library has no build-id\n");
		return 77;
	}
	if (seam_table_build_kernel(t.elf, &t.table, &t.size, &t.stats, NULL))
		return 1;
	strcpy(t.dir, P_tmpdir "/seam-test-cache-XXXXXX");
	if (!mkdtemp(t.dir))
		return 1;
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	list(true, NULL);
	rmdir(t.dir);
	free(t.table);
	seam_elf_close(t.elf);
	seam_elf_close(t.other);
	return bad;
}
