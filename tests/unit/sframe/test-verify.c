// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a malformed SFrame section is refused, with the error that is
 * its name and the offset of what is wrong; nothing valid is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/err.h"
#include "core/sframe-read.h"
#include "sframe/verify.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Three functions: DEFAULT with two rows, FLEX with two, and a PLT. Their
 * starts are 0x1000, 0x2000 and 0x3000 in a section at 0.
 */
#define INDEX 28
#define FRES (INDEX + 3 * 16)
/* clang-format off */
#define START(i, addr) \
	(uint8_t)((addr) - (INDEX + 16 * (i))), \
	(uint8_t)(((addr) - (INDEX + 16 * (i))) >> 8), 0, 0, 0, 0, 0, 0

static const uint8_t good[] = {
	/* header: 3 functions, 6 rows, 42 bytes of them */
	0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0,
	3, 0, 0, 0, 6, 0, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0,
	/* index: start, size, offset of the attributes */
	START(0, 0x1000), 0x20, 0, 0, 0, 0, 0, 0, 0,
	START(1, 0x2000), 0x30, 0, 0, 0, 12, 0, 0, 0,
	START(2, 0x3000), 0x40, 0, 0, 0, 31, 0, 0, 0,
	/* 0: DEFAULT */
	2, 0, 0, 0, 0,
	0, 0x03, 8, /* CFA = rsp + 8 */
	4, 0x05, 16, 0xf0, /* CFA = rsp + 16, FP at CFA - 16 */
	/* 12: FLEX */
	2, 0, 0, 1, 0,
	0, 0x04, 0x39, 8, /* CFA = rsp + 8 */
	8, 0x0a, 0x33, 0xf8, 0, 0x33, 0, /* CFA = *(rbp - 8), FP = *rbp */
	0, 0, 0, /* nobody's */
	/* 31: PCMASK, blocks of 16 */
	2, 0, 0x10, 0, 16,
	0, 0x03, 8,
	11, 0x03, 16,
};
/* clang-format on */
#define ROW(off) (FRES + (off))

static void test_good(void **state)
{
	struct seam_sframe_limits limits = {.text_start = 0x1000,
					    .text_end = 0x3040};
	uint8_t with_tail[sizeof(good) + 3] = {0};

	(void)state;
	assert_int_equal(seam_sframe_verify(good, sizeof(good), NULL, NULL), 0);
	assert_int_equal(seam_sframe_verify(good, sizeof(good), &limits, NULL),
			 0);
	limits.flags = SEAM_SFRAME_VERIFY_KERNEL;
	assert_int_equal(seam_sframe_verify(good, sizeof(good), &limits, NULL),
			 0);
	/* Linkers leave bytes behind the rows; a table of ours has none. */
	memcpy(with_tail, good, sizeof(good));
	assert_int_equal(
		seam_sframe_verify(with_tail, sizeof(with_tail), NULL, NULL),
		0);
	assert_int_equal(
		seam_sframe_verify(with_tail, sizeof(with_tail), &limits, NULL),
		-EINVAL);
}

struct edit {
	uint16_t at;
	uint8_t value;
};

/* good with some bytes changed: what is said, and about which byte. */
struct bad {
	const char *what;
	int code;
	uint64_t offset;
	struct edit edits[8];
	uint8_t num;
};

