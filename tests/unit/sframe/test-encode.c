// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the SFrame builder writes the bytes that binutils' assembler
 * writes for the same rows, and refuses what it cannot write. */
#include <errno.h>

#include "rows.h"

/* The one function's attributes and rows are these bytes. */
static void check_golden(const struct in_row *rows, size_t num, uint32_t size,
			 bool signal, const uint8_t *want, size_t want_len)
{
	static const uint8_t header[] = {0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0};
	struct seam_sframe_builder *b = new_builder(0);
	struct seam_sframe_builder_func func = {.start = 0x1000,
						.signal = signal};
	size_t len;
	uint8_t *bytes;

	add(b, func, size, rows, num);
	bytes = finish(b, 0x400, &len, NULL);
	assert_int_equal(len, 28 + 16 + want_len);
	assert_memory_equal(bytes, header, sizeof(header));
	assert_int_equal(mini_int(bytes + 8, 4, false), 1);
	assert_int_equal(mini_int(bytes + 12, 4, false), num);
	assert_int_equal(mini_int(bytes + 16, 4, false), want_len);
	assert_int_equal(mini_int(bytes + 20, 4, false), 0);
	assert_int_equal(mini_int(bytes + 24, 4, false), 16);
	assert_int_equal(mini_int(bytes + 28, 8, true), 0x1000 - 0x400 - 28);
	assert_int_equal(mini_int(bytes + 36, 4, false), size);
	assert_int_equal(mini_int(bytes + 40, 4, false), 0);
	assert_memory_equal(bytes + 44, want, want_len);
	free(bytes);
}

static void test_golden_default(void **state)
{
	static const struct in_row rows[] = {
		{0x00, {.cfa = REG(SP, 8)}},
		{0x01, {.cfa = REG(SP, 16), .fp = SLOT(-16)}},
		{0x08, OUTERMOST},
		{0x0b, {.cfa = REG(SP, 5024)}},
		{0x0f, {.cfa = REG(FP, 16), .fp = SLOT(-16)}},
		{0x11, {.cfa = REG(SP, 500016)}},
	};
	/* clang-format off */
	static const uint8_t want[] = {
		6, 0, 0, 0, 0, /* attributes */
		0x00, 0x03, 0x08,
		0x01, 0x05, 0x10, 0xf0,
		0x08, 0x00,
		0x0b, 0x23, 0xa0, 0x13,
		0x0f, 0x04, 0x10, 0xf0,
		0x11, 0x43, 0x30, 0xa1, 0x07, 0x00,
	};
	/* clang-format on */

	(void)state;
	check_golden(rows, COUNT(rows), 0x24, false, want, sizeof(want));
}

/* A realigned stack, as GCC compiles it: one such row makes all FLEX. */
static void test_golden_drap(void **state)
{
	static const struct in_row rows[] = {
		{0x00, {.cfa = REG(SP, 8)}},
		{0x05, {.cfa = REG(10, 0)}},
		{0x11, {.cfa = REG(10, 0), .fp = MEM(FP, 0)}},
		{0x13, {.cfa = MEM(FP, -8), .fp = MEM(FP, 0)}},
	};
	/* clang-format off */
	static const uint8_t want[] = {
		4, 0, 0, 1, 0, /* attributes */
		0x00, 0x04, 0x39, 0x08,
		0x05, 0x04, 0x51, 0x00,
		0x11, 0x0a, 0x51, 0x00, 0x00, 0x33, 0x00,
		0x13, 0x0a, 0x33, 0xf8, 0x00, 0x33, 0x00,
	};
	/* clang-format on */

	(void)state;
	check_golden(rows, COUNT(rows), 0x24, false, want, sizeof(want));
}

static void test_golden_ra(void **state)
{
	static const struct in_row rows[] = {
		{0x01, {.cfa = REG(SP, 0), .ra = REG(2, 0)}},
		{0x02, {.cfa = REG(SP, 8), .ra = SLOT(-16)}},
		/* RA in its usual place needs no words. */
		{0x03, {.cfa = REG(SP, 8), .ra = SLOT(-8)}},
	};
	/* clang-format off */
	static const uint8_t want[] = {
		3, 0, 0, 1, 0, /* attributes */
		0x01, 0x08, 0x39, 0x00, 0x11, 0x00,
		0x02, 0x08, 0x39, 0x08, 0x02, 0xf0,
		0x03, 0x04, 0x39, 0x08,
	};
	/* clang-format on */

	(void)state;
	check_golden(rows, COUNT(rows), 0x24, false, want, sizeof(want));
}

