// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a laid-out table that was kept is given back for the very file
 * that it was made of, and for no other; one that is damaged is refused, and
 * one of a file that has only just changed is not kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "table/laid-out.h"
#include "table/lookup.h"

static struct {
	char folder[64], file[400];
	struct seam_table_cache *cache;
	struct seam_lookup lookup;
	uint8_t *bytes;
	uint8_t id[4];
	struct stat st;
} t = {.id = {1, 2, 3, 4}};

static void lay_out_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct seam_sframe sf;
	struct seam_elf *elf;
	uint8_t *table;
	size_t size;

	assert_true(fd >= 0);
	assert_int_equal(seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, NULL), 0);
	close(fd);
	assert_int_equal(
		seam_table_build_kernel(elf, &table, &size, NULL, NULL), 0);
	assert_int_equal(seam_sframe_open(&sf, table, size), 0);
	assert_int_equal(
		seam_lookup_build(&sf, 1 << 30, &t.lookup, &t.bytes, NULL), 0);
	free(table);
	seam_elf_close(elf);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(t.folder, "seam-laid-out-XXXXXX");
	if (!mkdtemp(t.folder) || seam_table_cache_open(t.folder, &t.cache))
		return -1;
	lay_out_self();
	t.st = (struct stat){.st_dev = 5, .st_ino = 6, .st_size = 7};
	t.st.st_ctim.tv_sec = time(NULL) - 3600;
	t.st.st_ctim.tv_nsec = 8;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(t.file);
	rmdir(t.folder);
	seam_table_cache_close(t.cache);
	free(t.bytes);
	return 0;
}

static void store(void)
{
	const struct seam_laid_out of = {t.id, sizeof(t.id), &t.st};
	DIR *d = opendir(t.folder);
	struct dirent *e;

	seam_laid_out_store(t.cache, &of, &t.lookup, t.bytes);
	assert_non_null(d);
	t.file[0] = '\0';
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(t.file, sizeof(t.file), "%s/%s", t.folder,
				 e->d_name);
	closedir(d);
}

static bool loads(uint64_t max)
{
	const struct seam_laid_out of = {t.id, sizeof(t.id), &t.st};
	struct seam_lookup lookup;
	uint8_t *bytes;

	if (seam_laid_out_load(t.cache, &of, max, &lookup, &bytes))
		return false;
	assert_memory_equal(&lookup, &t.lookup, sizeof(lookup));
	assert_memory_equal(bytes, t.bytes, lookup.size);
	free(bytes);
	return true;
}

static void test_same_file_alone(void **state)
{
	(void)state;
	assert_false(loads(UINT64_MAX));
	store();
	assert_true(loads(UINT64_MAX));
	assert_true(loads(t.lookup.size));
	assert_false(loads(t.lookup.size - 1));
	t.st.st_dev++;
	assert_false(loads(UINT64_MAX));
	t.st.st_dev--;
	t.st.st_ino++;
	assert_false(loads(UINT64_MAX));
	t.st.st_ino--;
	t.st.st_size++;
	assert_false(loads(UINT64_MAX));
	t.st.st_size--;
	t.st.st_ctim.tv_nsec++;
	assert_false(loads(UINT64_MAX));
	t.st.st_ctim.tv_nsec--;
	t.id[0]++;
	assert_false(loads(UINT64_MAX));
	t.id[0]--;
	assert_true(loads(UINT64_MAX));
}

static void flip(size_t at)
{
	int fd = open(t.file, O_RDWR | O_CLOEXEC);
	uint8_t c;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, (off_t)at), 1);
	c ^= 0x10;
	assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
	close(fd);
}

static void test_damaged(void **state)
{
	struct stat st;

	(void)state;
	store();
	assert_int_equal(stat(t.file, &st), 0);
	for (size_t i = 0; i < (size_t)st.st_size;
	     i += i < 200 ? 1 : (size_t)st.st_size / 50) {
		flip(i);
		assert_false(loads(UINT64_MAX));
		flip(i);
	}
	assert_true(loads(UINT64_MAX));
	assert_int_equal(chmod(t.file, 0622), 0);
	assert_false(loads(UINT64_MAX));
	assert_int_equal(chmod(t.file, 0600), 0);
	assert_int_equal(truncate(t.file, st.st_size - 1), 0);
	assert_false(loads(UINT64_MAX));
	assert_int_equal(truncate(t.file, 10), 0);
	assert_false(loads(UINT64_MAX));
	unlink(t.file);
}

static void test_just_changed(void **state)
{
	const time_t then = t.st.st_ctim.tv_sec;

	(void)state;
	t.st.st_ctim.tv_sec = time(NULL);
	store();
	assert_false(loads(UINT64_MAX));
	assert_int_equal(t.file[0], '\0');
	t.st.st_ctim.tv_sec = then;
	store();
	assert_true(loads(UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_file_alone),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_just_changed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
