// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: each shape of CFI that real code has becomes the rule that
 * says the same, and each that SFrame cannot hold becomes a hole with its
 * reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sframe/from-cfi.h"

#define FP 6
#define SP 7
#define IP 16
#define EXPR(...)                                                              \
	(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* What every function begins with: CFA = rsp + 8, RA at CFA - 8. */
static struct seam_cfi_row usual(void)
{
	struct seam_cfi_row row = {.start = 0x1000,
				   .end = 0x1010,
				   .func_start = 0x1000,
				   .func_end = 0x1010,
				   .cfa_reg = SP,
				   .cfa_off = 8};

	row.regs[IP].how = SEAM_CFI_OFFSET;
	row.regs[IP].off = -8;
	return row;
}

static void set_cfa(struct seam_cfi_row *row, const uint8_t *expr, size_t len)
{
	row->cfa_is_expr = true;
	row->cfa_reg = 0xff;
	row->cfa_off = 0;
	row->cfa_expr = expr;
	row->cfa_expr_len = len;
}

static void set_reg(struct seam_cfi_row *row, int reg, enum seam_cfi_how how,
		    const uint8_t *expr, size_t len)
{
	row->regs[reg] = (struct seam_cfi_reg){
		.how = (uint8_t)how, .expr = expr, .expr_len = len};
}

static struct seam_rule convert(const struct seam_cfi_row *row, uint32_t flags)
{
	struct seam_rule rule = {0};

	assert_int_equal(seam_rule_from_cfi(row, flags, &rule), SEAM_HOLE_NONE);
	return rule;
}

static void expect_hole(const struct seam_cfi_row *row, enum seam_hole why)
{
	struct seam_rule rule;

	assert_int_equal(seam_rule_from_cfi(row, 0, &rule), why);
}

static void check_value(const struct seam_value *v, enum seam_value_kind kind,
			uint8_t reg, int32_t off)
{
	assert_int_equal(v->kind, kind);
	assert_int_equal(v->reg, reg);
	assert_int_equal(v->off, off);
}

static void test_plain(void **state)
{
	struct seam_cfi_row row = usual();
	struct seam_rule rule = convert(&row, 0);

	(void)state;
	check_value(&rule.cfa, SEAM_REG_OFF, SP, 8);
	assert_int_equal(rule.ra.kind, SEAM_SAME);
	assert_int_equal(rule.fp.kind, SEAM_SAME);
	assert_int_equal(rule.flags, 0);

	row.cfa_reg = FP;
	row.cfa_off = 16;
	row.regs[FP].how = SEAM_CFI_OFFSET;
	row.regs[FP].off = -16;
	row.regs[3].how = SEAM_CFI_UNDEFINED; /* nobody's business */
	rule = convert(&row, 0);
	check_value(&rule.cfa, SEAM_REG_OFF, FP, 16);
	check_value(&rule.fp, SEAM_CFA_DEREF, 0, -16);
}

static void test_registers(void **state)
{
	struct seam_cfi_row row = usual();
	struct seam_rule rule;

	(void)state;
	row.cfa_reg = 10;
	row.cfa_off = 0;
	row.regs[IP] =
		(struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 2};
	row.regs[FP] =
		(struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 11};
	rule = convert(&row, 0);
	check_value(&rule.cfa, SEAM_REG_OFF, 10, 0);
	check_value(&rule.ra, SEAM_REG_OFF, 2, 0);
	check_value(&rule.fp, SEAM_REG_OFF, 11, 0);

	row.regs[IP] =
		(struct seam_cfi_reg){.how = SEAM_CFI_OFFSET, .off = -16};
	rule = convert(&row, 0);
	check_value(&rule.ra, SEAM_CFA_DEREF, 0, -16);

	row.cfa_reg = 16;
	expect_hole(&row, SEAM_HOLE_CFA_REG);
	row.cfa_reg = 0xff; /* what the reader says of xmm0 */
	expect_hole(&row, SEAM_HOLE_CFA_REG);
}

/* GCC's realigned stack: CFA = *(rbp - 8), FP = *rbp. */
static void test_drap(void **state)
{
	struct seam_cfi_row row = usual();
	struct seam_rule rule;

	(void)state;
	set_cfa(&row, EXPR(0x76, 0x78, 0x06));
	set_reg(&row, FP, SEAM_CFI_EXPRESSION, EXPR(0x76, 0x00));
	rule = convert(&row, 0);
	check_value(&rule.cfa, SEAM_REG_DEREF, FP, -8);
	check_value(&rule.fp, SEAM_REG_DEREF, FP, 0);
	assert_int_equal(rule.cfa_add, 0);
}

/* OpenSSL: CFA = *(rsp + 152) + 8, however the sum is spelled. */
static void test_deref_add(void **state)
{
	const struct {
		const uint8_t *expr;
		size_t len;
	} spelled[] = {
		{EXPR(0x77, 0x98, 0x01, 0x06, 0x23, 0x08)},
		{EXPR(0x77, 0x98, 0x01, 0x06, 0x38, 0x22)},
		{EXPR(0x77, 0x98, 0x01, 0x06, 0x08, 0x08, 0x22)},
		{EXPR(0x38, 0x77, 0x98, 0x01, 0x06, 0x22)},
		{EXPR(0x77, 0x18, 0x23, 0x80, 0x01, 0x06, 0x09, 0xf8, 0x1c)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(spelled) / sizeof(spelled[0]); i++) {
		struct seam_cfi_row row = usual();
		struct seam_rule rule;

		set_cfa(&row, spelled[i].expr, spelled[i].len);
		rule = convert(&row, SEAM_FROM_CFI_ADD);
		check_value(&rule.cfa, SEAM_REG_DEREF, SP, 152);
		assert_int_equal(rule.cfa_add, 8);
		/* A file cannot say it. */
		expect_hole(&row, SEAM_HOLE_CFA_EXPR);
	}
}

/* glibc's __restore_rt: everything comes from the ucontext. */
static void test_signal(void **state)
{
	struct seam_cfi_row row = usual();
	struct seam_rule rule;

	(void)state;
	row.signal = true;
	set_cfa(&row, EXPR(0x77, 0xa0, 0x01, 0x06));
	set_reg(&row, SP, SEAM_CFI_EXPRESSION, EXPR(0x77, 0xa0, 0x01));
	set_reg(&row, IP, SEAM_CFI_EXPRESSION, EXPR(0x77, 0xa8, 0x01));
	set_reg(&row, FP, SEAM_CFI_EXPRESSION, EXPR(0x77, 0xf8, 0x00));
	rule = convert(&row, 0);
	check_value(&rule.cfa, SEAM_REG_DEREF, SP, 160);
	check_value(&rule.ra, SEAM_REG_DEREF, SP, 168);
	check_value(&rule.fp, SEAM_REG_DEREF, SP, 120);
	assert_int_equal(rule.flags, SEAM_RULE_SIGNAL);

	/* SP from another word than the CFA's is not the CFA. */
	set_reg(&row, SP, SEAM_CFI_EXPRESSION, EXPR(0x77, 0xa8, 0x01));
	expect_hole(&row, SEAM_HOLE_SP);
}

static void test_outermost(void **state)
{
	struct seam_cfi_row row = usual();
	struct seam_rule rule;

	(void)state;
	row.regs[IP].how = SEAM_CFI_UNDEFINED;
	/* Nothing else matters then. */
	row.regs[FP].how = SEAM_CFI_VAL_EXPRESSION;
	set_cfa(&row, EXPR(0xff));
	rule = convert(&row, 0);
	assert_int_equal(rule.flags, SEAM_RULE_OUTERMOST);
}

static void test_sp(void **state)
{
	struct seam_cfi_row row = usual();

	(void)state;
	row.regs[SP].how = SEAM_CFI_VAL_OFFSET;
	convert(&row, 0);
	row.regs[SP].off = 8;
	expect_hole(&row, SEAM_HOLE_SP);
	row.regs[SP] = (struct seam_cfi_reg){.how = SEAM_CFI_REGISTER};
	expect_hole(&row, SEAM_HOLE_SP);
	row.regs[SP] = (struct seam_cfi_reg){.how = SEAM_CFI_UNDEFINED};
	expect_hole(&row, SEAM_HOLE_SP);
	row.regs[SP] = (struct seam_cfi_reg){.how = SEAM_CFI_OFFSET};
	expect_hole(&row, SEAM_HOLE_SP);
}

static void test_fp_and_ra_holes(void **state)
{
	struct seam_cfi_row row;

	(void)state;
	row = usual();
	row.regs[FP].how = SEAM_CFI_UNDEFINED;
	expect_hole(&row, SEAM_HOLE_FP);
	row.regs[FP].how = SEAM_CFI_VAL_OFFSET;
	expect_hole(&row, SEAM_HOLE_FP);
	set_reg(&row, FP, SEAM_CFI_VAL_EXPRESSION, EXPR(0x23, 0x10));
	expect_hole(&row, SEAM_HOLE_FP);
	set_reg(&row, FP, SEAM_CFI_EXPRESSION, EXPR(0x76, 0x00, 0x06));
	expect_hole(&row, SEAM_HOLE_FP); /* two loads */
	row.regs[FP] =
		(struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 16};
	expect_hole(&row, SEAM_HOLE_FP);
	row = usual();
	row.regs[IP].how = SEAM_CFI_SAME;
	expect_hole(&row, SEAM_HOLE_RA);
	row.regs[IP].how = SEAM_CFI_VAL_OFFSET;
	expect_hole(&row, SEAM_HOLE_RA);
}

/* A value that an expression is, or that lies where it points. */
static void test_values(void **state)
{
	struct seam_cfi_row row = usual();
	struct seam_rule rule;

	(void)state;
	set_reg(&row, FP, SEAM_CFI_VAL_EXPRESSION, EXPR(0x76, 0x10));
	rule = convert(&row, 0);
	check_value(&rule.fp, SEAM_REG_OFF, FP, 16);
	set_reg(&row, FP, SEAM_CFI_VAL_EXPRESSION, EXPR(0x76, 0x10, 0x06));
	rule = convert(&row, 0);
	check_value(&rule.fp, SEAM_REG_DEREF, FP, 16);
	set_reg(&row, FP, SEAM_CFI_VAL_EXPRESSION, EXPR(0x23, 0x10, 0x06));
	rule = convert(&row, 0);
	check_value(&rule.fp, SEAM_CFA_DEREF, 0, 16);
	set_reg(&row, FP, SEAM_CFI_VAL_EXPRESSION,
		EXPR(0x76, 0x10, 0x06, 0x23, 0x08));
	expect_hole(&row, SEAM_HOLE_FP);
}

static void test_column(void **state)
{
	struct seam_cfi_row row = usual();

	(void)state;
	row.odd_column = true;
	expect_hole(&row, SEAM_HOLE_COLUMN);
	row.regs[IP].how = SEAM_CFI_UNDEFINED;
	expect_hole(&row, SEAM_HOLE_COLUMN);
}

static void test_range(void **state)
{
	struct seam_cfi_row row = usual();

	(void)state;
	row.cfa_off = INT32_MAX;
	convert(&row, 0);
	row.cfa_off = (int64_t)INT32_MAX + 1;
	expect_hole(&row, SEAM_HOLE_RANGE);
	row = usual();
	row.regs[FP] = (struct seam_cfi_reg){.how = SEAM_CFI_OFFSET,
					     .off = (int64_t)INT32_MIN - 1};
	expect_hole(&row, SEAM_HOLE_RANGE);
	row.regs[FP].how = SEAM_CFI_SAME;
	row.regs[IP].off = INT64_MIN;
	expect_hole(&row, SEAM_HOLE_RANGE);
	/* rbp + 2^62: more than 32 bits, but no overflow */
	row = usual();
	set_cfa(&row, EXPR(0x76, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			   0x3f));
	expect_hole(&row, SEAM_HOLE_RANGE);
}

static void test_expressions_refused(void **state)
{
	const struct {
		const uint8_t *expr;
		size_t len;
	} bad[] = {
		{(const uint8_t *)"", 0}, /* nothing on the stack */
		{EXPR(0x76)}, /* breg without its offset */
		{EXPR(0x76, 0x80)},
		{EXPR(0x76, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		      0x80, 0x01)},
		{EXPR(0x06)}, /* deref of nothing */
		{EXPR(0x38)}, /* a constant */
		{EXPR(0x38, 0x06)}, /* a fixed address */
		{EXPR(0x22)}, /* plus without values */
		{EXPR(0x76, 0x00, 0x22)},
		{EXPR(0x76, 0x00, 0x77, 0x00, 0x22)}, /* two registers */
		{EXPR(0x38, 0x76, 0x00, 0x1c)}, /* constant - register */
		{EXPR(0x76, 0x00, 0x06, 0x06)}, /* two loads */
		{EXPR(0x76, 0x00, 0x0c, 0x01, 0x02)}, /* cut const4u */
		{EXPR(0x80, 0x00)}, /* ip */
		{EXPR(0x96, 0x76, 0x00, 0x12)}, /* dup */
		{EXPR(0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seam_cfi_row row = usual();

		set_cfa(&row, bad[i].expr, bad[i].len);
		expect_hole(&row, SEAM_HOLE_CFA_EXPR);
	}
}

static void test_plt(void **state)
{
	struct seam_cfi_row row = usual();
	struct seam_rule below, above, rule;
	struct seam_plt_cfa plt;

	(void)state;
	set_cfa(&row, EXPR(0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
			   0x24, 0x22));
	assert_int_equal(seam_rule_from_cfi(&row, 0, &rule),
			 SEAM_HOLE_CFA_EXPR);
	assert_true(seam_plt_from_cfi(&row, &plt, &below, &above));
	assert_int_equal(plt.block, 16);
	assert_int_equal(plt.from, 11);
	check_value(&below.cfa, SEAM_REG_OFF, SP, 8);
	check_value(&above.cfa, SEAM_REG_OFF, SP, 16);
	/* An FP rule that is a hole stays one. */
	row.regs[FP].how = SEAM_CFI_UNDEFINED;
	assert_false(seam_plt_from_cfi(&row, &plt, &below, &above));
}

static void test_plt_refused(void **state)
{
	const struct {
		const uint8_t *expr;
		size_t len;
	} bad[] = {
		/* rbp; ip + 1; mask 14; from 16; from 0; gt; cut; more */
		{EXPR(0x76, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
		      0x22)},
		{EXPR(0x77, 8, 0x80, 1, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
		      0x22)},
		{EXPR(0x77, 8, 0x80, 0, 0x3e, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
		      0x22)},
		{EXPR(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x40, 0x2a, 0x33, 0x24,
		      0x22)},
		{EXPR(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24,
		      0x22)},
		{EXPR(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2b, 0x33, 0x24,
		      0x22)},
		{EXPR(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24)},
		{EXPR(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
		      0x22, 0x06)},
	};
	const struct seam_cfi_row plain = usual();
	struct seam_rule below, above;
	struct seam_plt_cfa plt;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seam_cfi_row row = usual();

		set_cfa(&row, bad[i].expr, bad[i].len);
		assert_false(seam_plt_from_cfi(&row, &plt, &below, &above));
	}
	/* Nor is a CFA that is no expression, and has no bytes. */
	assert_false(seam_plt_from_cfi(&plain, &plt, &below, &above));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_drap),
		cmocka_unit_test(test_deref_add),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_outermost),
		cmocka_unit_test(test_sp),
		cmocka_unit_test(test_fp_and_ra_holes),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_column),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_expressions_refused),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_plt_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
