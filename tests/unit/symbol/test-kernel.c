/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: kernel addresses get kallsyms' names, ends and modules; the
 * vDSO's functions are found in this process's own vDSO. */
#include "run.h"
#include "tests/unit/skip.h"

#include <sys/auxv.h>

static struct seam_symbolizer *with_kallsyms(const char *text)
{
	static char path[PATH_MAX];
	struct seam_symbol_opts opts = {.sz = sizeof(opts), .kallsyms = path};
	struct seam_symbolizer *s;
	FILE *f;

	snprintf(path, sizeof(path), "%s/kallsyms", run_dir);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	assert_int_equal(seam_symbolizer_new(&opts, &s), 0);
	return s;
}

static const char *name_at(struct seam_symbolizer *s, uint64_t addr)
{
	static char answer[256];
	struct seam_symbol sym;

	if (!seam_symbolize_kernel(s, addr, &sym))
		return "none";
	snprintf(answer, sizeof(answer), "%s+%llu%s%s", sym.name,
		 (unsigned long long)sym.off, sym.module ? " " : "",
		 sym.module ? sym.module : "");
	return answer;
}

static void test_kallsyms(void **state)
{
	struct seam_symbolizer *s =
		with_kallsyms("0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000100 t local_one\n"
			      "not a line\n"
			      "ffffffff81000200 W weak_one\n"
			      "ffffffff81000300 D some_data\n"
			      "ffffffff81000280 t $x\n"
			      "ffffffff81000290 r read_only\n"
			      "ffffffffc0002000 t second_one\t[second]\n"
			      "ffffffffc0000000 t first_one\t[first]\n"
			      "ffffffffc0000040 t first_two\t[first]\n"
			      "ffffffffc0000040 t \n");

	(void)state;
	assert_null(seam_symbolizer_kernel_problem(s));
	assert_string_equal(name_at(s, 0xffffffff80ffffff), "none");
	/* Of several the last, as perf. */
	assert_string_equal(name_at(s, 0xffffffff81000000), "_text+0");
	assert_string_equal(name_at(s, 0xffffffff810000ff), "_text+255");
	assert_string_equal(name_at(s, 0xffffffff81000100), "local_one+0");
	assert_string_equal(name_at(s, 0xffffffff810002ff), "weak_one+255");
	assert_string_equal(name_at(s, 0xffffffff81000300), "some_data+0");
	assert_string_equal(name_at(s, 0xffffffffc0000010),
			    "first_one+16 [first]");
	assert_string_equal(name_at(s, 0xffffffffc0000041),
			    "first_two+1 [first]");
	/* The last one of a module does not reach into the next module. */
	assert_string_equal(name_at(s, 0xffffffffc0001fff),
			    "first_two+8127 [first]");
	assert_string_equal(name_at(s, 0xffffffffc0002001),
			    "second_one+1 [second]");
	assert_string_equal(name_at(s, 0xffffffffd0000000), "none");
	assert_string_equal(name_at(s, 0xffffffff91000000), "none");
	seam_symbolizer_free(s);
}

static void test_hidden(void **state)
{
	struct seam_symbolizer *s = with_kallsyms("0000000000000000 T _stext\n"
						  "0000000000000000 T other\n");

	(void)state;
	assert_string_equal(name_at(s, 0), "none");
	assert_non_null(
		strstr(seam_symbolizer_kernel_problem(s), "kptr_restrict"));
	seam_symbolizer_free(s);
}

static void test_other(void **state)
{
	struct seam_symbolizer *s = with_kallsyms("root:x:0:0::/:/bin/sh\n");

	(void)state;
	assert_string_equal(name_at(s, 0xffffffff81000010), "none");
	assert_non_null(strstr(seam_symbolizer_kernel_problem(s),
			       "it has no kernel symbols"));
	seam_symbolizer_free(s);
}

static void test_missing(void **state)
{
	struct seam_symbol_opts opts = {.sz = sizeof(opts),
					.kallsyms = "/nonexistent"};
	struct seam_symbolizer *s;

	(void)state;
	assert_int_equal(seam_symbolizer_new(&opts, &s), 0);
	assert_string_equal(seam_symbolizer_kernel_problem(s),
			    "/nonexistent: No such file or directory");
	seam_symbolizer_free(s);
}

static void test_vdso(void **state)
{
	struct seam_symbolizer *s = new_symbolizer(false);
	int file = seam_symbolizer_file(s, "[vdso]", NULL, 0);
	const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct seam_symbol sym;
	bool found = false;

	(void)state;
	if (!base)
		skip_since("the kernel hides its addresses");
	assert_null(seam_symbolizer_file_problem(s, file));
	for (uint64_t off = 0; off < 8192 && !found; off++)
		found = seam_symbolize_user(s, file, off, &sym) &&
			!strcmp(sym.name, "__vdso_clock_gettime");
	assert_true(found);
	assert_true(sym.size > 0);
	seam_symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kallsyms), cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_other),	 cmocka_unit_test(test_missing),
		cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, enter_run_dir, leave_run_dir);
}