static const struct bad bads[] = {
	{"magic", SEAM_SFRAME_MAGIC_BAD, 0, {{0, 0xe3}}, 1},
	{"big endian", SEAM_SFRAME_ABI, 4, {{0, 0xde}, {1, 0xe2}}, 2},
	{"version 0", SEAM_SFRAME_VERSION, 2, {{2, 0}}, 1},
	{"version 4", SEAM_SFRAME_VERSION, 2, {{2, 4}}, 1},
	{"frame pointer flag", SEAM_SFRAME_FLAGS, 3, {{3, 7}}, 1},
	{"undefined flag", SEAM_SFRAME_FLAGS, 3, {{3, 0x85}}, 1},
	{"not relative", SEAM_SFRAME_FLAGS, 3, {{3, 1}}, 1},
	{"aarch64", SEAM_SFRAME_ABI, 6, {{4, 2}}, 1},
	{"big-endian aarch64", SEAM_SFRAME_ABI, 4, {{4, 1}}, 1},
	{"no such abi", SEAM_SFRAME_ABI, 4, {{4, 9}}, 1},
	{"fixed fp", SEAM_SFRAME_ABI, 5, {{5, 0xf0}}, 1},
	{"no fixed ra", SEAM_SFRAME_ABI, 6, {{6, 0}}, 1},
	{"aux header past the end", SEAM_SFRAME_LAYOUT, 7, {{7, 255}}, 1},
	{"aux header shifts all", SEAM_SFRAME_LAYOUT, 16, {{7, 1}}, 1},
	{"index over rows", SEAM_SFRAME_LAYOUT, 8, {{8, 4}}, 1},
	{"huge index", SEAM_SFRAME_LAYOUT, 8, {{11, 0xff}}, 1},
	{"index offset", SEAM_SFRAME_LAYOUT, 8, {{20, 1}}, 1},
	{"rows too long", SEAM_SFRAME_LAYOUT, 16, {{16, 43}}, 1},
	{"huge rows", SEAM_SFRAME_LAYOUT, 16, {{19, 0xff}}, 1},
	{"huge rows offset", SEAM_SFRAME_LAYOUT, 16, {{27, 0xff}}, 1},
	{"order", SEAM_SFRAME_ORDER, INDEX + 16, {{INDEX + 17, 0x08}}, 1},
	{"overlap", SEAM_SFRAME_ORDER, INDEX + 16, {{INDEX + 9, 0x20}}, 1},
	{"wraps",
	 SEAM_SFRAME_FUNC,
	 INDEX,
	 {{INDEX, 0xd4},
	  {INDEX + 1, 0xff},
	  {INDEX + 2, 0xff},
	  {INDEX + 3, 0xff},
	  {INDEX + 4, 0xff},
	  {INDEX + 5, 0xff},
	  {INDEX + 6, 0xff},
	  {INDEX + 7, 0xff}},
	 8},
	{"attributes outside",
	 SEAM_SFRAME_FUNC,
	 INDEX + 12,
	 {{INDEX + 12, 38}},
	 1},
	{"attributes far outside",
	 SEAM_SFRAME_FUNC,
	 INDEX + 12,
	 {{INDEX + 15, 0x7f}},
	 1},
	{"row start size", SEAM_SFRAME_FUNC, ROW(2), {{ROW(2), 3}}, 1},
	{"pauth bit", SEAM_SFRAME_FUNC, ROW(2), {{ROW(2), 0x20}}, 1},
	{"unused info bit", SEAM_SFRAME_FUNC, ROW(2), {{ROW(2), 0x40}}, 1},
	{"unused type bit", SEAM_SFRAME_FUNC, ROW(3), {{ROW(3), 0x20}}, 1},
	{"function type 2", SEAM_SFRAME_FUNC, ROW(3), {{ROW(3), 2}}, 1},
	{"seam's type in a file",
	 SEAM_SFRAME_FUNC,
	 ROW(15),
	 {{ROW(15), 31}},
	 1},
	{"rep size without mask", SEAM_SFRAME_FUNC, ROW(4), {{ROW(4), 16}}, 1},
	{"rep size 0", SEAM_SFRAME_FUNC, ROW(35), {{ROW(35), 0}}, 1},
	{"rep size over size", SEAM_SFRAME_FUNC, ROW(35), {{ROW(35), 65}}, 1},
	{"more rows than bytes",
	 SEAM_SFRAME_FUNC,
	 ROW(0),
	 {{ROW(0), 0xff}, {ROW(1), 0xff}},
	 2},
	{"rows past the end", SEAM_SFRAME_ROW, ROW(42), {{ROW(31), 3}}, 1},
	{"words past the end", SEAM_SFRAME_ROW, ROW(39), {{ROW(40), 0x43}}, 1},
	{"row order", SEAM_SFRAME_ROW, ROW(8), {{ROW(8), 0}}, 1},
	{"row outside", SEAM_SFRAME_ROW, ROW(8), {{ROW(8), 0x21}}, 1},
	{"row outside its block", SEAM_SFRAME_ROW, ROW(39), {{ROW(39), 16}}, 1},
	{"word size 3", SEAM_SFRAME_ROW, ROW(6), {{ROW(6), 0x63}}, 1},
	{"mangled", SEAM_SFRAME_ROW, ROW(6), {{ROW(6), 0x83}}, 1},
	{"default with 3 words", SEAM_SFRAME_ROW, ROW(9), {{ROW(6), 0x07}}, 1},
	{"flex cfa from cfa", SEAM_SFRAME_ROW, ROW(19), {{ROW(19), 0x02}}, 1},
	{"flex cfa without rule", SEAM_SFRAME_ROW, ROW(19), {{ROW(19), 0}}, 1},
	{"flex unused bit", SEAM_SFRAME_ROW, ROW(19), {{ROW(19), 0x3d}}, 1},
	{"flex register 17", SEAM_SFRAME_ROW, ROW(19), {{ROW(19), 0x89}}, 1},
	{"flex register unused",
	 SEAM_SFRAME_ROW,
	 ROW(19),
	 {{ROW(19), 0x38}},
	 1},
	{"flex one word", SEAM_SFRAME_ROW, ROW(19), {{ROW(18), 0x02}}, 1},
	{"flex cfa register, no reg bit",
	 SEAM_SFRAME_ROW,
	 ROW(19),
	 {{ROW(19), 0x3a}},
	 1},
	{"flex fp register with cfa",
	 SEAM_SFRAME_ROW,
	 ROW(26),
	 {{ROW(26), 0x32}},
	 1},
	{"flex fp control 0",
	 SEAM_SFRAME_ROW,
	 ROW(26),
	 {{ROW(22), 0x08}, {ROW(26), 0}},
	 2},
	{"flex word too many",
	 SEAM_SFRAME_ROW,
	 ROW(29),
	 {{ROW(22), 0x0e}, {ROW(25), 0x02}, {ROW(27), 0x33}},
	 3},
};

