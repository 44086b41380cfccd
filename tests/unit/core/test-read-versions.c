// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what the versions of SFrame differ in besides rows: where a
 * function starts, the order of functions, blocks, functions without rows. */
#include "section.h"

static const uint8_t plain[] = {
	0x00, 0x03, 0x08, /* CFA = rsp + 8 */
	0x01, 0x05, 0x10, 0xf0, /* rsp + 16, FP at CFA - 16 */
	0x04, 0x04, 0x10, 0xf0, /* rbp + 16 */
};
static const struct seam_rule plain_rules[] = {
	{.cfa = REG(7, 8)},
	{.cfa = REG(7, 16), .fp = SLOT(-16)},
	{.cfa = REG(6, 16), .fp = SLOT(-16)},
};

static void check_plain(const struct section *s, uint64_t start)
{
	check_err(s, start - 1, SEAM_NO_RULE);
	check_rule(s, start, &plain_rules[0]);
	check_rule(s, start + 1, &plain_rules[1]);
	check_rule(s, start + 3, &plain_rules[1]);
	check_rule(s, start + 4, &plain_rules[2]);
	check_rule(s, start + 7, &plain_rules[2]);
	check_err(s, start + 8, SEAM_NO_RULE);
}

/* The same function, its start counted as each version and flag has it. */
static void anchors(void **state)
{
	static const struct {
		int version, flags;
		int64_t start;
	} cases[] = {
		{1, 0x1, 0x1000}, /* from the section's first byte */
		{2, 0x1, 0x1000},
		{2, 0x5, 0x1000 - 28}, /* from the field */
		{3, 0x5, 0x1000 - 28},
		{3, 0x1, 0x1000}, /* nobody writes it */
	};
	struct func_in func = {.size = 8, .num_rows = 3};
	struct section s;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int version = cases[i].version;

		func.start = cases[i].start;
		put_header(&s, version, cases[i].flags, 3, 1, 3,
			   sizeof(plain) + (version == 3 ? 5 : 0));
		put_func(&s, version, &func);
		if (version == 3)
			put_bytes(&s, (const uint8_t[]){3, 0, 0, 0, 0}, 5);
		put_bytes(&s, plain, sizeof(plain));
		check_plain(&s, 0x1000);
	}
}

/* Text may lie in front of the section. */
static void negative_starts(void **state)
{
	struct func_in func = {.start = -0x1000, .size = 8, .num_rows = 3};
	struct section s;

	(void)state;
	for (int version = 1; version <= 3; version++) {
		put_one(&s, version, 3, &func, plain, sizeof(plain));
		check_plain(&s, (uint64_t)-0x1000);
	}
}

/* A relocated V1 or V2 object has starts from the field, and no flag. */
static void relocatable(void **state)
{
	struct func_in func = {.start = 0x1000 - 28, .size = 8, .num_rows = 3};
	struct seam_sframe sf;
	struct seam_rule rule;
	struct section s;

	(void)state;
	for (int version = 1; version <= 2; version++) {
		put_header(&s, version, 0, 3, 1, 3, sizeof(plain));
		put_func(&s, version, &func);
		put_bytes(&s, plain, sizeof(plain));
		sf = open_it(&s);
		assert_int_equal(seam_sframe_start(&sf, 0), 0x1000 - 28);
		seam_sframe_set_relocatable(&sf);
		assert_int_equal(seam_sframe_start(&sf, 0), 0x1000);
		assert_int_equal(seam_sframe_find(&sf, 0x1004, &rule), 0);
	}
}

/* Three functions of which the second is empty, in every order, with and
 * without the flag where the order is one of the right ones. */
