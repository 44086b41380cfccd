/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: a stripped program's static function is found by each kind of
 * debug file, and no debug file of another build is believed. */
#include <unistd.h>

#include "run.h"
#include "tests/unit/skip.h"

static const char source[] =
	"#include <unistd.h>\n"
	"__attribute__((noinline)) static long hidden(long n)\n"
	"{ volatile long s = 0; for (long i = 0; i < n; i++) s += i;\n"
	"  return s; }\n"
	"__attribute__((noinline)) long shown(long n)\n"
	"{ return hidden(n) + VALUE; }\n"
	"__asm__(\".text\\n.globl sizeless\\nsizeless: nop\\nnop\\nret\\n\"\n"
	"\".type outer,@function\\nouter: nop\\n\"\n"
	"\".type inner,@function\\ninner: nop\\n.size inner,1\\n\"\n"
	"\"nop\\nret\\n.size outer, . - outer\\n\");\n"
	"int main(void) { return (int)shown(write(1, \"\", 0)); }\n";

#define NOTHING "it has no symbols, and no debug file for it is installed"

/* Several names at one address, the one to show first. */
static const struct {
	const char *shown, *type, *bind, *other, *other_type, *other_bind;
} aliases[] = {
	{"as_strong", "function", "globl", "as_weak", "function", "weak"},
	{"as_global", "function", "globl", "as_locality", "function", "local"},
	{"as_local", "function", "local", "as_weakness", "function", "weak"},
	{"as_few", "function", "globl", "__as_more", "function", "globl"},
	{"as_longer", "function", "globl", "as_short", "function", "globl"},
	{"as_typed", "function", "local", "as_untyped", "notype", "globl"},
};

static uint64_t hidden_off, outer_off, sizeless_off;

static uint64_t find_off(const char *file, const char *symbol)
{
	FILE *f =
		run_reading("nm '%s/%s' | grep ' %s$'", run_dir, file, symbol);
	char path[PATH_MAX];
	struct seam_elf *elf;
	unsigned long svma;
	uint64_t off;

	assert_int_equal(fscanf(f, "%lx", &svma), 1);
	pclose(f);
	snprintf(path, sizeof(path), "%s/%s", run_dir, file);
	assert_int_equal(seam_symbol_open_elf(path, &elf), 0);
	off = to_off(elf, svma);
	seam_elf_close(elf);
	return off;
}

static void write_alias(FILE *f, const char *name, const char *type,
			const char *bind)
{
	fprintf(f, ".%s %s\n.type %s, @%s\n.size %s, 2\n%s:\n", bind, name,
		name, type, name, name);
}

static void write_aliases(void)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/aliases.S", run_dir);
	f = fopen(path, "w");
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		/* Both orders, since the first is no better than the last. */
		if (i % 2)
			write_alias(f, aliases[i].shown, aliases[i].type,
				    aliases[i].bind);
		write_alias(f, aliases[i].other, aliases[i].other_type,
			    aliases[i].other_bind);
		if (!(i % 2))
			write_alias(f, aliases[i].shown, aliases[i].type,
				    aliases[i].bind);
		fputs("nop\nret\n", f);
	}
	fputs(".section .note.GNU-stack\n", f);
	fclose(f);
}

static int build(void **state)
{
	char path[PATH_MAX];
	FILE *f;

	if (enter_run_dir(state))
		return -1;
	snprintf(path, sizeof(path), "%s/p.c", run_dir);
	f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
	write_aliases();
	if (run("cc -O1 -Wl,--build-id -DVALUE=1 p.c aliases.S -o p && "
		"cc -O1 -Wl,--build-id -DVALUE=2 p.c -o q && "
		"cc -O1 -Wl,--build-id=none -DVALUE=1 p.c -o n && "
		"for i in p q n; do strip $i -o $i.stripped && "
		"objcopy --only-keep-debug $i $i.debug; done"))
		return -1;
	hidden_off = find_off("p", "hidden");
	outer_off = find_off("p", "outer");
	sizeless_off = find_off("p", "sizeless");
	return 0;
}

static size_t read_build_id(const char *file, uint8_t id[SEAM_BUILD_ID_MAX])
{
	char path[PATH_MAX];
	struct seam_elf *elf;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", run_dir, file);
	assert_int_equal(seam_symbol_open_elf(path, &elf), 0);
	len = seam_elf_build_id(elf, id);
	seam_elf_close(elf);
	return len;
}

