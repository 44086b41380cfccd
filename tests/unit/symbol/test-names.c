/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: every function of real files has the name that nm and
 * c++filt print, and every PLT stub the one that objdump prints. */
#include "run.h"
#include "tests/unit/skip.h"

#include <unistd.h>

struct known { /* a line of nm -S */
	uint64_t start, size;
	char type;
	char *name;
};

struct knowns {
	struct known *v;
	size_t n;
};

static void free_knowns(struct knowns *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->v[i].name);
	free(k->v);
}

static struct knowns read_nm(const char *flags, const char *path)
{
	FILE *f = run_reading("nm -n -S --defined-only %s '%s' 2>/dev/null",
			      flags, path);
	struct knowns k = {0};
	struct known one;
	char *line = NULL, *at;
	size_t room = 0;
	unsigned long start, size;
	int used;

	while (getline(&line, &room, f) > 0) {
		if (sscanf(line, "%lx %lx %c %n", &start, &size, &one.type,
			   &used) != 3 ||
		    !strchr("tTwWi", one.type))
			continue;
		at = line + used;
		at[strcspn(at, "\n")] = '\0';
		/* Versions are not part of a dynamic symbol's name. */
		if (strstr(flags, "-D"))
			at[strcspn(at, "@")] = '\0';
		one.start = start;
		one.size = size;
		one.name = strdup(at);
		k.v = realloc(k.v, (k.n + 1) * sizeof(*k.v));
		k.v[k.n++] = one;
	}
	free(line);
	pclose(f);
	return k;
}

/* Any of the names at one address may be the one shown. */
static bool is_known(const struct knowns *k, size_t i, const char *name)
{
	size_t first = i;

	while (first && k->v[first - 1].start == k->v[i].start)
		first--;
	for (; first < k->n && k->v[first].start == k->v[i].start; first++)
		if (!strcmp(k->v[first].name, name))
			return true;
	return false;
}

static size_t check_file(const char *path, const char *flags, bool demangled)
{
	struct seam_symbolizer *s = new_symbolizer(!demangled);
	char with_c[64];
	struct knowns k;
	struct seam_symbol sym;
	struct seam_elf *elf;
	int file = seam_symbolizer_file(s, path, NULL, 0);

	snprintf(with_c, sizeof(with_c), "%s %s", flags, demangled ? "-C" : "");
	k = read_nm(with_c, path);
	assert_int_equal(seam_symbol_open_elf(path, &elf), 0);
	for (size_t i = 0; i < k.n; i++) {
		const struct known *known = &k.v[i];

		if (!seam_symbolize_user(s, file, to_off(elf, known->start),
					 &sym))
			fail_msg("%s: %s is not found", path, known->name);
		if (sym.start != known->start || sym.off ||
		    !is_known(&k, i, sym.name))
			fail_msg("%s: %s is called %s", path, known->name,
				 sym.name);
		/* Its last byte, unless a symbol nested in it has that. */
		if (i + 1 < k.n &&
		    k.v[i + 1].start >= known->start + known->size) {
			assert_true(seam_symbolize_user(
				s, file,
				to_off(elf, known->start + known->size - 1),
				&sym));
			assert_true(is_known(&k, i, sym.name));
		}
	}
	print_message("%s: %zu functions\n", path, k.n);
	seam_elf_close(elf);
	seam_symbolizer_free(s);
	size_t n = k.n;
	free_knowns(&k);
	return n;
}

static void test_dynamic_symbols(void **state)
{
	(void)state;
	assert_true(check_file("/lib/x86_64-linux-gnu/libc.so.6", "-D", false) >
		    2000);
	check_file("/usr/bin/python3", "-D", false);
}

static void test_cplusplus(void **state)
{
	(void)state;
	assert_true(check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "-D",
			       true) > 4000);
}

static void test_full_symtab(void **state)
{
	char self[PATH_MAX] = "";

	(void)state;
	/* This program itself has a .symtab, with static functions. */
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_true(check_file(self, "", false) > 50);
}

/* "0000000000001030 <write@plt>:" */
static size_t check_stubs(const char *path)
{
	FILE *f = run_reading("objdump -d -j .plt -j .plt.got -j .plt.sec '%s' "
			      "2>/dev/null",
			      path);
	struct seam_symbolizer *s = new_symbolizer(true);
	int file = seam_symbolizer_file(s, path, NULL, 0);
	struct seam_symbol sym;
	struct seam_elf *elf;
	char line[4096], name[2048], *end;
	unsigned long svma;
	size_t n = 0;

	assert_int_equal(seam_symbol_open_elf(path, &elf), 0);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx <%2047[^>]>", &svma, name) != 2)
			continue;
		end = strstr(name, "@plt");
		if (!end || end[4] || strchr(name, '+') ||
		    !strncmp(name, "*ABS*", 5))
			continue;
		if (!seam_symbolize_user(s, file, to_off(elf, svma), &sym))
			fail_msg("%s: %s is not found", path, name);
		assert_string_equal(sym.name, name);
		assert_string_equal(sym.raw_name, name);
		assert_int_equal(sym.off, 0);
		assert_true(seam_symbolize_user(s, file, to_off(elf, svma + 5),
						&sym));
		assert_string_equal(sym.name, name);
		n++;
	}
	print_message("%s: %zu stubs\n", path, n);
	pclose(f);
	seam_elf_close(elf);
	seam_symbolizer_free(s);
	return n;
}

static void test_plt(void **state)
{
	(void)state;
	assert_true(check_stubs("/usr/bin/python3") > 100);
	assert_true(check_stubs("/usr/bin/git") > 50);
	check_stubs("/usr/lib/x86_64-linux-gnu/libcrypto.so.3");
}

