// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a process's own name for itself is no terminal's command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/share.h"

static void named(const char *name, const char *want)
{
	char got[16] = "before";

	assert_int_equal(prctl(PR_SET_NAME, name), 0);
	seam_share_name_of((uint32_t)getpid(), got);
	assert_string_equal(got, want);
}

static void printable(void **state)
{
	(void)state;
	named("seam", "seam");
	named("a b~", "a b~");
	named("\x1b[2J\xff\xc3x\x7f", "?[2J??x?");
	named("a\nb", "a");
	named("0123456789abcde", "0123456789abcde");
	named("", "");
}

static void gone(void **state)
{
	char got[16] = "before";

	(void)state;
	seam_share_name_of(0x7ffffffe, got);
	assert_string_equal(got, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printable),
		cmocka_unit_test(gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