/* Return: the name at hidden_off, or the problem. */
static const char *look_up(const char *file, const char *id_of, uint64_t off)
{
	static char answer[256];
	struct seam_symbolizer *s = new_symbolizer(false);
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = id_of ? read_build_id(id_of, id) : 0;
	char path[PATH_MAX];
	const char *problem;
	struct seam_symbol sym;
	int f;

	snprintf(path, sizeof(path), "%s/%s", run_dir, file);
	f = seam_symbolizer_file(s, path, id_of ? id : NULL, len);
	if (seam_symbolize_user(s, f, off, &sym)) {
		snprintf(answer, sizeof(answer), "%s", sym.name);
	} else {
		problem = seam_symbolizer_file_problem(s, f);
		snprintf(answer, sizeof(answer), "%s",
			 problem ? problem : NOTHING);
	}
	seam_symbolizer_free(s);
	return answer;
}

static void hex_of(const char *file, char ret[2 * SEAM_BUILD_ID_MAX + 1])
{
	uint8_t id[SEAM_BUILD_ID_MAX];
	size_t len = read_build_id(file, id);

	for (size_t i = 0; i < len; i++)
		sprintf(ret + 2 * i, "%02x", id[i]);
}

static void put_by_build_id(const char *debug, const char *id_of)
{
	char hex[2 * SEAM_BUILD_ID_MAX + 1];

	hex_of(id_of, hex);
	assert_int_equal(run("mkdir -p .build-id/%.2s && "
			     "cp %s .build-id/%.2s/%s.debug",
			     hex, debug, hex, hex + 2),
			 0);
}

static void test_symtab(void **state)
{
	(void)state;
	assert_string_equal(look_up("p", NULL, hidden_off), "hidden");
	assert_string_equal(look_up("p", "p", hidden_off), "hidden");
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), NOTHING);
}

/* As perf took it from /proc/PID/maps. */
static void test_newline(void **state)
{
	(void)state;
	run("cp p 'a\nb'");
	assert_string_equal(look_up("a\\012b", "p", hidden_off), "hidden");
	run("rm 'a\nb'");
}

static void test_ends(void **state)
{
	(void)state;
	/* A label of assembly reaches to the next symbol, and a symbol goes
	 * on where one nested in it has ended. */
	assert_string_equal(look_up("p", NULL, sizeless_off + 2), "sizeless");
	assert_string_equal(look_up("p", NULL, outer_off), "outer");
	assert_string_equal(look_up("p", NULL, outer_off + 1), "inner");
	assert_string_equal(look_up("p", NULL, outer_off + 2), "outer");
}

static void test_aliases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		assert_string_equal(
			look_up("p", NULL, find_off("p", aliases[i].shown)),
			aliases[i].shown);
}

static void test_build_id(void **state)
{
	(void)state;
	put_by_build_id("p.debug", "p");
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), "hidden");
	assert_string_equal(look_up("p.stripped", "p", hidden_off), "hidden");
	/* A file of another build under this one's name. */
	put_by_build_id("q.debug", "p");
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), NOTHING);
	run("rm -r .build-id");
}

/* The file that was not taken for it. */
static const char *look_for_doubt(const char *file)
{
	static char answer[PATH_MAX];
	struct seam_symbolizer *s = new_symbolizer(false);
	char path[PATH_MAX];
	struct seam_symbol sym;
	const char *doubted, *of;
	size_t at = 0;

	snprintf(path, sizeof(path), "%s/%s", run_dir, file);
	seam_symbolize_user(s, seam_symbolizer_file(s, path, NULL, 0),
			    hidden_off, &sym);
	doubted = seam_symbolizer_doubted(s, &at, &of);
	snprintf(answer, sizeof(answer), "%s", doubted ? doubted : "none");
	if (doubted)
		assert_string_equal(of, path);
	seam_symbolizer_free(s);
	return answer;
}

/* One that says it is the one, but is of somebody else. */
static void test_doubt(void **state)
{
	(void)state;
	put_by_build_id("p.debug", "p");
	assert_string_equal(look_for_doubt("p.stripped"), "none");
	run("chmod o+w .build-id/*/*");
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), NOTHING);
	assert_non_null(strstr(look_for_doubt("p.stripped"), "/.build-id/"));
	setenv("SEAM_TRUST", "all", 1);
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), "hidden");
	unsetenv("SEAM_TRUST");
	run("chmod o-w .build-id/*/*");
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), "hidden");
	run("rm -r .build-id");
}

/* Of another build, under this one's name. */
static void test_other_build(void **state)
{
	(void)state;
	put_by_build_id("q.debug", "p");
	assert_non_null(strstr(look_for_doubt("p.stripped"), "/.build-id/"));
	run("rm -r .build-id");
	assert_string_equal(look_for_doubt("p.stripped"), "none");
}

