/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: each operation of a DWARF expression, and a step by a row:
 * which registers the caller has, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

#include "cfi/private.h"
#include "core/err.h"
#include "written.h"

#define BIAS 0x700000
#define UNREADABLE 0xbad000

/* Each address holds 0x..f6f5f4f3f2f1f0 plus itself, cut to its size. */
static int read_test(void *ctx, uint64_t avma, size_t size, uint64_t *ret)
{
	uint64_t v = 0xf7f6f5f4f3f2f1f0 + avma;

	(void)ctx;
	assert_in_range(size, 1, 8);
	if (avma >= UNREADABLE && avma < UNREADABLE + 0x1000)
		return -EFAULT;
	*ret = size == 8 ? v : v & ((UINT64_C(1) << 8 * size) - 1);
	return 0;
}

/* r[n] = 0x1000 * n + 8; r11 is not known. */
static struct seam_regs test_regs(void)
{
	struct seam_regs regs = {.valid = 0x1ffff & ~(1u << 11)};

	for (unsigned int i = 0; i < SEAM_CFI_REGS; i++)
		regs.r[i] = 0x1000 * i + 8;
	return regs;
}

struct expr_case {
	struct bytes expr;
	uint64_t value;
};

static const struct expr_case values[] = {
	{BYTES(0x03, 1, 2, 3, 4, 5, 6, 7, 8), 0x0807060504030201 + BIAS},
	{BYTES(0x08, 0xff), 0xff},
	{BYTES(0x09, 0xff), UINT64_MAX},
	{BYTES(0x0a, 0x00, 0x80), 0x8000},
	{BYTES(0x0b, 0x00, 0x80), 0xffffffffffff8000},
	{BYTES(0x0c, 0, 0, 0, 0x80), 0x80000000},
	{BYTES(0x0d, 0, 0, 0, 0x80), 0xffffffff80000000},
	{BYTES(0x0e, 1, 2, 3, 4, 5, 6, 7, 8), 0x0807060504030201},
	{BYTES(0x0f, 1, 2, 3, 4, 5, 6, 7, 0x88), 0x8807060504030201},
	{BYTES(0x10, 0xe5, 0x8e, 0x26), 624485},
	{BYTES(0x11, 0x80, 0x7f), -128ull},
	{BYTES(0x11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	       0x7f),
	 UINT64_C(1) << 63},
	{BYTES(0x30), 0},
	{BYTES(0x4f), 31},
	{BYTES(0x70, 0), 8},
	{BYTES(0x77, 8), 0x7010},
	{BYTES(0x77, 0x78), 0x7000},
	{BYTES(0x80, 0), 0x10008},
	{BYTES(0x92, 6, 8), 0x6010},
	{BYTES(0x77, 0x78, 0x06), 0xf7f6f5f4f3f2f1f0 + 0x7000},
	{BYTES(0x77, 0x78, 0x94, 1), 0xf0},
	{BYTES(0x77, 0x78, 0x94, 2), 0x61f0},
	{BYTES(0x77, 0x78, 0x94, 4), 0xf3f361f0},
	{BYTES(0x33, 0x12, 0x22), 6}, /* dup */
	{BYTES(0x33, 0x34, 0x13), 3}, /* drop */
	{BYTES(0x33, 0x34, 0x14), 3}, /* over */
	{BYTES(0x33, 0x34, 0x35, 0x15, 2), 3}, /* pick */
	{BYTES(0x33, 0x34, 0x35, 0x15, 0), 5},
	{BYTES(0x39, 0x34, 0x16, 0x1c), 4 - 9ull}, /* swap */
	/* rot: 1 2 3 becomes 3 1 2; the middle, then the bottom */
	{BYTES(0x31, 0x32, 0x33, 0x17), 2},
	{BYTES(0x31, 0x32, 0x33, 0x17, 0x13), 1},
	{BYTES(0x31, 0x32, 0x33, 0x17, 0x13, 0x13), 3},
	{BYTES(0x09, 0xf6, 0x19), 10}, /* abs */
	{BYTES(0x39, 0x19), 9},
	{BYTES(0x3c, 0x3a, 0x1a), 8}, /* and */
	{BYTES(0x09, 0xf6, 0x33, 0x1b), -3ull}, /* div */
	{BYTES(0x3a, 0x09, 0xff, 0x1b), -10ull},
	{BYTES(0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b),
	 UINT64_C(1) << 63},
	{BYTES(0x33, 0x35, 0x1c), -2ull}, /* minus */
	{BYTES(0x3a, 0x33, 0x1d), 1}, /* mod */
	{BYTES(0x09, 0xff, 0x40, 0x1d), 15},
	{BYTES(0x33, 0x35, 0x1e), 15}, /* mul */
	{BYTES(0x33, 0x1f), -3ull}, /* neg */
	{BYTES(0x33, 0x20), ~3ull}, /* not */
	{BYTES(0x33, 0x38, 0x21), 11}, /* or */
	{BYTES(0x33, 0x38, 0x22), 11}, /* plus */
	{BYTES(0x33, 0x23, 0x80, 0x01), 131}, /* plus_uconst */
	{BYTES(0x33, 0x34, 0x24), 0x30}, /* shl */
	{BYTES(0x33, 0x08, 64, 0x24), 0},
	{BYTES(0x09, 0xff, 0x08, 60, 0x25), 15}, /* shr */
	{BYTES(0x09, 0xff, 0x08, 64, 0x25), 0},
	{BYTES(0x09, 0xf0, 0x32, 0x26), -4ull}, /* shra */
	{BYTES(0x09, 0xf0, 0x08, 99, 0x26), UINT64_MAX},
	{BYTES(0x33, 0x36, 0x27), 5}, /* xor */
	{BYTES(0x33, 0x33, 0x29), 1}, /* eq */
	{BYTES(0x33, 0x09, 0xff, 0x2a), 1}, /* ge, signed */
	{BYTES(0x33, 0x33, 0x2a), 1},
	{BYTES(0x09, 0xff, 0x33, 0x2b), 0}, /* gt */
	{BYTES(0x33, 0x33, 0x2c), 1}, /* le */
	{BYTES(0x09, 0xff, 0x33, 0x2d), 1}, /* lt */
	{BYTES(0x33, 0x33, 0x2e), 0}, /* ne */
	{BYTES(0x33, 0x2f, 1, 0, 0x34), 3}, /* skip to the end */
	{BYTES(0x33, 0x31, 0x28, 1, 0, 0x34), 3}, /* bra, taken */
	{BYTES(0x33, 0x30, 0x28, 1, 0, 0x34), 4}, /* bra, not taken */
	/* a loop: 5 counted down to 0, 3 added each time */
	{BYTES(0x30, 0x35, 0x16, 0x23, 3, 0x16, 0x31, 0x1c, 0x12, 0x28, 0xf6,
	       0xff, 0x13),
	 15},
	{BYTES(0x96, 0x33, 0x96), 3}, /* nop */
	/* the PLT's: 8 above sp, 16 in the second half of a 16-byte stub */
	{BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
	 0x7010},
};