static void check_bad(const struct bad *b)
{
	uint8_t bytes[sizeof(good)];
	struct seam_errinfo err = {0};

	memcpy(bytes, good, sizeof(good));
	for (size_t i = 0; i < b->num; i++)
		bytes[b->edits[i].at] = b->edits[i].value;
	if (!seam_sframe_verify(bytes, sizeof(bytes), NULL, &err))
		fail_msg("%s: accepted", b->what);
	if (err.code != b->code || err.offset != b->offset)
		fail_msg("%s: %s at %lu (%s), not %s at %lu", b->what,
			 seam_err_name(err.code), (unsigned long)err.offset,
			 err.reason, seam_err_name(b->code),
			 (unsigned long)b->offset);
	assert_string_equal(err.where, ".sframe");
	assert_true(err.reason[0]);
	/* Others have the same code and offset. */
	if (strstr(b->what, "s past the end"))
		assert_non_null(strstr(err.reason, "past the end"));
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bads); i++)
		check_bad(&bads[i]);
}

/* Cut anywhere, it is refused, and nothing behind the cut is read. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(good); len++) {
		uint8_t *bytes = malloc(len ? len : 1);
		struct seam_errinfo err = {0};

		memcpy(bytes, good, len);
		assert_int_equal(seam_sframe_verify(bytes, len, NULL, &err),
				 -EINVAL);
		assert_int_equal(err.code, len < 28 ? SEAM_SFRAME_SHORT
						    : SEAM_SFRAME_LAYOUT);
		free(bytes);
	}
}

static void expect(const uint8_t *bytes, const struct seam_sframe_limits *l,
		   int code)
{
	struct seam_errinfo err = {0};

	assert_int_equal(seam_sframe_verify(bytes, sizeof(good), l, &err),
			 -EINVAL);
	assert_int_equal(err.code, code);
}

static void test_limits(void **state)
{
	struct seam_sframe_limits limits = {.text_start = 0x1001,
					    .text_end = 0x4000};
	uint8_t bytes[sizeof(good)];

	(void)state;
	expect(good, &limits, SEAM_SFRAME_FUNC);
	limits.text_start = 0;
	limits.text_end = 0x303f;
	expect(good, &limits, SEAM_SFRAME_FUNC);
	/* An unsorted file is one to search in line; a table is none. */
	memcpy(bytes, good, sizeof(good));
	bytes[3] = SEAM_SFRAME_F_PCREL;
	assert_int_equal(seam_sframe_verify(bytes, sizeof(bytes), NULL, NULL),
			 0);
	limits =
		(struct seam_sframe_limits){.flags = SEAM_SFRAME_VERIFY_KERNEL};
	expect(bytes, &limits, SEAM_SFRAME_FLAGS);
}

