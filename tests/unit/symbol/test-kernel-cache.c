/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: the kernel's symbols that are kept on disk are those of
 * /proc/kallsyms, and so is where its registers are written; a file that is
 * damaged, or of another boot, is replaced. */
#include "run.h"

#include <sys/stat.h>

#include "symbol/kernel-cache.h"
#include "symbol/kernel-code.h"
#include "table/folder.h"
#include "tests/unit/skip.h"

static char kept[PATH_MAX], kept_code[PATH_MAX];

/* Return: 0: the kernel hides its addresses. */
static size_t copy_kallsyms(void)
{
	struct stat st;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/kallsyms", run_dir);
	run("grep -v '^0*  *[A-Za-z] ' /proc/kallsyms >kallsyms");
	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

static bool is_kept(void)
{
	struct seam_kernel_cache c;
	bool is;

	seam_kernel_cache_open(&c);
	is = c.bytes != NULL;
	seam_kernel_cache_close(&c);
	return is;
}

static struct seam_symbolizer *of(const char *kallsyms)
{
	struct seam_symbol_opts opts = {.sz = sizeof(opts),
					.kallsyms = kallsyms};
	struct seam_symbolizer *s;

	assert_int_equal(seam_symbolizer_new(&opts, &s), 0);
	return s;
}

/* One look-up that is not kept reads, and keeps, all there is. */
static void keep(void)
{
	struct seam_symbolizer *s = of(NULL);
	struct seam_symbol sym;

	assert_false(seam_symbolize_kernel(s, 1ULL << 62, &sym));
	seam_symbolizer_free(s);
	assert_true(is_kept());
}

static void compare(struct seam_symbolizer *s,
		    const struct seam_kernel_cache *c, uint64_t addr,
		    size_t *found)
{
	struct seam_symbol a, b;

	if (!seam_kernel_cache_find(c, addr, &b))
		return;
	assert_true(seam_symbolize_kernel(s, addr, &a));
	assert_string_equal(a.name, b.name);
	assert_string_equal(a.raw_name, b.raw_name);
	assert_null(a.module);
	assert_true(a.start == b.start && a.size == b.size && a.off == b.off);
	++*found;
}

static void test_same(void **state)
{
	struct seam_kernel_cache c;
	struct seam_symbolizer *s;
	size_t found = 0, n = 0;
	char path[PATH_MAX], line[1024];
	unsigned long long addr;
	FILE *f;

	(void)state;
	if (!copy_kallsyms()) {
		print_message("skipped: the kernel hides its addresses\n");
		skip();
	}
	keep();
	snprintf(path, sizeof(path), "%s/kallsyms", run_dir);
	s = of(path);
	seam_kernel_cache_open(&c);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx", &addr) != 1)
			continue;
		compare(s, &c, addr - 1, &found);
		compare(s, &c, addr, &found);
		compare(s, &c, addr + 5, &found);
		n++;
	}
	fclose(f);
	assert_true(found > n);
	seam_kernel_cache_close(&c);
	seam_symbolizer_free(s);
}

static void flip(long at)
{
	FILE *f = fopen(kept, "r+");
	int c;

	assert_non_null(f);
	assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
	c = fgetc(f);
	fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
	fputc(c ^ 0x10, f);
	fclose(f);
}

static void test_damaged(void **state)
{
	static const long places[] = {0, 8, 20, 60, 1000, -1000, -1};

	(void)state;
	if (!copy_kallsyms())
		skip_since("the kernel hides its addresses");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		keep();
		flip(places[i]);
		assert_false(is_kept());
	}
	keep();
	run("truncate -s -1 cache/seam/kernel.s1");
	assert_false(is_kept());
	run("truncate -s 10 cache/seam/kernel.s1");
	assert_false(is_kept());
	keep();
}

#define CODE_HEAD 16 /* of kernel.c1: before what is hashed */
#define CODE_BOOT_ID 40
#define CODE_SOUGHT 8
#define CODE_SIZE                                                              \
	(CODE_HEAD + CODE_BOOT_ID + CODE_SOUGHT +                              \
	 sizeof(struct seam_kernel_entry) + sizeof(struct seam_kernel_doors))

/* Return: whether it says where this kernel's are. */
static bool is_code(const struct seam_kernel_entry *is)
{
	struct seam_kernel_entry entry;
	struct seam_kernel_doors doors;

	assert_int_equal(seam_kernel_code_here(&entry, &doors), 0);
	return !memcmp(&entry, is, sizeof(entry)) && doors.out[0].end;
}

/* Changes a byte of the file; whole: and its hash. */
static void change_code(size_t at, bool whole)
{
	uint8_t all[CODE_SIZE];
	uint64_t hash;
	FILE *f = fopen(kept_code, "r+");

	assert_non_null(f);
	assert_int_equal(fread(all, 1, sizeof(all), f), sizeof(all));
	assert_int_equal(fgetc(f), EOF);
	all[at] ^= 0x10;
	if (whole) {
		hash = seam_cache_hash(0, all + CODE_HEAD,
				       sizeof(all) - CODE_HEAD);
		memcpy(all + 8, &hash, sizeof(hash));
	}
	rewind(f);
	assert_int_equal(fwrite(all, 1, sizeof(all), f), sizeof(all));
	fclose(f);
}

static void test_code(void **state)
{
	const size_t sought = CODE_HEAD + CODE_BOOT_ID;
	const size_t entry = sought + CODE_SOUGHT;
	const size_t others[] = {0, CODE_HEAD, sought};
	struct seam_kernel_entry is;

	(void)state;
	if (seam_kernel_code_read(NULL, &is, NULL)) {
		print_message("skipped: the kernel hides its addresses\n");
		skip();
	}
	assert_true(is_code(&is));
	/* What is kept is taken. */
	change_code(entry, true);
	assert_false(is_code(&is));
	/* But not a damaged one, another kind of file, another boot's, or of
	 * other names; it is replaced. */
	change_code(entry + 1, false);
	assert_true(is_code(&is));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		change_code(entry, true);
		change_code(others[i], true);
		assert_true(is_code(&is));
	}
	change_code(entry, true);
	run("truncate -s -1 cache/seam/kernel.c1");
	assert_true(is_code(&is));
	change_code(entry, true);
	assert_false(is_code(&is));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_code),
	};
	char cache[PATH_MAX];

	enter_run_dir(NULL);
	snprintf(cache, sizeof(cache), "%s/cache", run_dir);
	snprintf(kept, sizeof(kept), "%s/cache/seam/kernel.s1", run_dir);
	snprintf(kept_code, sizeof(kept_code), "%s/cache/seam/kernel.c1",
		 run_dir);
	setenv("XDG_CACHE_HOME", cache, 1);
	return cmocka_run_group_tests(tests, NULL, leave_run_dir);
}