static const struct bytes refused[] = {
	BYTES(0x96), /* leaves nothing */
	BYTES(0x01), /* no such operation */
	BYTES(0x50), /* a register is no value */
	BYTES(0x90, 0),
	BYTES(0x91, 0), /* no frame base here */
	BYTES(0x97), /* no object */
	BYTES(0x9c), /* no CFA in the CFA */
	BYTES(0x9f),
	BYTES(0x33, 0x18), /* one address space */
	BYTES(0xe0),
	BYTES(0x03, 1, 2, 3), /* cut */
	BYTES(0x0c, 1),
	BYTES(0x10, 0x80),
	BYTES(0x77),
	BYTES(0x92, 7),
	BYTES(0x33, 0x94),
	BYTES(0x33, 0x15),
	BYTES(0x33, 0x2f, 1),
	BYTES(0x7b, 0), /* r11 is not known */
	BYTES(0x92, 11, 0),
	BYTES(0x81, 0), /* r17 is not followed */
	BYTES(0x92, 17, 0),
	BYTES(0x92, 0xff, 0xff, 0xff, 0xff, 0x0f, 0),
	BYTES(0x06), /* nothing on the stack */
	BYTES(0x12),
	BYTES(0x13),
	BYTES(0x33, 0x14),
	BYTES(0x33, 0x15, 1),
	BYTES(0x33, 0x16),
	BYTES(0x33, 0x33, 0x17),
	BYTES(0x33, 0x22),
	BYTES(0x33, 0x29),
	BYTES(0x1f),
	BYTES(0x23, 1),
	BYTES(0x28, 0, 0),
	BYTES(0x33, 0x30, 0x1b), /* by zero */
	BYTES(0x33, 0x30, 0x1d),
	BYTES(0x33, 0x94, 0), /* deref_size of 0 and of 9 */
	BYTES(0x33, 0x94, 9),
	BYTES(0x33, 0x2f, 1, 0), /* jumps out */
	BYTES(0x33, 0x2f, 0xfb, 0xff),
	BYTES(0x2f, 0xfd, 0xff), /* does not end */
	BYTES(0x33, 0x2f, 0xfc, 0xff), /* fills the stack */
};

