/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: what a process wrote down of its own code names it: the last
 * line counts where several hold an address; what is no line is passed over;
 * a file of nobody who is believed is not read, and a symbolic link neither;
 * what is written later is read later. */
#include "run.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/perf-map.h"
#include "tests/unit/skip.h"

/* No process has such a number. */
#define PID (5000000u + (uint32_t)getpid()) /* above all that there may be */

static char map_path[64];

static void write_map(const char *mode, const char *text)
{
	FILE *f = fopen(map_path, mode);

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct seam_symbolizer *with_map(const char *text)
{
	write_map("w", text);
	return new_symbolizer(false);
}

static int names_of(struct seam_symbolizer *s)
{
	const struct seam_perf_owner of = {.pid = PID};

	return seam_symbolizer_map(s, &of);
}

static const char *name_at(struct seam_symbolizer *s, int file, uint64_t addr)
{
	static char answer[256];
	struct seam_symbol sym;

	if (!seam_symbolize_user(s, file, addr, &sym))
		return "none";
	snprintf(answer, sizeof(answer), "%s+%llu", sym.name,
		 (unsigned long long)sym.off);
	return answer;
}

static int remove_map(void **state)
{
	(void)state;
	unlink(map_path);
	return 0;
}

static void test_lines(void **state)
{
	struct seam_symbolizer *s = with_map("1000 10 first one(int)\n"
					     "no line\n"
					     " 3000 10 spaced\n"
					     "-4000 10 negative\n"
					     "5000 10\n"
					     "5000 10 \n"
					     "11111111111111111 10 long\n"
					     "0x2000 0x10 _ZN1a1bEv\n"
					     "6000 0 sizeless\n"
					     "fffffffffffffff8 10 top\n"
					     "7000 10 unfinished");
	int file = names_of(s);

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(names_of(s), file);
	assert_string_equal(seam_symbolizer_map_path(s, file), map_path);
	assert_string_equal(name_at(s, file, 0xfff), "none");
	assert_string_equal(name_at(s, file, 0x1000), "first one(int)+0");
	assert_string_equal(name_at(s, file, 0x100f), "first one(int)+15");
	assert_string_equal(name_at(s, file, 0x1010), "none");
	/* As written, which is what perf shows. */
	assert_string_equal(name_at(s, file, 0x2001), "_ZN1a1bEv+1");
	assert_string_equal(name_at(s, file, 0x3000), "none");
	assert_string_equal(name_at(s, file, 0x4000), "none");
	assert_string_equal(name_at(s, file, 0x5000), "none");
	assert_string_equal(name_at(s, file, 0x6000), "sizeless+0");
	assert_string_equal(name_at(s, file, 0x6001), "none");
	assert_string_equal(name_at(s, file, 0x7000), "none");
	assert_string_equal(name_at(s, file, UINT64_MAX - 1), "top+6");
	seam_symbolizer_free(s);
}

static void test_reused(void **state)
{
	struct seam_symbolizer *s = with_map("1000 100 whole\n"
					     "1040 20 inside\n"
					     "2050 70 older\n"
					     "2000 100 around\n"
					     "3000 100 left\n"
					     "3080 100 right\n"
					     "4000 10 twice\n"
					     "4000 20 again\n"
					     "5080 100 behind\n"
					     "5000 100 before\n");
	int file = names_of(s);

	(void)state;
	assert_string_equal(name_at(s, file, 0x103f), "whole+63");
	assert_string_equal(name_at(s, file, 0x1040), "inside+0");
	assert_string_equal(name_at(s, file, 0x1060), "whole+96");
	assert_string_equal(name_at(s, file, 0x2050), "around+80");
	assert_string_equal(name_at(s, file, 0x307f), "left+127");
	assert_string_equal(name_at(s, file, 0x3080), "right+0");
	assert_string_equal(name_at(s, file, 0x317f), "right+255");
	assert_string_equal(name_at(s, file, 0x4008), "again+8");
	assert_string_equal(name_at(s, file, 0x50ff), "before+255");
	assert_string_equal(name_at(s, file, 0x5100), "behind+128");
	seam_symbolizer_free(s);
}

/* Compared with painting address by address. */
static void test_random(void **state)
{
	static uint16_t painted[4096];
	static char text[64 << 10];
	struct seam_symbolizer *s;
	struct seam_symbol sym;
	size_t len = 0;
	int file;

	(void)state;
	srand(7);
	for (uint16_t i = 1; i <= 500; i++) {
		unsigned start = (unsigned)rand() % 4000,
			 size = 1 + (unsigned)rand() % 90;

		len += (size_t)sprintf(text + len, "%x %x f%u\n", start, size,
				       i);
		for (unsigned at = start; at < start + size && at < 4096; at++)
			painted[at] = i;
	}
	s = with_map(text);
	file = names_of(s);
	for (unsigned at = 0; at < 4096; at++) {
		unsigned is = 0;

		if (seam_symbolize_user(s, file, at, &sym))
			assert_int_equal(sscanf(sym.name, "f%u", &is), 1);
		assert_int_equal(is, painted[at]);
	}
	seam_symbolizer_free(s);
}

static void test_long(void **state)
{
	char *text = malloc(40000);
	struct seam_symbolizer *s;
	struct seam_symbol sym;

	(void)state;
	memset(text, 'x', 39999);
	memcpy(text, "1000 10 ", 8);
	memcpy(text + 39998, "\n", 2);
	s = with_map(text);
	assert_true(seam_symbolize_user(s, names_of(s), 0x1000, &sym));
	assert_int_equal(strlen(sym.name), SEAM_SYMBOL_NAME_MAX);
	seam_symbolizer_free(s);
	free(text);
}

/* What everybody may write, anybody has written. */
static void test_doubted(void **state)
{
	struct seam_symbolizer *s = with_map("1000 10 forged\n");
	const char *path;
	size_t at = 0;

	(void)state;
	assert_int_equal(chmod(map_path, 0666), 0);
	assert_int_equal(names_of(s), -ENOENT);
	assert_string_equal(seam_symbolizer_doubted(s, &at, &path), map_path);
	seam_symbolizer_free(s);
}

static void test_other_owner(void **state)
{
	struct seam_symbolizer *s;

	(void)state;
	if (geteuid())
		skip_since("not root: no file of another user can be made");
	s = with_map("1000 10 forged\n");
	assert_int_equal(chown(map_path, 12345, 12345), 0);
	assert_int_equal(names_of(s), -ENOENT);
	seam_symbolizer_free(s);
	setenv("SEAM_TRUST", "12345", 1);
	s = new_symbolizer(false);
	assert_true(names_of(s) >= 0);
	seam_symbolizer_free(s);
	unsetenv("SEAM_TRUST");
}

static void test_no_file(void **state)
{
	struct seam_symbolizer *s = with_map("1000 10 linked\n");
	char other[128];

	(void)state;
	snprintf(other, sizeof(other), "%s/elsewhere", run_dir);
	assert_int_equal(rename(map_path, other), 0);
	assert_int_equal(symlink(other, map_path), 0);
	assert_int_equal(names_of(s), -ENOENT);
	seam_symbolizer_free(s);
	unlink(map_path);
	assert_int_equal(mkfifo(map_path, 0600), 0);
	s = new_symbolizer(false);
	assert_int_equal(names_of(s), -ENOENT);
	seam_symbolizer_free(s);
}

/* The end of a line may come later. */
static void test_appended(void **state)
{
	struct seam_symbolizer *s = with_map("1000 100 first\n2000 100 hal");
	int file = names_of(s);

	(void)state;
	assert_false(seam_symbolizer_renew(s));
	assert_string_equal(name_at(s, file, 0x2000), "none");
	write_map("a", "f\n");
	assert_string_equal(name_at(s, file, 0x2000), "none");
	assert_true(seam_symbolizer_renew(s));
	assert_false(seam_symbolizer_renew(s));
	assert_int_equal(names_of(s), file);
	assert_string_equal(name_at(s, file, 0x1010), "first+16");
	assert_string_equal(name_at(s, file, 0x2000), "half+0");
	/* In the place of what was there. */
	write_map("a", "1010 10 second\n");
	assert_true(seam_symbolizer_renew(s));
	assert_string_equal(name_at(s, file, 0x100f), "first+15");
	assert_string_equal(name_at(s, file, 0x1010), "second+0");
	write_map("a", "no line\n");
	assert_false(seam_symbolizer_renew(s));
	seam_symbolizer_free(s);
}

/* Many pieces, against all at once. */
static void test_pieces(void **state)
{
	struct seam_symbolizer *s = with_map(""), *whole;
	int file = -1, other;
	char line[400];

	(void)state;
	assert_int_equal(names_of(s), -ENOENT);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(line, sizeof(line), "%x %x f%u%0*u\n", i * 7919 % 4000,
			 1 + i % 90, i, 1 + (int)i % 300, i);
		write_map("a", line);
		assert_true(seam_symbolizer_renew(s));
		file = names_of(s);
		assert_true(file >= 0);
	}
	whole = new_symbolizer(false);
	other = names_of(whole);
	for (unsigned at = 0; at < 4100; at++) {
		char is[256];

		strcpy(is, name_at(s, file, at));
		assert_string_equal(is, name_at(whole, other, at));
	}
	seam_symbolizer_free(whole);
	seam_symbolizer_free(s);
}