static void orders(void **state)
{
	static const uint8_t rows[] = {0, 0x03, 8, 0, 0x03, 16, 0, 0x03, 24};
	static const struct func_in funcs[] = {
		{.start = 0x100, .size = 8, .fre_off = 0, .num_rows = 1},
		{.start = 0x108, .size = 0, .fre_off = 3, .num_rows = 1},
		{.start = 0x108, .size = 8, .fre_off = 6, .num_rows = 1},
	};
	static const struct {
		uint8_t order[3], flags;
	} cases[] = {
		{{0, 1, 2}, 0}, {{0, 2, 1}, 0}, {{1, 0, 2}, 0}, {{1, 2, 0}, 0},
		{{2, 0, 1}, 0}, {{2, 1, 0}, 0}, {{0, 1, 2}, 1}, {{0, 2, 1}, 1},
	};
	static const struct seam_rule want0 = {.cfa = REG(7, 8)};
	static const struct seam_rule want2 = {.cfa = REG(7, 24)};
	struct section s;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		put_header(&s, 2, cases[i].flags, 3, 3, 3, sizeof(rows));
		for (int j = 0; j < 3; j++)
			put_func(&s, 2, &funcs[cases[i].order[j]]);
		put_bytes(&s, rows, sizeof(rows));
		check_err(&s, 0xff, SEAM_NO_RULE);
		check_rule(&s, 0x100, &want0);
		check_rule(&s, 0x107, &want0);
		check_rule(&s, 0x108, &want2);
		check_rule(&s, 0x10f, &want2);
		check_err(&s, 0x110, SEAM_NO_RULE);
	}
}

/* A PLT: blocks of 16, the CFA moves at 11. V1 has masks instead, which are
 * right at 0, 6 and 11, where a stub's instructions begin. */
static void blocks(void **state)
{
	static const uint8_t rows[] = {0, 0x03, 8, 11, 0x03, 16};
	static const struct seam_rule want[] = {{.cfa = REG(7, 8)},
						{.cfa = REG(7, 16)}};
	static const uint8_t starts[] = {0, 6, 11};
	struct func_in func = {.start = 0x1000,
			       .size = 0x40,
			       .num_rows = 2,
			       .info = 0x10,
			       .rep_size = 16};
	struct section s;

	(void)state;
	for (int version = 1; version <= 3; version++) {
		put_one(&s, version, 3, &func, rows, sizeof(rows));
		for (uint64_t pc = 0x1000; pc < 0x1040; pc += 16)
			for (size_t i = 0; i < COUNT(starts); i++)
				check_rule(&s, pc + starts[i], &want[i == 2]);
		for (uint64_t pc = 0x1000; version > 1 && pc < 0x1040; pc++)
			check_rule(&s, pc, &want[(pc & 15) >= 11]);
		check_err(&s, 0x1040, SEAM_NO_RULE);
	}
	/* No modulo by 0. */
	func.rep_size = 0;
	put_one(&s, 2, 3, &func, rows, sizeof(rows));
	check_err(&s, 0x1000, SEAM_SFRAME_FUNC);
	put_one(&s, 3, 3, &func, rows, sizeof(rows));
	check_err(&s, 0x1000, SEAM_SFRAME_FUNC);
}

/* Functions that begin before their first row, and have none at all. */
static void without_rows(void **state)
{
	static const uint8_t late[] = {0x04, 0x03, 0x08};
	static const struct seam_rule outermost = {
		.flags = SEAM_RULE_OUTERMOST | SEAM_RULE_NO_ROWS};
	struct func_in func = {.start = 0x1000, .size = 8, .num_rows = 1};
	struct section s;

	(void)state;
	for (int version = 1; version <= 3; version++) {
		func.num_rows = 1;
		put_one(&s, version, 3, &func, late, sizeof(late));
		check_err(&s, 0x1003, SEAM_NO_RULE);
		check_rule(&s, 0x1004, &plain_rules[0]);
		func.num_rows = 0;
		put_one(&s, version, 3, &func, late, 0);
		if (version == 3)
			check_rule(&s, 0x1000, &outermost);
		else
			check_err(&s, 0x1000, SEAM_NO_RULE);
	}
	func.info2 = SEAM_SFRAME_FDE_FLEX;
	put_one(&s, 3, 3, &func, late, 0);
	check_err(&s, 0x1000, SEAM_NO_RULE);
}

/* A signal trampoline without rows: the registers are where the kernel's ABI
 * puts them, which is what glibc's and the vDSO's own CFI says. */
