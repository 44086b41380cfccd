// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the table cache does not believe a file made of another
 * program, or of another build of it, whatever the build-id says. */
#include "cache.h"
#include "tests/unit/skip.h"

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
		skip_since("this program cannot be read as a file");
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
		skip_since("this program cannot be read as a file");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_another_program, fill),
		cmocka_unit_test_setup(test_another_build, fill),
		cmocka_unit_test_setup(test_other_code, fill),
		cmocka_unit_test_setup(test_other_init, fill),
	};

	return run_cache_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