static void test_rewritten(void **state)
{
	struct seam_symbolizer *s = with_map("1000 100 first\n");
	int file = names_of(s);
	const char *path = seam_symbolizer_map_path(s, file);
	char text[600] = "";

	(void)state;
	/* As long, longer, and what begins alike; what was is gone. */
	write_map("w", "2000 100 other\n");
	assert_true(seam_symbolizer_renew(s));
	assert_string_equal(name_at(s, file, 0x1000), "none");
	assert_string_equal(name_at(s, file, 0x2000), "other+0");
	write_map("w", "2000 100 other function\n3000 100 third\n");
	assert_true(seam_symbolizer_renew(s));
	assert_string_equal(name_at(s, file, 0x2000), "other function+0");
	write_map("w", "2000 100 other function\n4000 100 fourth\n");
	assert_true(seam_symbolizer_renew(s));
	assert_string_equal(name_at(s, file, 0x3000), "none");
	assert_string_equal(name_at(s, file, 0x4000), "fourth+0");
	/* It begins alike for long. */
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "7000 100 ", 9);
	write_map("w", text);
	write_map("a", "\n8000 100 eighth\n");
	assert_true(seam_symbolizer_renew(s));
	write_map("w", text);
	write_map("a", "\n9000 100 ninth.\n8000 10 next\n");
	assert_true(seam_symbolizer_renew(s));
	assert_string_equal(name_at(s, file, 0x8010), "none");
	assert_string_equal(name_at(s, file, 0x9000), "ninth.+0");
	/* Another file in its place. */
	assert_int_equal(unlink(map_path), 0);
	write_map("w", "5000 100 fifth\n");
	assert_true(seam_symbolizer_renew(s));
	assert_string_equal(name_at(s, file, 0x5000), "fifth+0");
	/* Names of before say where they were from. */
	write_map("w", "");
	assert_true(seam_symbolizer_renew(s));
	assert_int_equal(names_of(s), -ENOENT);
	write_map("w", "6000 100 sixth\n");
	assert_true(seam_symbolizer_renew(s));
	assert_int_equal(names_of(s), file);
	assert_ptr_equal(seam_symbolizer_map_path(s, file), path);
	/* What has gone is still known. */
	assert_int_equal(unlink(map_path), 0);
	assert_false(seam_symbolizer_renew(s));
	assert_string_equal(name_at(s, file, 0x6000), "sixth+0");
	seam_symbolizer_free(s);
}