/* FLEX_ADD: the last word of a row belongs to the CFA. */
static void test_flex_add(void **state)
{
	struct seam_sframe_limits limits = {.flags = SEAM_SFRAME_VERIFY_KERNEL};
	uint8_t bytes[sizeof(good)];
	struct seam_rule rule;
	struct seam_sframe sf;

	(void)state;
	memcpy(bytes, good, sizeof(good));
	bytes[ROW(12)] = 1;
	bytes[ROW(15)] = SEAM_SFRAME_FDE_FLEX_ADD;
	memcpy(bytes + ROW(17), (uint8_t[]){0, 0x06, 0x3b, 40, 8}, 5);
	assert_int_equal(
		seam_sframe_verify(bytes, sizeof(bytes), &limits, NULL), 0);
	assert_int_equal(seam_sframe_open(&sf, bytes, sizeof(bytes)), 0);
	assert_int_equal(seam_sframe_find(&sf, 0x2000, &rule), 0);
	assert_int_equal(rule.cfa.kind, SEAM_REG_DEREF);
	assert_int_equal(rule.cfa.off, 40);
	assert_int_equal(rule.cfa_add, 8);
	bytes[ROW(18)] = 0x04; /* no word left to add */
	expect(bytes, &limits, SEAM_SFRAME_ROW);
}

/* 60,000 functions that share 30 KB of rows would be 900 million of them. */
static void test_shared_rows(void **state)
{
	enum { FUNCS = 60000, ROWS = 15000 };
	size_t index = FUNCS * 16, fre_len = 5 + ROWS * 2;
	size_t size = 28 + index + fre_len;
	uint8_t *b = calloc(1, size);
	struct seam_errinfo err;
	uint32_t v[5] = {FUNCS, ROWS, (uint32_t)fre_len, 0, (uint32_t)index};

	(void)state;
	assert_non_null(b);
	memcpy(b, good, 8);
	memcpy(b + 8, v, sizeof(v));
	for (uint64_t i = 0; i < FUNCS; i++) {
		uint64_t start = 0x1000000 + i * 256 - (28 + i * 16);

		memcpy(b + 28 + 16 * i, &start, 8);
		b[28 + 16 * i + 8] = 255;
	}
	b[28 + index] = 255;
	for (size_t i = 0; i < 255; i++)
		b[28 + index + 5 + 2 * i] = (uint8_t)i;
	assert_int_equal(seam_sframe_verify(b, size, NULL, &err), -EINVAL);
	assert_int_equal(err.code, SEAM_SFRAME_FUNC);
	/* Sharing that stays within the bytes is legal. */
	b[28 + index] = 0;
	assert_int_equal(seam_sframe_verify(b, size, NULL, &err), 0);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_flex_add),
		cmocka_unit_test(test_shared_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