static void test_golden_signal(void **state)
{
	static const struct in_row rows[] = {{0, {.cfa = REG(SP, 8)}}};
	static const uint8_t want[] = {1, 0, 0x80, 0, 0, 0, 3, 8};

	(void)state;
	check_golden(rows, 1, 9, true, want, sizeof(want));
}

/* 200 does not fit a signed byte, so the control words grow as well. */
static void test_golden_wide_control(void **state)
{
	static const struct in_row rows[] = {{0, {.cfa = MEM(SP, 200)}}};
	static const uint8_t want[] = {1, 0, 0, 1, 0, 0, 0x24, 0x3b, 0, 200, 0};

	(void)state;
	check_golden(rows, 1, 9, false, want, sizeof(want));
}

/* The size of row starts follows the size of the function. */
static void test_start_size(void **state)
{
	static const uint32_t sizes[] = {255, 256, 65535, 65536};
	static const uint8_t types[] = {0, 1, 1, 2};
	static const struct in_row rows[] = {{0, {.cfa = REG(SP, 8)}}};
	size_t len;

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct seam_sframe_builder *b = new_builder(0);
		uint8_t *bytes;

		add(b, (struct seam_sframe_builder_func){.start = 1}, sizes[i],
		    rows, 1);
		bytes = finish(b, 0, &len, NULL);
		assert_int_equal(bytes[44 + 2], types[i]);
		free(bytes);
	}
}

static void test_refused(void **state)
{
	static const struct seam_rule bad[] = {
		{.cfa = SLOT(8)},
		{.cfa = {.kind = SEAM_SAME}},
		{.cfa = REG(16, 8)},
		{.cfa = REG(SP, 8), .fp = {.kind = SEAM_CFA_OFF}},
		{.cfa = REG(SP, 8), .ra = {.kind = SEAM_CFA_OFF}},
		{.cfa = MEM(SP, 8), .cfa_add = 8}, /* not in a file */
		{.cfa = REG(SP, 8), .flags = SEAM_RULE_MANGLED},
	};
	static const struct seam_rule good = {.cfa = REG(SP, 8)};
	struct seam_sframe_builder *b = new_builder(0);
	struct seam_sframe_builder_func func = {.start = 0};

	(void)state;
	assert_int_equal(seam_sframe_builder_row(b, 0, &good), -EINVAL);
	assert_int_equal(seam_sframe_builder_end(b, 1), -EINVAL);
	seam_sframe_builder_begin(b, &func);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(seam_sframe_builder_row(b, 0, &bad[i]),
				 -EINVAL);
	assert_int_equal(seam_sframe_builder_row(b, 4, &good), 0);
	assert_int_equal(seam_sframe_builder_row(b, 4, &good), -EINVAL);
	assert_int_equal(seam_sframe_builder_row(b, 3, &good), -EINVAL);
	seam_sframe_builder_free(b);
}

static void test_empty(void **state)
{
	struct seam_sframe_builder *b = new_builder(0);
	static const struct in_row rows[] = {{0, {.cfa = REG(SP, 8)}}};
	struct seam_sframe_builder_func func = {.start = 0};
	struct seam_sframe sf = {0};
	uint8_t *bytes;
	size_t len;

	(void)state;
	add(b, func, 10, rows, 0);
	add(b, func, 0, rows, 1);
	bytes = finish(b, 0, &len, NULL);
	assert_int_equal(len, 28);
	assert_int_equal(seam_sframe_verify(bytes, len, NULL, NULL), 0);
	assert_int_equal(seam_sframe_open(&sf, bytes, len), 0);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_default),
		cmocka_unit_test(test_golden_drap),
		cmocka_unit_test(test_golden_ra),
		cmocka_unit_test(test_golden_signal),
		cmocka_unit_test(test_golden_wide_control),
		cmocka_unit_test(test_start_size),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
