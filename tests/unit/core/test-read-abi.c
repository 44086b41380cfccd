// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: the reader on rows of each ABI, in each version that has it.
 * The rows are bytes that GNU assemblers wrote, where one is known. */
#include "section.h"

#define AARCH64_BE 1
#define AARCH64_LE 2
#define S390X 4

/* Rows that read alike in V1, V2 and V3, and in both byte orders. */
static void aarch64_default(void **state)
{
	static const uint8_t rows[] = {
		0x00, 0x03, 0x00, /* CFA = sp, RA in x30 */
		0x04, 0x83, 0x00, /* the same, signed */
		0x08, 0x87, 0x10, 0xf8, 0xf0, /* RA at CFA-8, FP at CFA-16 */
		0x0c, 0x85, 0x10, 0xf0, /* RA alone */
		0x10, 0x06, 0x20, 0xe8, 0xe0, /* CFA = x29 + 32 */
	};
	static const struct seam_rule want[] = {
		{.cfa = REG(31, 0)},
		{.cfa = REG(31, 0), .flags = SEAM_RULE_MANGLED},
		{.cfa = REG(31, 16),
		 .ra = SLOT(-8),
		 .fp = SLOT(-16),
		 .flags = SEAM_RULE_MANGLED},
		{.cfa = REG(31, 16),
		 .ra = SLOT(-16),
		 .flags = SEAM_RULE_MANGLED},
		{.cfa = REG(29, 32), .ra = SLOT(-24), .fp = SLOT(-32)},
	};
	struct func_in func = {.start = 0x400, .size = 0x14, .num_rows = 5};
	struct section s;

	(void)state;
	for (int version = 1; version <= 3; version++)
		for (int abi = AARCH64_BE; abi <= AARCH64_LE; abi++) {
			put_one(&s, version, abi, &func, rows, sizeof(rows));
			for (uint64_t i = 0; i < COUNT(want); i++)
				check_rule(&s, 0x400 + 4 * i, &want[i]);
			check_err(&s, 0x414, SEAM_NO_RULE);
		}
}

/* Words of more than a byte come in the target's byte order. */
static void wide_words(void **state)
{
	static const uint8_t little[] = {
		0x00, 0x00, 0x23, 0xa0, 0x13, /* CFA = sp + 5024 */
		0x00, 0x01, 0x43, 0x30, 0xa1, 0x07, 0x00, /* sp + 500016 */
	};
	static const uint8_t big[] = {
		0x00, 0x00, 0x23, 0x13, 0xa0, /* as above */
		0x01, 0x00, 0x43, 0x00, 0x07, 0xa1, 0x30, /* as above */
	};
	static const struct seam_rule want[] = {
		{.cfa = REG(31, 5024)},
		{.cfa = REG(31, 500016)},
	};
	struct func_in func = {
		.start = 0x400, .size = 0x200, .num_rows = 2, .info = 1};
	struct section s;

	(void)state;
	for (int version = 1; version <= 3; version++) {
		put_one(&s, version, AARCH64_LE, &func, little, sizeof(little));
		check_rule(&s, 0x4ff, &want[0]);
		check_rule(&s, 0x500, &want[1]);
		put_one(&s, version, AARCH64_BE, &func, big, sizeof(big));
		check_rule(&s, 0x4ff, &want[0]);
		check_rule(&s, 0x500, &want[1]);
	}
}

/* The key is the function's, and B is only named: stripping needs neither. */
static void aarch64_key(void **state)
{
	static const uint8_t rows[] = {0x00, 0x83, 0x00};
	struct func_in func = {
		.start = 0x400, .size = 8, .num_rows = 1, .info = 0x20};
	struct seam_sframe_func got;
	struct seam_sframe sf;
	struct section s;

	(void)state;
	for (int version = 1; version <= 3; version++) {
		put_one(&s, version, AARCH64_LE, &func, rows, sizeof(rows));
		sf = open_it(&s);
		assert_int_equal(seam_sframe_func_at(&sf, 0, &got), 0);
		assert_int_equal(got.info, SEAM_SFRAME_INFO_PAUTH_B);
	}
}

