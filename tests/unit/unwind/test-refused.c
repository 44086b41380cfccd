// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a file that was refused is told once, by name as far as there
 * is room, and counted where there is none; what is no ELF file is not told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "unwind/refused.h"

static struct seam_refusals r;
static const struct seam_errinfo why = {
	.where = "here", .offset = 7, .reason = "it is wrong"};

static int make(char *path, const char *bytes)
{
	int fd;

	strcpy(path, "seam-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
	return fd;
}

static void test_once_each(void **state)
{
	char path[32], last[SEAM_REFUSED_PATH];
	int fds[SEAM_REFUSED_NAMED + 4];

	(void)state;
	memset(&r, 0, sizeof(r));
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		fds[i] = make(path, "\177ELF and more");
		for (int twice = 0; twice < 2; twice++)
			seam_refuse_file(&r, fds[i], -EINVAL, &why);
		seam_refuse_cfi(&r, fds[i], 3, &why);
		assert_int_equal(r.n, i + 1);
		if (i == SEAM_REFUSED_NAMED - 1)
			strcpy(last, path);
		unlink(path);
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		close(fds[i]);
	assert_non_null(strstr(r.files[SEAM_REFUSED_NAMED - 1].path, last));
	assert_int_equal(r.files[0].n_bad, 0);
	assert_int_equal(r.files[0].why.offset, 7);
	assert_string_equal(r.files[0].why.reason, why.reason);
}

static void test_what_is_told(void **state)
{
	char path[32];
	int elf = make(path, "\177ELF"), other;

	(void)state;
	unlink(path);
	other = make(path, "no program");
	unlink(path);
	memset(&r, 0, sizeof(r));
	seam_refuse_file(&r, other, -EINVAL, &why);
	seam_refuse_file(&r, elf, 0, &why);
	seam_refuse_file(&r, elf, -ENOMEM, &why);
	seam_refuse_cfi(&r, elf, 0, &why);
	assert_int_equal(r.n, 0);
	seam_refuse_file(&r, elf, -EFBIG, &why);
	assert_int_equal(r.n, 1);
	assert_non_null(strstr(r.files[0].why.reason, "more than is read"));
	memset(&r, 0, sizeof(r));
	seam_refuse_cfi(&r, elf, 5, &why);
	assert_int_equal(r.files[0].n_bad, 5);
	close(elf);
	close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_each),
		cmocka_unit_test(test_what_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