static int eval(struct bytes b, uint64_t *ret)
{
	struct seam_regs regs = test_regs();
	struct seam_cfi_target target = {&regs, BIAS, read_test, NULL};

	return seam_cfi_eval(b.p, b.len, NULL, &target, ret);
}

static void expr_values(void **state)
{
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		int rc = eval(values[i].expr, &v);

		if (rc || v != values[i].value)
			fail_msg("value %zu (op %#x): %d, %#" PRIx64, i,
				 values[i].expr.p[0], rc, v);
	}
}

static void expr_refused(void **state)
{
	const struct bytes unreadable =
		BYTES(0x0c, 0x00, 0xd0, 0xba, 0x00, 0x06);
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		v = 42;
		if (eval(refused[i], &v) != -EINVAL || v != 42)
			fail_msg("refused %zu (op %#x)", i, refused[i].p[0]);
	}
	assert_int_equal(eval(unreadable, &v), -EFAULT);
}

static uint64_t word(uint64_t avma)
{
	return 0xf7f6f5f4f3f2f1f0 + avma;
}

static struct seam_cfi_row plain_row(void)
{
	struct seam_cfi_row row = {.cfa_reg = 7, .cfa_off = 16};

	row.regs[16] = (struct seam_cfi_reg){.how = SEAM_CFI_OFFSET, .off = -8};
	return row;
}

static int step(const struct seam_cfi_row *row, struct seam_regs *regs,
		int *ret_end)
{
	struct seam_regs before = *regs;
	int rc;

	*ret_end = 0;
	rc = seam_cfi_step_why(row, regs, BIAS, read_test, NULL, ret_end);
	if (rc != 1)
		assert_memory_equal(regs, &before, sizeof(before));
	else
		assert_int_equal(*ret_end, 0);
	return rc;
}

static void step_defaults(void **state)
{
	struct seam_regs regs = test_regs(), was = regs;
	struct seam_cfi_row row = plain_row();
	int end;

	(void)state;
	assert_int_equal(step(&row, &regs, &end), 1);
	assert_int_equal(regs.r[7], was.r[7] + 16);
	assert_true(regs.r[16] == word(was.r[7] + 8));
	/* rbx, rbp, r12-r15, sp and ip; nothing else */
	assert_int_equal(regs.valid,
			 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16);
	for (int i = 12; i < 16; i++)
		assert_true(regs.r[i] == was.r[i]);
	assert_true(regs.r[3] == was.r[3] && regs.r[6] == was.r[6]);
	/* What was not known before is not known after. */
	regs = was;
	regs.valid &= ~(1u << 12);
	assert_int_equal(step(&row, &regs, &end), 1);
	assert_false(regs.valid & 1u << 12);
}

static void step_rules(void **state)
{
	static const uint8_t above_cfa[] = {0x23, 0x20}; /* plus_uconst 32 */
	struct seam_regs regs = test_regs(), was = regs;
	struct seam_cfi_row row = plain_row();
	uint64_t cfa = was.r[7] + 16;
	int end;

	(void)state;
	row.regs[0] = (struct seam_cfi_reg){.how = SEAM_CFI_OFFSET, .off = -24};
	row.regs[1] =
		(struct seam_cfi_reg){.how = SEAM_CFI_VAL_OFFSET, .off = 40};
	row.regs[2] = (struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 5};
	row.regs[3] = (struct seam_cfi_reg){.how = SEAM_CFI_UNDEFINED};
	row.regs[6] = (struct seam_cfi_reg){.how = SEAM_CFI_EXPRESSION,
					    .expr = above_cfa,
					    .expr_len = sizeof(above_cfa)};
	row.regs[8] = (struct seam_cfi_reg){.how = SEAM_CFI_VAL_EXPRESSION,
					    .expr = above_cfa,
					    .expr_len = sizeof(above_cfa)};
	row.regs[12] =
		(struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 11};
	row.regs[13] = (struct seam_cfi_reg){.how = SEAM_CFI_REGISTER,
					     .reg = SEAM_CFI_OTHER_REG};
	assert_int_equal(step(&row, &regs, &end), 1);
	assert_true(regs.r[0] == word(cfa - 24));
	assert_true(regs.r[1] == cfa + 40);
	assert_true(regs.r[2] == was.r[5]);
	assert_true(regs.r[6] == word(cfa + 32));
	assert_true(regs.r[8] == cfa + 32);
	assert_int_equal(regs.valid & (1u << 3 | 1u << 12 | 1u << 13), 0);
}