/* It still has the names of stubs, and none for what lies behind them. */
static void check_stripped(const char *path)
{
	struct knowns k = read_nm("", path);
	struct seam_symbolizer *s;
	struct seam_symbol sym;
	struct seam_elf *elf;
	size_t i = 0;
	int file;

	while (i < k.n && strcmp(k.v[i].name, "main"))
		i++;
	assert_true(i < k.n);
	assert_int_equal(run("strip p"), 0);
	assert_true(check_stubs(path) >= 3);
	s = new_symbolizer(true);
	file = seam_symbolizer_file(s, path, NULL, 0);
	assert_int_equal(seam_symbol_open_elf(path, &elf), 0);
	assert_false(
		seam_symbolize_user(s, file, to_off(elf, k.v[i].start), &sym));
	assert_non_null(seam_symbolizer_file_problem(s, file));
	seam_elf_close(elf);
	seam_symbolizer_free(s);
	free_knowns(&k);
}

/* Debian's own programs have neither endbr64 nor .plt.sec. */
static void test_plt_kinds(void **state)
{
	static const char *const flags[] = {
		"-fcf-protection -Wl,-z,ibtplt", "-Wl,-z,now -fPIE -pie",
		"-no-pie -Wl,-z,lazy", "-fuse-ld=gold"};
	char path[PATH_MAX];

	(void)state;
	if (!have_tools("cc"))
		skip_since("there is no cc");
	snprintf(path, sizeof(path), "%s/p", run_dir);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		assert_int_equal(run("printf '#include <stdio.h>\n#include "
				     "<stdlib.h>\n"
				     "int main(void) { puts(\"\"); return "
				     "rand() + atoi(\"1\"); }' | cc -O1 -x c "
				     "- -o p %s",
				     flags[i]),
				 0);
		assert_true(check_stubs(path) >= 3);
		check_stripped(path);
	}
}

/* Those that nm knows in run_dir/q. Return: how many. */
static size_t check_mold(const char *path)
{
	FILE *f = run_reading("nm '%s/q'", run_dir);
	struct seam_symbolizer *s = new_symbolizer(true);
	int file = seam_symbolizer_file(s, path, NULL, 0);
	char line[4096], name[2048], *end;
	struct seam_symbol sym;
	struct seam_elf *elf;
	unsigned long svma;
	size_t n = 0;

	assert_int_equal(seam_symbol_open_elf(path, &elf), 0);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx t %2047s", &svma, name) != 2)
			continue;
		end = strstr(name, "$plt");
		if (!end || end[4])
			continue;
		*end = '@';
		assert_true(
			seam_symbolize_user(s, file, to_off(elf, svma), &sym));
		assert_string_equal(sym.name, name);
		n++;
	}
	pclose(f);
	seam_elf_close(elf);
	seam_symbolizer_free(s);
	return n;
}

/* objdump knows no stubs of mold's, which are symbols there: after strip they
 * are not. As a static program of lld's has them, their section is .iplt. */
static void test_mold(void **state)
{
	char path[PATH_MAX];

	(void)state;
	if (!have_tools("ld.mold"))
		skip_since("there is no ld.mold");
	assert_int_equal(
		run("printf '#include <stdio.h>\n#include <stdlib.h>\n"
		    "int main(void) { puts(\"\"); return rand() + "
		    "atoi(\"1\"); }' | cc -O1 -x c - -o p "
		    "-fuse-ld=mold -Wl,-z,lazy && cp p q && strip p && "
		    "objcopy --rename-section .plt=.iplt p r"),
		0);
	snprintf(path, sizeof(path), "%s/p", run_dir);
	assert_true(check_mold(path) >= 3);
	snprintf(path, sizeof(path), "%s/r", run_dir);
	assert_true(check_mold(path) >= 3);
}

static void test_unknown(void **state)
{
	struct seam_symbolizer *s = new_symbolizer(false);
	struct seam_symbol sym;
	int file;

	(void)state;
	file = seam_symbolizer_file(s, "/usr/bin/python3", NULL, 0);
	assert_int_equal(seam_symbolizer_file(s, "/usr/bin/python3", NULL, 0),
			 file);
	assert_false(seam_symbolize_user(s, file, UINT64_MAX, &sym));
	assert_false(seam_symbolize_user(s, file, 0, &sym));
	assert_null(seam_symbolizer_file_problem(s, file));
	assert_false(seam_symbolize_user(s, 1000, 0, &sym));
	file = seam_symbolizer_file(s, "/nonexistent", NULL, 0);
	assert_false(seam_symbolize_user(s, file, 0, &sym));
	assert_string_equal(seam_symbolizer_file_problem(s, file),
			    "No such file or directory");
	file = seam_symbolizer_file(s, "/dev/zero", NULL, 0);
	assert_string_equal(seam_symbolizer_file_problem(s, file),
			    "it is not an ELF file");
	file = seam_symbolizer_file(s, "/etc/passwd", NULL, 0);
	assert_string_equal(seam_symbolizer_file_problem(s, file),
			    "it is not an ELF file");
	seam_symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dynamic_symbols),
		cmocka_unit_test(test_cplusplus),
		cmocka_unit_test(test_full_symtab),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_plt_kinds),
		cmocka_unit_test(test_mold),
		cmocka_unit_test(test_unknown),
	};

	if (!have_tools("nm objdump git python3"))
		return 77;
	return cmocka_run_group_tests(tests, enter_run_dir, leave_run_dir);
}
