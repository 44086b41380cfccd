// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: each kind of rule, executed on an array that plays the stack;
 * each refusal leaves the state as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/env.h"

#define BASE 0x7000ULL /* address of words[0] */
#define WORDS 32

struct seam_env {
	uint64_t words[WORDS];
	uint64_t regs[17];
	uint64_t hole; /* an address that cannot be read */
	bool lose_fp;
};

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	if (addr == env->hole || addr < BASE || addr >= BASE + 8 * WORDS ||
	    addr % 8)
		return false;
	*ret = env->words[(addr - BASE) / 8];
	return true;
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
	if (regnum >= 17)
		return false;
	*ret = env->regs[regnum];
	return true;
}

static bool seam_env_lose_fp(struct seam_env *env)
{
	return env->lose_fp;
}

#include "core/step.h"

#define SP 7
#define FP 6

static struct seam_cursor leaf(void)
{
	return (struct seam_cursor){
		.ip = 0x1000,
		.sp = BASE + 16,
		.fp = BASE + 64,
		.leaf = true,
		.exact = true,
	};
}

static struct seam_env stack(void)
{
	struct seam_env env = {0};

	for (int i = 0; i < WORDS; i++)
		env.words[i] = 0x1000 + (uint64_t)i;
	return env;
}

static struct seam_value value(uint8_t kind, uint8_t reg, int32_t off)
{
	return (struct seam_value){.kind = kind, .reg = reg, .off = off};
}

/* CFA = rsp + 16, FP saved at CFA - 16. */
static void pushed_frame_pointer(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule rule = {.cfa = value(SEAM_REG_OFF, SP, 16),
				 .fp = value(SEAM_CFA_DEREF, 0, -16)};

	(void)state;
	assert_int_equal(seam_step(&c, &rule, &env), SEAM_OK);
	assert_int_equal(c.sp, BASE + 32);
	assert_int_equal(c.ip, 0x1003);
	assert_int_equal(c.fp, 0x1002);
	assert_false(c.leaf);
	assert_false(c.exact);
	/* A return address is looked up at the call. */
	assert_int_equal(seam_cursor_pc(&c), 0x1002);
}

/* CFA = rbp + 16. */
static void frame_pointer_base(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule rule = {.cfa = value(SEAM_REG_OFF, FP, 16)};

	(void)state;
	assert_int_equal(seam_step(&c, &rule, &env), SEAM_OK);
	assert_int_equal(c.sp, BASE + 80);
	assert_int_equal(c.ip, 0x1009);
	assert_int_equal(c.fp, BASE + 64);
}

/* DRAP: CFA = r10 + 0, which the leaf alone knows. */
static void other_register(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf(), caller = leaf();
	struct seam_rule rule = {.cfa = value(SEAM_REG_OFF, 10, 0)};

	(void)state;
	env.regs[10] = BASE + 48;
	assert_int_equal(seam_step(&c, &rule, &env), SEAM_OK);
	assert_int_equal(c.sp, BASE + 48);
	caller.leaf = false;
	assert_int_equal(seam_step(&caller, &rule, &env), SEAM_NO_RULE);
	assert_int_equal(caller.sp, BASE + 16);
}

/* OpenSSL: CFA = *(rsp + 8) + 8. */
static void deref_and_add(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule rule = {.cfa = value(SEAM_REG_DEREF, SP, 8),
				 .cfa_add = 8};

	(void)state;
	env.words[3] = BASE + 88;
	assert_int_equal(seam_step(&c, &rule, &env), SEAM_OK);
	assert_int_equal(c.sp, BASE + 96);
	assert_int_equal(c.ip, 0x100b);
}

/* vfork: the return address is in rdi, the CFA is sp itself. */
static void return_address_in_register(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule rule = {.cfa = value(SEAM_REG_OFF, SP, 0),
				 .ra = value(SEAM_REG_OFF, 5, 0)};

	(void)state;
	env.regs[5] = 0x2222;
	assert_int_equal(seam_step(&c, &rule, &env), SEAM_OK);
	assert_int_equal(c.ip, 0x2222);
	assert_int_equal(c.sp, BASE + 16);
	assert_int_equal(seam_step(&c, &rule, &env), SEAM_BAD_CFA);
	/* Interrupted there: it is no bad frame, but needs a register that is
	 * not at hand. */
	c.exact = true;
	assert_int_equal(seam_step(&c, &rule, &env), SEAM_NO_RULE);
}

