// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what is no order to a terminal is shown as it is, all else by
 * its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/plain.h"
#include "report/strbuf.h"

static void assert_shown(const char *name, const char *expected)
{
	struct seam_strbuf b = {0};

	seam_strbuf_plain(&b, name);
	assert_string_equal(b.s ?: "", expected);
	assert_int_equal(seam_is_plain(name), !strcmp(name, expected));
	seam_strbuf_fini(&b);
}

static void test_plain(void **state)
{
	static const char *const names[] = {
		"",
		"main",
		"operator<<~",
		"na\xc3\xafve",
		"\xe2\x82\xac",
		"\xf0\x9f\xa6\x80",
		"\xc2\xa0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_shown(names[i], names[i]);
}

static void test_orders(void **state)
{
	(void)state;
	assert_shown("a\x1b[2Jb", "a\\x1b[2Jb");
	assert_shown("\a\t\n\r\x7f", "\\x07\\x09\\x0a\\x0d\\x7f");
	assert_shown("\xc2\x9b[m", "\\xc2\\x9b[m"); /* U+009B */
	assert_shown("x\xe2\x80\xae!", "x\\xe2\\x80\\xae!"); /* right to left */
	assert_shown("\xe2\x81\xa6", "\\xe2\\x81\\xa6");
	assert_shown("\xd8\x9c", "\\xd8\\x9c");
}

static void test_no_utf8(void **state)
{
	(void)state;
	assert_shown("a\xff", "a\\xff");
	assert_shown("\xe2\x82", "\\xe2\\x82"); /* cut off */
	assert_shown("\xc0\x9b", "\\xc0\\x9b"); /* longer than need be */
	assert_shown("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_no_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