static void s390x_default(void **state)
{
	static const uint8_t rows[] = {
		0x00, 0x03, 0x00, /* CFA = r15 + 160, RA in r14 */
		0x06, 0x07, 0x00, 0xd0, 0xb8, /* RA at CFA-48, FP at CFA-72 */
		0x0c, 0x07, 0x14, 0xd0, 0xb8, /* CFA = r15 + 320 */
		0x12, 0x06, 0x14, 0x00, 0xb8, /* r11 + 320, RA not saved */
		0x18, 0x05, 0xfe, 0xd0, /* CFA = r15 + 144, RA alone */
		0x1e, 0x00, /* outermost */
	};
	static const struct seam_rule want[] = {
		{.cfa = REG(15, 160)},
		{.cfa = REG(15, 160), .ra = SLOT(-48), .fp = SLOT(-72)},
		{.cfa = REG(15, 320), .ra = SLOT(-48), .fp = SLOT(-72)},
		{.cfa = REG(11, 320), .fp = SLOT(-72)},
		{.cfa = REG(15, 144), .ra = SLOT(-48)},
		{.flags = SEAM_RULE_OUTERMOST},
	};
	struct func_in func = {.start = 0x400, .size = 0x24, .num_rows = 6};
	struct section s;

	(void)state;
	for (int version = 2; version <= 3; version++) {
		put_one(&s, version, S390X, &func, rows, sizeof(rows));
		for (uint64_t i = 0; i < COUNT(want); i++)
			check_rule(&s, 0x400 + 6 * i, &want[i]);
	}
	/* V1 knows no such ABI. */
	put_one(&s, 1, S390X, &func, rows, sizeof(rows));
	assert_int_equal(
		seam_sframe_open(&(struct seam_sframe){0}, s.bytes, s.size),
		SEAM_SFRAME_ABI);
}

/* V2: an odd word is a register's number. In V3 it is an offset as any. */
static void s390x_registers(void **state)
{
	static const uint8_t rows[] = {
		0x00, 0x07, 0x00, 33,	37, /* RA in f0, FP in f4 */
		0x04, 0x07, 0x00, 0x00, 33, /* RA in r14, FP in f0 */
		0x08, 0x27, 0x00, 0x00, 0xff, 0xd0, 0x00, 63, /* FP in f15 */
	};
	static const struct seam_rule want[] = {
		{.cfa = REG(15, 160), .ra = REG(16, 0), .fp = REG(18, 0)},
		{.cfa = REG(15, 160), .fp = REG(16, 0)},
		{.cfa = REG(15, 160), .ra = SLOT(-48), .fp = REG(31, 0)},
	};
	static const struct seam_rule want3 = {
		.cfa = REG(15, 160), .ra = SLOT(33), .fp = SLOT(37)};
	static const uint8_t bad[] = {0x00, 0x05, 0x00, 0xff};
	struct func_in func = {.start = 0x400, .size = 0x10, .num_rows = 3};
	struct section s;

	(void)state;
	put_one(&s, 2, S390X, &func, rows, sizeof(rows));
	for (uint64_t i = 0; i < COUNT(want); i++)
		check_rule(&s, 0x400 + 4 * i, &want[i]);
	put_one(&s, 3, S390X, &func, rows, sizeof(rows));
	check_rule(&s, 0x400, &want3);
	func.num_rows = 1;
	put_one(&s, 2, S390X, &func, bad, sizeof(bad));
	check_err(&s, 0x400, SEAM_SFRAME_ROW);
}