/* A signal frame: to any stack, and to an instruction about to run. */
static void signal_frame(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule rule = {.cfa = value(SEAM_REG_DEREF, SP, 0),
				 .ra = value(SEAM_REG_DEREF, SP, 8),
				 .fp = value(SEAM_REG_DEREF, SP, 16),
				 .flags = SEAM_RULE_SIGNAL};

	(void)state;
	env.words[2] = 0x500; /* below: an alternate stack was left */
	assert_int_equal(seam_step(&c, &rule, &env), SEAM_OK);
	assert_int_equal(c.sp, 0x500);
	assert_int_equal(c.ip, 0x1003);
	assert_int_equal(c.fp, 0x1004);
	assert_true(c.exact);
	assert_int_equal(seam_cursor_pc(&c), 0x1003);
}

static void ends(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule last = {.flags = SEAM_RULE_OUTERMOST};
	struct seam_rule zero = {.cfa = value(SEAM_REG_OFF, SP, 8)};

	(void)state;
	assert_int_equal(seam_step(&c, &last, &env), SEAM_OUTERMOST);
	assert_int_equal(c.sp, BASE + 16); /* nothing was read */
	env.words[2] = 0;
	assert_int_equal(seam_step(&c, &zero, &env), SEAM_OUTERMOST);
	assert_int_equal(c.sp, BASE + 24); /* behind the word of 0 */
}

static void refusals(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	const struct seam_cursor was = c;
	struct seam_rule back = {.cfa = value(SEAM_REG_OFF, SP, -8)};
	struct seam_rule still = {.cfa = value(SEAM_REG_OFF, SP, 0)};
	struct seam_rule odd = {.cfa = value(SEAM_REG_OFF, SP, 12)};
	struct seam_rule far = {.cfa = value(SEAM_REG_OFF, SP, 8 * WORDS)};

	(void)state;
	assert_int_equal(seam_step(&c, &back, &env), SEAM_BAD_CFA);
	assert_int_equal(seam_step(&c, &still, &env), SEAM_BAD_CFA);
	assert_int_equal(seam_step(&c, &odd, &env), SEAM_BAD_CFA);
	assert_int_equal(seam_step(&c, &far, &env), SEAM_UNREADABLE);
	assert_memory_equal(&c, &was, sizeof(c));
}

/* A frame pointer that cannot be read ends nothing but itself. */
static void lost_frame_pointer(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule saved = {.cfa = value(SEAM_REG_OFF, SP, 16),
				  .fp = value(SEAM_CFA_DEREF, 0, -16)};
	struct seam_rule needs = {.cfa = value(SEAM_REG_OFF, FP, 16)};
	struct seam_rule plain = {.cfa = value(SEAM_REG_OFF, SP, 8)};

	(void)state;
	env.hole = BASE + 16;
	assert_int_equal(seam_step(&c, &saved, &env), SEAM_UNREADABLE);
	env.lose_fp = true;
	assert_int_equal(seam_step(&c, &saved, &env), SEAM_OK);
	assert_true(c.fp_lost);
	assert_int_equal(seam_step(&c, &needs, &env), SEAM_NO_RULE);
	assert_int_equal(seam_step(&c, &plain, &env), SEAM_OK);
	assert_true(c.fp_lost);
	/* Restored further out, it is known again. */
	assert_int_equal(seam_step(&c, &saved, &env), SEAM_OK);
	assert_false(c.fp_lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_frame_pointer),
		cmocka_unit_test(frame_pointer_base),
		cmocka_unit_test(other_register),
		cmocka_unit_test(deref_and_add),
		cmocka_unit_test(return_address_in_register),
		cmocka_unit_test(signal_frame),
		cmocka_unit_test(ends),
		cmocka_unit_test(refusals),
		cmocka_unit_test(lost_frame_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
