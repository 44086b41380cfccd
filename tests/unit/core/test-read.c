// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the reader on sections written by hand, byte by byte as the
 * format says; and on every truncation and every changed byte of one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/sframe-read.h"

/* Two functions: [0x1000, 0x1040) with four rows, [0x1040, 0x1048) FLEX. */
static const uint8_t section[] = {
	0xe2, 0xde, 3, 0x05, 3, 0, 0xf8, 0, /* header */
	2, 0, 0, 0, 6, 0, 0, 0, 35, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
	/* index, at 28: starts are relative to the field itself */
	0xe4, 0x0f, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x14, 0x10, 0,
	0, 0, 0, 0, 0, 0x08, 0, 0, 0, 19, 0, 0, 0,
	/* attributes and rows, at 60 */
	4, 0, 0, 0, 0, /* 4 rows, 1-byte starts, DEFAULT */
	0x00, 0x03, 8, /* CFA = sp + 8 */
	0x01, 0x05, 16, 0xf0, /* CFA = sp + 16, FP at CFA - 16 */
	0x04, 0x04, 16, 0xf0, /* CFA = fp + 16, FP at CFA - 16 */
	0x3f, 0x03, 8, 2, 0, 0x80, 1, 0, /* 2 rows, signal frame, FLEX */
	0x00, 0x04, 0x51, 0x00, /* CFA = r10 + 0 */
	0x04, 0x0a, 0x33, 0xf8, 0x00, 0x33, 0x00, /* CFA = *(rbp - 8) ... */
};

static struct seam_sframe open_section(const uint8_t *bytes, size_t size)
{
	struct seam_sframe sf;

	assert_int_equal(seam_sframe_open(&sf, bytes, size), SEAM_OK);
	return sf;
}

static struct seam_rule find(uint64_t pc)
{
	struct seam_sframe sf = open_section(section, sizeof(section));
	struct seam_rule rule;

	assert_int_equal(seam_sframe_find(&sf, pc, &rule), SEAM_OK);
	return rule;
}

static void check_cfa(uint64_t pc, uint8_t kind, uint8_t reg, int32_t off)
{
	struct seam_rule rule = find(pc);

	assert_int_equal(rule.cfa.kind, kind);
	assert_int_equal(rule.cfa.reg, reg);
	assert_int_equal(rule.cfa.off, off);
}

static void default_rows(void **state)
{
	struct seam_rule rule;

	(void)state;
	check_cfa(0x1000, SEAM_REG_OFF, 7, 8);
	check_cfa(0x1001, SEAM_REG_OFF, 7, 16);
	check_cfa(0x1003, SEAM_REG_OFF, 7, 16);
	check_cfa(0x1004, SEAM_REG_OFF, 6, 16);
	check_cfa(0x103e, SEAM_REG_OFF, 6, 16);
	check_cfa(0x103f, SEAM_REG_OFF, 7, 8);
	rule = find(0x1001);
	assert_int_equal(rule.fp.kind, SEAM_CFA_DEREF);
	assert_int_equal(rule.fp.off, -16);
	assert_int_equal(rule.ra.kind, SEAM_SAME);
	assert_int_equal(rule.flags, 0);
}

static void flex_rows(void **state)
{
	struct seam_rule rule;

	(void)state;
	check_cfa(0x1040, SEAM_REG_OFF, 10, 0);
	check_cfa(0x1047, SEAM_REG_DEREF, 6, -8);
	rule = find(0x1044);
	assert_int_equal(rule.ra.kind, SEAM_SAME);
	assert_int_equal(rule.fp.kind, SEAM_REG_DEREF);
	assert_int_equal(rule.fp.reg, 6);
	assert_int_equal(rule.flags, SEAM_RULE_SIGNAL);
}

static void nothing_there(void **state)
{
	struct seam_sframe sf = open_section(section, sizeof(section));
	struct seam_rule rule;

	(void)state;
	assert_int_equal(seam_sframe_find(&sf, 0, &rule), SEAM_NO_RULE);
	assert_int_equal(seam_sframe_find(&sf, 0xfff, &rule), SEAM_NO_RULE);
	assert_int_equal(seam_sframe_find(&sf, 0x1048, &rule), SEAM_NO_RULE);
	assert_int_equal(seam_sframe_find(&sf, UINT64_MAX, &rule),
			 SEAM_NO_RULE);
}

static void refused_headers(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		int err;
	} cases[] = {
		{0, 0, SEAM_SFRAME_MAGIC_BAD},
		{1, 0xe2, SEAM_SFRAME_MAGIC_BAD},
		{2, 0, SEAM_SFRAME_VERSION},
		{2, 4, SEAM_SFRAME_VERSION},
		{3, 0x07, SEAM_SFRAME_FLAGS},
		{3, 0x0d, SEAM_SFRAME_FLAGS},
		{4, 0, SEAM_SFRAME_ABI},
		{4, 1, SEAM_SFRAME_ABI}, /* big-endian */
		{4, 9, SEAM_SFRAME_ABI},
		{6, 0, SEAM_SFRAME_ABI},
		{8, 3, SEAM_SFRAME_LAYOUT},
		{11, 0xff, SEAM_SFRAME_LAYOUT},
		{19, 0xff, SEAM_SFRAME_LAYOUT},
		{27, 0xff, SEAM_SFRAME_LAYOUT},
	};
	uint8_t bytes[sizeof(section)];
	struct seam_sframe sf;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(bytes, section, sizeof(section));
		bytes[cases[i].at] = cases[i].byte;
		assert_int_equal(seam_sframe_open(&sf, bytes, sizeof(bytes)),
				 cases[i].err);
	}
	assert_int_equal(seam_sframe_open(&sf, section, 27), SEAM_SFRAME_SHORT);
}

/* In a heap block of the exact size, so that AddressSanitizer sees a read
 * behind it. */
static void look_everywhere(const uint8_t *from, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);
	struct seam_sframe sf;
	struct seam_rule rule;

	assert_non_null(bytes);
	memcpy(bytes, from, size);
	if (!seam_sframe_open(&sf, bytes, size))
		for (uint64_t pc = 0xff0; pc < 0x1060; pc++)
			seam_sframe_find(&sf, pc, &rule);
	free(bytes);
}

static void every_truncation_and_byte(void **state)
{
	uint8_t bytes[sizeof(section)];

	(void)state;
	for (size_t size = 0; size <= sizeof(section); size++)
		look_everywhere(section, size);
	for (size_t at = 0; at < sizeof(section); at++)
		for (int byte = 0; byte < 256; byte++) {
			memcpy(bytes, section, sizeof(section));
			bytes[at] = (uint8_t)byte;
			look_everywhere(bytes, sizeof(bytes));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_rows),
		cmocka_unit_test(flex_rows),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(refused_headers),
		cmocka_unit_test(every_truncation_and_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