static void test_which(void **state)
{
	(void)state;
	assert_true(seam_perf_map_has("//anon"));
	assert_true(seam_perf_map_has("[anon:v8]"));
	assert_true(seam_perf_map_has("/memfd:doublemapper (deleted)"));
	assert_true(seam_perf_map_has("/dev/zero (deleted)"));
	assert_true(seam_perf_map_has("[heap]"));
	assert_false(seam_perf_map_has("[vdso]"));
	assert_false(seam_perf_map_has("/usr/bin/node"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_lines, remove_map),
		cmocka_unit_test_teardown(test_reused, remove_map),
		cmocka_unit_test_teardown(test_random, remove_map),
		cmocka_unit_test_teardown(test_long, remove_map),
		cmocka_unit_test_teardown(test_doubted, remove_map),
		cmocka_unit_test_teardown(test_other_owner, remove_map),
		cmocka_unit_test_teardown(test_no_file, remove_map),
		cmocka_unit_test_teardown(test_appended, remove_map),
		cmocka_unit_test_teardown(test_pieces, remove_map),
		cmocka_unit_test_teardown(test_rewritten, remove_map),
		cmocka_unit_test(test_which),
	};

	umask(022);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%u.map", PID);
	return cmocka_run_group_tests(tests, enter_run_dir, leave_run_dir);
}
