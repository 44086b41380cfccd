// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: code that was compiled since has its name, and that took the
 * place of other code as well, once names are looked for anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/resolve.h"

/* No process has such a number. */
#define NOBODY (200000000u + (uint32_t)getpid())

static char map_path[64];

static void append(const char *text)
{
	FILE *f = fopen(map_path, "a");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void check(struct seam_resolver *r, const char *first,
		  const char *second)
{
	const struct seam_stitch_map map = {.path = "//anon",
					    .start = 0x1000,
					    .end = 0x3000,
					    .pid = NOBODY};
	const struct seam_frame frames[] = {{0x1008, &map, .exact = true},
					    {0x2008, &map, .exact = true}};
	struct seam_name names[2];

	assert_int_equal(seam_resolve(r, frames, 2, names), 0);
	assert_string_equal(names[0].sym ?: "none", first);
	assert_string_equal(names[1].sym ?: "none", second);
}

static void test_renew(void **state)
{
	struct seam_resolver *r;

	(void)state;
	assert_int_equal(seam_resolver_new(NULL, &r), 0);
	/* There may be none yet. */
	check(r, "none", "none");
	append("1000 100 first\n");
	check(r, "none", "none");
	seam_resolver_renew(r);
	check(r, "first", "none");
	append("2000 100 second\n1000 10 again\n");
	seam_resolver_renew(r);
	check(r, "again", "second");
	seam_resolver_free(r);
}

static int remove_map(void **state)
{
	(void)state;
	unlink(map_path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_renew, remove_map),
	};

	umask(022);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%u.map", NOBODY);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