static void signal_without_rows(void **state)
{
	static const struct seam_rule want[] = {
		{.cfa_add = 0},
		{.cfa = MEM(31, 560), .ra = MEM(31, 568), .fp = MEM(31, 544)},
		{.cfa = MEM(31, 560), .ra = MEM(31, 568), .fp = MEM(31, 544)},
		{.cfa = MEM(7, 160), .ra = MEM(7, 168), .fp = MEM(7, 120)},
		{.cfa = MEM(15, 472),
		 .ra = MEM(15, 344),
		 .fp = MEM(15, 440),
		 .cfa_add = 160},
	};
	struct func_in func = {.start = 0x1000, .size = 8, .info = 0x80};
	struct section s;

	(void)state;
	for (int abi = 1; abi <= 4; abi++) {
		struct seam_rule rule = want[abi];

		rule.flags = SEAM_RULE_SIGNAL | SEAM_RULE_NO_ROWS;
		put_one(&s, 3, abi, &func, plain, 0);
		check_rule(&s, 0x1000, &rule);
	}
	/* Bit 7 means nothing in V2. */
	put_one(&s, 2, 3, &func, plain, 0);
	check_err(&s, 0x1000, SEAM_NO_RULE);
	func.num_rows = 3;
	put_one(&s, 2, 3, &func, plain, sizeof(plain));
	check_rule(&s, 0x1000, &plain_rules[0]);
}

/* An auxiliary header, and gaps between the parts, are stepped over. */
static void gaps(void **state)
{
	struct func_in func = {
		.start = 0x1000 - 28 - 3 - 5, .size = 8, .num_rows = 3};
	struct section s;

	(void)state;
	put_header(&s, 2, 5, 3, 1, 3, sizeof(plain));
	s.bytes[7] = 3; /* auxiliary */
	s.bytes[20] = 5; /* index, from its end */
	s.bytes[24] = 5 + 20 + 2; /* rows */
	put(&s, 0, 3 + 5);
	put_func(&s, 2, &func);
	put(&s, 0, 2);
	put_bytes(&s, plain, sizeof(plain));
	check_plain(&s, 0x1000);
	s.bytes[24] = 5 + 19; /* inside the index */
	assert_int_equal(
		seam_sframe_open(&(struct seam_sframe){0}, s.bytes, s.size),
		SEAM_SFRAME_LAYOUT);
}

/* What a dumper walks. */
static void iteration(void **state)
{
	static const uint32_t starts[] = {0, 1, 4}, sizes[] = {3, 4, 4};
	struct func_in in = {.start = 0x1000, .size = 8, .num_rows = 3};
	struct seam_sframe_func func = {0};
	struct seam_sframe_row row = {0};
	struct seam_sframe sf;
	struct section s;

	(void)state;
	for (int version = 1; version <= 3; version++) {
		put_one(&s, version, 3, &in, plain, sizeof(plain));
		sf = open_it(&s);
		assert_int_equal(sf.version, version);
		assert_int_equal(sf.num_fdes, 1);
		assert_int_equal(sf.num_fres, 3);
		assert_int_equal(seam_sframe_func_at(&sf, 0, &func), 0);
		assert_int_equal(func.start, 0x1000);
		assert_int_equal(func.size, 8);
		assert_int_equal(func.num_rows, 3);
		assert_int_equal(func.at, 28);
		row.next = func.rows;
		for (size_t i = 0; i < 3; i++) {
			uint32_t at = row.next;

			assert_int_equal(
				seam_sframe_row_at(&sf, &func, at, &row), 0);
			assert_int_equal(row.at, at);
			assert_int_equal(row.start, starts[i]);
			assert_int_equal(row.next - row.at, sizes[i]);
			assert_int_equal(SEAM_SFRAME_FRE_COUNT(row.info),
					 i ? 2 : 1);
			assert_int_equal(seam_sframe_word(&sf, &row, 0),
					 i ? 16 : 8);
		}
		assert_int_equal(row.next, s.size);
		assert_int_equal(seam_sframe_row_at(&sf, &func, row.next, &row),
				 SEAM_SFRAME_ROW);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchors),
		cmocka_unit_test(negative_starts),
		cmocka_unit_test(relocatable),
		cmocka_unit_test(orders),
		cmocka_unit_test(blocks),
		cmocka_unit_test(without_rows),
		cmocka_unit_test(signal_without_rows),
		cmocka_unit_test(gaps),
		cmocka_unit_test(iteration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