static void s390x_flex(void **state)
{
	static const uint8_t rows[] = {
		/* CFA = r15+320, RA = *(CFA-48), FP = *(CFA-72) */
		0x00,
		0x0c,
		0x79,
		0x14,
		0x02,
		0xd0,
		0x02,
		0xb8,
		/* CFA = r15+160, RA in f0 */
		0x04,
		0x08,
		0x79,
		0x00,
		0x81,
		0x00,
		/* CFA = *(r11+0*8+160), FP = *(r11+8) */
		0x08,
		0x0a,
		0x5b,
		0x00,
		0x00,
		0x5b,
		0x08,
	};
	static const struct seam_rule want[] = {
		{.cfa = REG(15, 320), .ra = SLOT(-48), .fp = SLOT(-72)},
		{.cfa = REG(15, 160), .ra = REG(16, 0)},
		{.cfa = MEM(11, 160), .fp = MEM(11, 8)},
	};
	struct func_in func = {
		.start = 0x400, .size = 0x10, .num_rows = 3, .info2 = 1};
	struct section s;

	(void)state;
	put_one(&s, 3, S390X, &func, rows, sizeof(rows));
	for (uint64_t i = 0; i < COUNT(want); i++)
		check_rule(&s, 0x400 + 4 * i, &want[i]);
	/* V2 has no such functions: the byte there is another. */
	func.rep_size = 1;
	put_one(&s, 2, S390X, &func, rows, sizeof(rows));
	check_err(&s, 0x400, SEAM_SFRAME_ROW);
}

/* A scaled offset that 32 bits do not hold is none. */
static void s390x_overflow(void **state)
{
	static const uint8_t over[] = {0x00, 0x43, 0x10, 0x00, 0x00, 0x00};
	static const uint8_t most[] = {0x00, 0x43, 0x0f, 0xff, 0xff, 0xeb};
	static const struct seam_rule want = {.cfa = REG(15, 0x7ffffff8)};
	struct func_in func = {.start = 0x400, .size = 8, .num_rows = 1};
	struct section s;

	(void)state;
	put_one(&s, 3, S390X, &func, over, sizeof(over));
	check_err(&s, 0x400, SEAM_SFRAME_ROW);
	put_one(&s, 3, S390X, &func, most, sizeof(most));
	check_rule(&s, 0x400, &want);
}

/* What FLEX rows must not say. amd64, and a register of aarch64 that no
 * assembler means: GNU as 2.47 writes 0xfffffffb for it. */
static void bad_flex(void **state)
{
	static const struct {
		uint8_t bytes[20], size;
	} rows[] = {
		{{0, 0x04, 0x02, 0x08}, 4}, /* CFA from the CFA */
		{{0, 0x04, 0x3d, 0x08}, 4}, /* unused bit */
		{{0, 0x02, 0x39}, 3}, /* no offset */
		{{0, 0x08, 0x39, 0x08, 0x38, 0x00}, 6}, /* RA: no base */
		{{0, 0x0e, 0x39, 8, 2, 0xf0, 2, 0xe8, 0}, 9}, /* a 7th word */
		{{0, 0x44, 0xfb, 0xff, 0xff, 0xff, 8, 0, 0, 0}, 10},
	};
	struct func_in func = {
		.start = 0x400, .size = 8, .num_rows = 1, .info2 = 1};
	struct section s;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		put_one(&s, 3, 3, &func, rows[i].bytes, rows[i].size);
		check_err(&s, 0x400, SEAM_SFRAME_ROW);
	}
	func.info2 = 2;
	put_one(&s, 3, 3, &func, rows[0].bytes, rows[0].size);
	check_err(&s, 0x400, SEAM_SFRAME_FUNC);
}

/* No producer fixes FP, nor RA elsewhere than amd64: as the text says. */
static void fixed_places(void **state)
{
	static const uint8_t rows[] = {0x00, 0x03, 0x10};
	static const struct seam_rule want = {
		.cfa = REG(31, 16), .ra = SLOT(-8), .fp = SLOT(-16)};
	struct func_in func = {.start = 0x400, .size = 8, .num_rows = 1};
	struct section s;

	(void)state;
	put_one(&s, 3, AARCH64_LE, &func, rows, sizeof(rows));
	s.bytes[5] = 0xf0;
	s.bytes[6] = 0xf8;
	check_rule(&s, 0x400, &want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aarch64_default),
		cmocka_unit_test(wide_words),
		cmocka_unit_test(aarch64_key),
		cmocka_unit_test(s390x_default),
		cmocka_unit_test(s390x_registers),
		cmocka_unit_test(s390x_flex),
		cmocka_unit_test(s390x_overflow),
		cmocka_unit_test(bad_flex),
		cmocka_unit_test(fixed_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
