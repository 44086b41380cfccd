// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what a PLT's stub jumps through, by its bytes: with all that
 * linkers put before the jump, cut off anywhere, and of other code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "elf/stub.h"

static const struct {
	const char *bytes;
	size_t len;
} parts[] = {{"\xf3\x0f\x1e\xfa", 4}, /* endbr64 */
	     {"\x41\xbb\x01\x02\x03\x04", 6}, /* mov $0x4030201, %r11d */
	     {"\xf2", 1}}; /* bnd */

/* Those of parts whose bits are set, and jmp *-16(%rip). Return: its bytes. */
static size_t make(uint8_t code[static SEAM_STUB_JUMP_MAX], unsigned int which)
{
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		if (!(which >> i & 1))
			continue;
		memcpy(code + n, parts[i].bytes, parts[i].len);
		n += parts[i].len;
	}
	memcpy(code + n, "\xff\x25\xf0\xff\xff\xff", 6);
	return n + 6;
}

static void test_forms(void **state)
{
	(void)state;
	for (unsigned int which = 0; which < 8; which++) {
		uint8_t code[SEAM_STUB_JUMP_MAX + 1] = {0};
		size_t len = make(code, which);
		uint64_t slot;

		assert_true(len <= SEAM_STUB_JUMP_MAX);
		assert_int_equal(seam_stub_jump(code, len + 1, &slot), len);
		assert_int_equal(slot, len - 16);
		for (size_t cut = 0; cut < len; cut++) {
			uint8_t exact[SEAM_STUB_JUMP_MAX];

			memcpy(exact, code, cut);
			assert_int_equal(seam_stub_jump(exact, cut, &slot), 0);
		}
	}
}

static void test_others(void **state)
{
	static const char *const others[] = {
		"\xff\x35\0\0\0\0\xff\x25\0\0\0\0", /* a table's header */
		"\xff\x15\0\0\0\0", /* a call */
		"\x41\xbb\0\0\0\0\xf3\x0f\x1e\xfa\xff\x25\0\0\0\0"};
	uint64_t slot;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(
			seam_stub_jump((const uint8_t *)others[i], 6, &slot),
			0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
