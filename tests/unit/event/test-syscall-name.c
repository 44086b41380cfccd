// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: each tracepoint of a single system call that this kernel has is
 * known, and its number is the one that the system's header has. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "event/syscall-name.h"
#include "tests/unit/skip.h"

#define HEADER "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
#define FOLDER "/sys/kernel/tracing/events/syscalls"

static int number_of(const char *way, const char *call)
{
	const char *raw = NULL;
	char name[128];
	int number;

	snprintf(name, sizeof(name), "syscalls:sys_%s_%s", way, call);
	number = seam_syscall_of(name, &raw);
	if (number < 0)
		assert_null(raw);
	else
		assert_string_equal(raw + strlen("sys_"), way);
	return number;
}

static void test_numbers(void **state)
{
	char line[256], name[128];
	int number, found, n = 0;
	FILE *f = fopen(HEADER, "re");

	(void)state;
	if (!f)
		skip_since("there is no " HEADER);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "#define __NR_%127s %d", name, &number) != 2)
			continue;
		found = number_of("enter", name);
		/* A few are called otherwise in the kernel. */
		if (found >= 0) {
			assert_int_equal(found, number);
			n++;
		}
	}
	fclose(f);
	assert_true(n > 300);
}

static void test_other_names(void **state)
{
	(void)state;
	assert_int_equal(number_of("exit", "newstat"), SYS_stat);
	assert_int_equal(number_of("exit", "newfstat"), SYS_fstat);
	assert_int_equal(number_of("exit", "newlstat"), SYS_lstat);
	assert_int_equal(number_of("exit", "newuname"), SYS_uname);
	assert_int_equal(number_of("exit", "sendfile64"), SYS_sendfile);
	assert_int_equal(number_of("exit", "umount"), SYS_umount2);
	assert_int_equal(number_of("exit", "nothing"), -1);
	assert_int_equal(number_of("exit", ""), -1);
	assert_int_equal(number_of("both", "read"), -1);
}

static void test_this_kernel(void **state)
{
	DIR *dir = opendir(FOLDER);
	const struct dirent *entry;
	int n = 0;

	(void)state;
	if (!dir)
		skip_since("not root, or tracefs is not mounted");
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "sys_e", 5) != 0)
			continue;
		if (number_of(entry->d_name[5] == 'n' ? "enter" : "exit",
			      strchr(entry->d_name + 5, '_') + 1) < 0)
			fail_msg("%s is not known", entry->d_name);
		n++;
	}
	closedir(dir);
	assert_true(n > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_other_names),
		cmocka_unit_test(test_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