static void put_others(void)
{
	put_by_build_id("p.debug", "p");
	assert_int_equal(run("chown 4242 .build-id/*/*"), 0);
}

static void test_owner(void **state)
{
	static const struct {
		const char *name, *value, *expected;
	} trust[] = {
		{"SEAM_TRUST", "17,4242", "hidden"},
		{"SEAM_TRUST", "424", NOTHING},
		{"SEAM_TRUST", "4242x", NOTHING},
		{"SEAM_TRUST", "-1,4242", NOTHING},
		{"SUDO_UID", "4242", "hidden"},
		{"SUDO_UID", "", NOTHING},
	};

	(void)state;
	if (geteuid())
		skip_since("not root: no other root folder can be had");
	put_others();
	unsetenv("SUDO_UID");
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), NOTHING);
	for (size_t i = 0; i < sizeof(trust) / sizeof(*trust); i++) {
		setenv(trust[i].name, trust[i].value, 1);
		assert_string_equal(look_up("p.stripped", NULL, hidden_off),
				    trust[i].expected);
		unsetenv(trust[i].name);
	}
	run("rm -r .build-id");
}

/* CACHE/BUILDID/debuginfo */
static void test_debuginfod(void **state)
{
	char hex[2 * SEAM_BUILD_ID_MAX + 1], cache[PATH_MAX];

	(void)state;
	hex_of("p", hex);
	snprintf(cache, sizeof(cache), "%s/cache", run_dir);
	assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", cache, 1), 0);
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), NOTHING);
	assert_int_equal(run("mkdir -p cache/%s && cp p.debug "
			     "cache/%s/debuginfo",
			     hex, hex),
			 0);
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), "hidden");
	assert_int_equal(run("cp q.debug cache/%s/debuginfo", hex), 0);
	assert_string_equal(look_up("p.stripped", NULL, hidden_off), NOTHING);
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

/* In perf's cache, as the file that p was: from is taken for it. */
static void put_kept(const char *from, const char *what)
{
	char hex[2 * SEAM_BUILD_ID_MAX + 1];

	hex_of("p", hex);
	assert_int_equal(run("mkdir -p .debug/.build-id/%.2s/%s && "
			     "cp %s .debug/.build-id/%.2s/%s/%s",
			     hex, hex + 2, from, hex, hex + 2, what),
			 0);
}

static void in_perf_cache(void)
{
	put_kept("p", "elf");
	assert_string_equal(look_up("gone", "p", hidden_off), "hidden");
	assert_string_equal(look_up("q", "p", hidden_off), "hidden");
	run("chmod o+w .debug/.build-id/*/*/elf");
	assert_string_not_equal(look_up("gone", "p", hidden_off), "hidden");
	put_kept("p.stripped", "elf");
	run("chmod o-w .debug/.build-id/*/*/elf");
	assert_string_equal(look_up("gone", "p", hidden_off), NOTHING);
	put_kept("p.debug", "debug");
	assert_string_equal(look_up("gone", "p", hidden_off), "hidden");
	put_kept("q", "elf");
	put_kept("q.debug", "debug");
	assert_string_not_equal(look_up("gone", "p", hidden_off), "hidden");
}

/* The file is not there, or another is, but it was kept. */
static void test_kept(void **state)
{
	char hex[2 * SEAM_BUILD_ID_MAX + 1], cache[PATH_MAX];

	(void)state;
	assert_string_equal(look_up("gone", "p", hidden_off),
			    "No such file or directory");
	in_perf_cache();
	hex_of("p", hex);
	snprintf(cache, sizeof(cache), "%s/cache2", run_dir);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	run("rm -r .debug && mkdir -p cache2/%s && cp p cache2/%s/executable",
	    hex, hex);
	assert_string_equal(look_up("gone", "p", hidden_off), "hidden");
	assert_string_equal(look_up("q", "p", hidden_off), "hidden");
	/* What perf has kept is refused: it is of another build. */
	put_kept("q", "elf");
	assert_string_equal(look_up("gone", "p", hidden_off), "hidden");
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

/* The folder below debug_root repeats the file's own path. */
static void test_debuglink(void **state)
{
	const uint64_t off = find_off("n", "hidden");
	const char *file = "l/n.stripped";
	char places[3][PATH_MAX];

	(void)state;
	snprintf(places[0], PATH_MAX, "l");
	snprintf(places[1], PATH_MAX, "l/.debug");
	snprintf(places[2], PATH_MAX, ".%s/l", run_dir);
	assert_int_equal(run("mkdir l && cp n.stripped l && objcopy "
			     "--add-gnu-debuglink=n.debug l/n.stripped"),
			 0);
	assert_string_equal(look_up(file, NULL, off), NOTHING);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(run("mkdir -p %s && cp n.debug %s", places[i],
				     places[i]),
				 0);
		assert_string_equal(look_up(file, NULL, off), "hidden");
		/* Changed after it was linked. */
		assert_int_equal(run("echo >>%s/n.debug", places[i]), 0);
		assert_string_equal(look_up(file, NULL, off), NOTHING);
	}
}

