// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what of a tracepoint's payload is a kernel's address goes, at
 * whatever byte it lies, and numbers that are none stay. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/payload-hide.h"

#define COMMON                                                                 \
	"name: it\nID: 7\nformat:\n"                                           \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;"      \
	"\tsigned:0;\n"                                                        \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const uint64_t heap = 0xffff888100abcdef, text = 0xffffffff8157ccd5;

static void put(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

static uint64_t get(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static size_t hide(const char *format, uint8_t *payload, size_t size)
{
	struct seam_payload_fields f = {0};
	size_t n;

	assert_int_equal(seam_payload_fields(format, &f), 0);
	n = seam_payload_hide(&f, payload, size);
	seam_payload_fields_fini(&f);
	return n;
}

static void words(void **state)
{
	static const uint64_t stays[] = {
		0,
		(uint64_t)-1,
		(uint64_t)-4095,
		0x7fffffffffff,
		0xffffffffff600400, /* vsyscall */
		0x800000000000,
		0xffffffff,
	};
	static const uint64_t goes[] = {
		0xffff888100abcdef, 0xffffffff8157ccd5, 0xffff800000000000,
		0xff11000012345678, 0xffffffffc0401000,
	};
	const char *format = COMMON
		"\tfield:const void * ptr;\toffset:8;\tsize:8;\tsigned:0;\n";
	uint8_t payload[16] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(stays) / sizeof(*stays); i++) {
		put(payload + 8, stays[i]);
		assert_int_equal(hide(format, payload, 16), 0);
		assert_true(get(payload + 8) == stays[i]);
	}
	for (size_t i = 0; i < sizeof(goes) / sizeof(*goes); i++) {
		put(payload + 8, goes[i]);
		assert_int_equal(hide(format, payload, 16), 1);
		assert_true(!get(payload + 8));
	}
}

/* A number of -1 beside others looks like an address from some byte on. */
static void arrays(void **state)
{
	const char *format = COMMON
		"\tfield:unsigned long args[3];\toffset:8;\tsize:24;"
		"\tsigned:0;\n"
		"\tfield:int small;\toffset:32;\tsize:4;\tsigned:1;\n"
		"\tfield:char comm[16];\toffset:36;\tsize:16;\tsigned:0;\n";
	uint8_t payload[52] = {0};

	(void)state;
	put(payload + 8, 0x1234567800000000);
	put(payload + 16, (uint64_t)-1);
	put(payload + 24, text);
	memset(payload + 32, 0xff, 4);
	memcpy(payload + 36, "worker/1", 8);
	put(payload + 43, heap);
	assert_int_equal(hide(format, payload, 52), 2);
	assert_true(get(payload + 8) == 0x1234567800000000);
	assert_true(get(payload + 16) == (uint64_t)-1);
	assert_true(!get(payload + 24));
	assert_int_equal(payload[32] & payload[35], 0xff);
	assert_memory_equal(payload + 36, "worker/\0\0", 9);
}

/* What varies in length lies behind the fields. */
static void behind(void **state)
{
	const char *format =
		COMMON "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;"
		       "\tsigned:0;\n";
	uint8_t payload[40] = {0};

	(void)state;
	put(payload + 8, 12 | 28 << 16);
	memcpy(payload + 12, "abc", 4);
	put(payload + 17, heap);
	put(payload + 25, text);
	/* One that begins in the middle of another counts too. */
	assert_true(hide(format, payload, 40) >= 2);
	assert_int_equal((uint32_t)get(payload + 8), 12 | 28 << 16);
	assert_string_equal((char *)payload + 12, "abc");
	for (size_t i = 16; i < 40; i++)
		assert_int_equal(payload[i], 0);
}

/* Fields need not come in order, nor fill all of it. */
static void between(void **state)
{
	const char *format =
		COMMON "\tfield:u64 last;\toffset:24;\tsize:8;\tsigned:0;\n"
		       "\tfield:int first;\toffset:8;\tsize:4;\tsigned:1;\n";
	uint8_t payload[32];

	(void)state;
	memset(payload, 0x55, sizeof(payload));
	put(payload + 13, heap);
	assert_int_equal(hide(format, payload, 32), 0);
	for (size_t i = 0; i < 32; i++)
		assert_int_equal(payload[i], i < 12 || i >= 24 ? 0x55 : 0);
}

static void bad(void **state)
{
	struct seam_payload_fields f = {0};
	uint8_t payload[20] = {0};

	(void)state;
	assert_int_equal(seam_payload_fields("", &f), -EBADMSG);
	assert_int_equal(seam_payload_fields("\tfield:x;\toffset:70000;"
					     "\tsize:8;",
					     &f),
			 -EBADMSG);
	assert_null(f.v);
	/* Payloads that end before their fields do. */
	put(payload + 8, heap);
	assert_int_equal(hide(COMMON "\tfield:u64 a[9];\toffset:8;\tsize:72;"
				     "\tsigned:0;\n",
			      payload, 15),
			 0);
	assert_int_equal(hide(COMMON "\tfield:u64 a[9];\toffset:8;\tsize:72;"
				     "\tsigned:0;\n",
			      payload, 20),
			 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),  cmocka_unit_test(arrays),
		cmocka_unit_test(behind), cmocka_unit_test(between),
		cmocka_unit_test(bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
