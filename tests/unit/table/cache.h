/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A table cache in a folder of its own with one table in it, and ways to tell
 * a load that believes the file from one that replaces it.
 */
#ifndef SEAM_TESTS_TABLE_CACHE_H
#define SEAM_TESTS_TABLE_CACHE_H

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/elf.h"
#include "table/table.h"

static struct {
	struct seam_elf *elf, *other; /* ld.so, whose table it is; libc */
	uint8_t *table;
	size_t size;
	struct seam_table_stats stats;
	char dir[64];
	char file[PATH_MAX];
} t;

static inline struct seam_elf *open_elf(const char *path)
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

static inline void path_in(char *to, const char *name)
{
	snprintf(to, PATH_MAX, "%s/%s", t.dir, name);
}

/* Empties the folder; how many files it held, and the last one's name. */
static inline int list(bool remove, char *ret_name)
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

static inline struct seam_table_cache *open_cache(void)
{
	struct seam_table_cache *cache;

	assert_int_equal(seam_table_cache_open(t.dir, &cache), 0);
	return cache;
}

/* A load gives exactly the table, with its statistics. */
static inline void load_right(struct seam_table_cache *cache)
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

/* For a child, where an assertion would return into the parent's tests.
 * Return: 0, 1: no load; 2: another table. */
static inline int load_in_child(void)
{
	struct seam_table_cache *cache;
	uint8_t *bytes;
	size_t size;
	bool right;

	if (seam_table_cache_open(t.dir, &cache) ||
	    seam_table_load_kernel(cache, t.elf, &bytes, &size, NULL, NULL))
		return 1;
	right = size == t.size && !memcmp(bytes, t.table, size);
	free(bytes);
	seam_table_cache_close(cache);
	return right ? 0 : 2;
}

/* Runs fn in n children at once; each has to return 0. */
static inline void in_children(int n, int (*fn)(int who))
{
	pid_t children[64];
	int status;

	assert_true(n <= 64);
	for (int i = 0; i < n; i++) {
		children[i] = fork();
		if (!children[i])
			_exit(fn(i));
	}
	for (int i = 0; i < n; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

static inline ino_t inode(void)
{
	struct stat st;

	return lstat(t.file, &st) ? 0 : st.st_ino;
}

/* One load that must find the file as it is wrong, and replace it; then one
 * that believes it. A link keeps the old inode's number from being reused. */
static inline void expect_rebuilt(void)
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

static inline int fill(void **state)
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

/* Return: what main returns. */
static inline int run_cache_tests(const struct CMUnitTest *tests, size_t n)
{
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
	bad = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
	list(true, NULL);
	rmdir(t.dir);
	free(t.table);
	seam_elf_close(t.elf);
	seam_elf_close(t.other);
	return bad;
}

#endif