/* The registers before the step are what every rule reads. */
static void step_swaps(void **state)
{
	struct seam_regs regs = test_regs(), was = regs;
	struct seam_cfi_row row = plain_row();
	int end;

	(void)state;
	row.regs[3] = (struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 6};
	row.regs[6] = (struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 3};
	assert_int_equal(step(&row, &regs, &end), 1);
	assert_true(regs.r[3] == was.r[6] && regs.r[6] == was.r[3]);
}

static void step_ends(void **state)
{
	static const uint8_t bad[] = {0x01};
	struct seam_regs regs = test_regs();
	struct seam_cfi_row row = plain_row();
	int end;

	(void)state;
	row.regs[16].how = SEAM_CFI_UNDEFINED;
	row.cfa_reg = 11; /* of no importance then */
	assert_int_equal(step(&row, &regs, &end), 0);
	assert_int_equal(end, SEAM_OUTERMOST);

	row = plain_row();
	row.cfa_reg = 11;
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_NO_RULE);

	row = plain_row();
	row.cfa_is_expr = true;
	row.cfa_expr = bad;
	row.cfa_expr_len = sizeof(bad);
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_NO_RULE);

	row = plain_row();
	row.regs[16].how = SEAM_CFI_SAME;
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_NO_RULE);

	row = plain_row();
	row.regs[16] =
		(struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 11};
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_NO_RULE);

	row = plain_row();
	row.cfa_off = 12;
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_BAD_CFA);

	row = plain_row();
	regs.r[6] = UNREADABLE;
	row.cfa_reg = 6;
	assert_int_equal(step(&row, &regs, &end), -EFAULT);
	assert_int_equal(end, SEAM_UNREADABLE);
}

static void step_progress(void **state)
{
	struct seam_regs regs = test_regs(), was = regs;
	struct seam_cfi_row row = plain_row();
	int end;

	(void)state;
	row.cfa_off = 0;
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_BAD_CFA);
	row.cfa_off = -64;
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_BAD_CFA);

	/* vfork holds its return address in a register, and has no frame. */
	row.cfa_off = 0;
	row.regs[16] =
		(struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 5};
	assert_int_equal(step(&row, &regs, &end), 1);
	assert_true(regs.r[7] == was.r[7] && regs.r[16] == was.r[5]);
	regs = was;
	row.cfa_off = -8;
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_BAD_CFA);
	row = plain_row();
	row.cfa_off = -64;

	/* A signal frame may lead to a lower stack. */
	row.signal = true;
	assert_int_equal(step(&row, &regs, &end), 1);
	assert_int_equal(regs.r[7], was.r[7] - 64);

	/* So may a row that has a rule for sp; but not to where it was. */
	regs = was;
	row = plain_row();
	row.regs[7] = (struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 3};
	assert_int_equal(step(&row, &regs, &end), 1);
	assert_int_equal(regs.r[7], was.r[3]);
	regs = was;
	row.regs[7].reg = 7;
	row.regs[16] =
		(struct seam_cfi_reg){.how = SEAM_CFI_REGISTER, .reg = 16};
	assert_int_equal(step(&row, &regs, &end), -EINVAL);
	assert_int_equal(end, SEAM_BAD_CFA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expr_values),	 cmocka_unit_test(expr_refused),
		cmocka_unit_test(step_defaults), cmocka_unit_test(step_rules),
		cmocka_unit_test(step_swaps),	 cmocka_unit_test(step_ends),
		cmocka_unit_test(step_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