static void test_minidebuginfo(void **state)
{
	(void)state;
	if (!have_tools("xz"))
		skip_since("there is no xz");
	assert_int_equal(run("objcopy --strip-debug p.debug p.mini && "
			     "xz -k -f p.mini && cp p.stripped p.fedora && "
			     "objcopy --add-section "
			     ".gnu_debugdata=p.mini.xz p.fedora"),
			 0);
	assert_string_equal(look_up("p.fedora", NULL, hidden_off), "hidden");
	/* Damaged. */
	assert_int_equal(run("head -c 400 p.mini.xz >cut && cp p.stripped "
			     "p.cut && objcopy --add-section "
			     ".gnu_debugdata=cut p.cut"),
			 0);
	assert_string_equal(look_up("p.cut", NULL, hidden_off), NOTHING);
}

/* Which file is told to be stripped, and of Go with another mark; NULL: none.
 */
static const char *stripped(const char *file, uint64_t off)
{
	static char answer[PATH_MAX];
	struct seam_symbolizer *s = new_symbolizer(false);
	char path[PATH_MAX];
	struct seam_symbol sym;
	const char *found;
	bool is_go = false;
	size_t at = 0;

	snprintf(path, sizeof(path), "%s/%s", run_dir, file);
	seam_symbolize_user(s, seam_symbolizer_file(s, path, NULL, 0), off,
			    &sym);
	found = seam_symbolizer_stripped(s, &at, &is_go);
	if (found)
		snprintf(answer, sizeof(answer), "%s%s",
			 strrchr(found, '/') + 1, is_go ? " go" : "");
	seam_symbolizer_free(s);
	return found ? answer : NULL;
}

static void test_stripped(void **state)
{
	uint64_t hidden, shown;

	(void)state;
	/* What has no size goes on to the next name. */
	assert_int_equal(
		run("sed '/__asm__/,/;$/d' p.c >d.c && "
		    "cc -O1 -rdynamic -DVALUE=3 d.c -o d && "
		    "strip d -o d.stripped && "
		    "objcopy --add-section .gopclntab=d.c d.stripped d.go"),
		0);
	hidden = find_off("d", "hidden");
	shown = find_off("d", "shown");
	assert_string_equal(look_up("d.stripped", NULL, shown), "shown");
	assert_null(stripped("d.stripped", shown));
	assert_string_equal(stripped("d.stripped", hidden), "d.stripped");
	assert_string_equal(stripped("d.go", hidden), "d.go go");
	assert_null(stripped("d", hidden));
	/* It has no symbol at all. */
	assert_string_equal(stripped("p.stripped", hidden_off), "p.stripped");
}

static void test_replaced(void **state)
{
	(void)state;
	assert_string_equal(look_up("q", "p", hidden_off),
			    "the file there now has another build-id than the "
			    "one recorded");
	assert_string_equal(look_up("n", "p", hidden_off),
			    "the file there now has another build-id than the "
			    "one recorded");
	/* Deleted, and back: believed by its build-id alone. */
	assert_string_equal(look_up("p (deleted)", "p", hidden_off), "hidden");
	assert_string_equal(look_up("q (deleted)", "p", hidden_off),
			    "the file there now has another build-id than the "
			    "one recorded");
	assert_string_equal(look_up("p (deleted)", NULL, hidden_off),
			    "No such file or directory");
	/* A debug file that elfutils made still tells where its code lies. */
	if (!have_tools("eu-strip"))
		skip_since("there is no eu-strip");
	assert_int_equal(run("cp p e && eu-strip -f e.debug e"), 0);
	put_by_build_id("e.debug", "p");
	assert_string_equal(look_up("q", "p", hidden_off), "hidden");
	assert_string_equal(look_up("gone", "p", hidden_off), "hidden");
	put_by_build_id("p.debug", "p");
	assert_string_not_equal(look_up("gone", "p", hidden_off), "hidden");
	run("rm -r .build-id");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symtab),
		cmocka_unit_test(test_newline),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_other_build),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_debuginfod),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_minidebuginfo),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_replaced),
	};

	if (!have_tools("cc nm strip objcopy"))
		return 77;
	return cmocka_run_group_tests(tests, build, leave_run_dir);
}
