// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: steps on aarch64 and s390x, where calls leave the return
 * address in a register, on an array that plays the stack; and signal frames
 * of every architecture. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "core/env.h"

#define BASE 0x7000ULL /* address of words[0] */
#define WORDS 256
#define REGS 33 /* the last one is the ip's */

struct seam_env {
	uint64_t words[WORDS];
	uint64_t regs[REGS];
};

static bool seam_env_word(struct seam_env *env, uint64_t addr, uint64_t *ret)
{
	if (addr < BASE || addr >= BASE + 8 * WORDS || addr % 8)
		return false;
	*ret = env->words[(addr - BASE) / 8];
	return true;
}

static bool seam_env_reg(struct seam_env *env, uint32_t regnum, uint64_t *ret)
{
	if (regnum >= REGS)
		return false;
	*ret = env->regs[regnum];
	return true;
}

static bool seam_env_lose_fp(struct seam_env *env)
{
	(void)env;
	return false;
}

#include "core/step.h"

#define PAC48 SEAM_AARCH64_PAC_MASK(48)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct seam_env stack(void)
{
	struct seam_env env = {0};

	for (uint64_t i = 0; i < WORDS; i++)
		env.words[i] = 0x1000 + i;
	for (uint64_t i = 0; i < REGS; i++)
		env.regs[i] = 0x2000 + i;
	return env;
}

static struct seam_cursor leaf(void)
{
	return (struct seam_cursor){
		.ip = 0x100,
		.sp = BASE + 16,
		.fp = BASE + 64,
		.leaf = true,
		.exact = true,
	};
}

static struct seam_value value(uint8_t kind, uint8_t reg, int32_t off)
{
	return (struct seam_value){.kind = kind, .reg = reg, .off = off};
}

static int step64(struct seam_cursor *c, const struct seam_rule *rule,
		  struct seam_env *env)
{
	return seam_step_arch(c, rule, env, SEAM_ARCH_AARCH64, PAC48);
}

static int step390(struct seam_cursor *c, const struct seam_rule *rule,
		   struct seam_env *env)
{
	return seam_step_arch(c, rule, env, SEAM_ARCH_S390X, 0);
}

/* CFA = sp, RA in x30: once. The same again would find the same caller. */
static void aarch64_leaf(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf(), was;
	struct seam_rule rule = {.cfa = value(SEAM_REG_OFF, 31, 0)};

	(void)state;
	assert_int_equal(step64(&c, &rule, &env), SEAM_OK);
	assert_int_equal(c.ip, 0x201e);
	assert_int_equal(c.sp, BASE + 16);
	assert_int_equal(c.fp, BASE + 64);
	was = c;
	assert_int_equal(step64(&c, &rule, &env), SEAM_BAD_CFA);
	rule.cfa.off = 16; /* progress alone does not bring x30 back */
	assert_int_equal(step64(&c, &rule, &env), SEAM_NO_RULE);
	assert_memory_equal(&c, &was, sizeof(c));
}

/* stp x29, x30, [sp, -32]!; mov x29, sp */
static void aarch64_saved(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule by_sp = {.cfa = value(SEAM_REG_OFF, 31, 32),
				  .ra = value(SEAM_CFA_DEREF, 0, -24),
				  .fp = value(SEAM_CFA_DEREF, 0, -32)};
	struct seam_rule by_fp = by_sp;

	(void)state;
	assert_int_equal(step64(&c, &by_sp, &env), SEAM_OK);
	assert_int_equal(c.ip, 0x1003);
	assert_int_equal(c.sp, BASE + 48);
	assert_int_equal(c.fp, 0x1002);
	assert_int_equal(seam_cursor_pc(&c), 0x1002);
	by_fp.cfa.reg = 29;
	c.fp = BASE + 128;
	assert_int_equal(step64(&c, &by_fp, &env), SEAM_OK);
	assert_int_equal(c.ip, 0x1011);
	assert_int_equal(c.sp, BASE + 160);
}

static void aarch64_signed(void **state)
{
	static const struct {
		uint64_t ra, want;
		int va_bits;
	} cases[] = {
		{0x7b12aaaadead1234, 0x0000aaaadead1234, 48},
		{0xff7faaaadead1234, 0x0000aaaadead1234, 48},
		{0x0000aaaadead1234, 0x0000aaaadead1234, 48},
		{0x0092800012345678, 0xffff800012345678, 48}, /* kernel */
		{0x007abcde12345678, 0x000abcde12345678, 52},
		{0xffffffffdead1234, 0xffffffffdead1234, 39},
		{0xff7fffffdead1234, 0x0000007fdead1234, 39},
	};
	struct seam_rule in_reg = {.cfa = value(SEAM_REG_OFF, 31, 0),
				   .flags = SEAM_RULE_MANGLED};
	struct seam_rule saved = {.cfa = value(SEAM_REG_OFF, 31, 16),
				  .ra = value(SEAM_CFA_DEREF, 0, -8),
				  .flags = SEAM_RULE_MANGLED};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t mask = SEAM_AARCH64_PAC_MASK(cases[i].va_bits);
		struct seam_env env = stack();
		struct seam_cursor c = leaf();

		env.regs[30] = env.words[3] = cases[i].ra;
		assert_int_equal(seam_step_arch(&c, &in_reg, &env,
						SEAM_ARCH_AARCH64, mask),
				 SEAM_OK);
		assert_int_equal(c.ip, cases[i].want);
		c = leaf();
		assert_int_equal(seam_step_arch(&c, &saved, &env,
						SEAM_ARCH_AARCH64, mask),
				 SEAM_OK);
		assert_int_equal(c.ip, cases[i].want);
		/* A row that says nothing of a signature has none to strip. */
		saved.flags = 0;
		c = leaf();
		assert_int_equal(step64(&c, &saved, &env), SEAM_OK);
		assert_int_equal(c.ip, cases[i].ra);
		saved.flags = SEAM_RULE_MANGLED;
	}
}

/* The CFA is 160 above the caller's SP. */
static void s390x_frames(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule in_reg = {.cfa = value(SEAM_REG_OFF, 15, 160)};
	struct seam_rule saved = {.cfa = value(SEAM_REG_OFF, 15, 320),
				  .ra = value(SEAM_CFA_DEREF, 0, -48),
				  .fp = value(SEAM_CFA_DEREF, 0, -72)};

	(void)state;
	assert_int_equal(step390(&c, &in_reg, &env), SEAM_OK);
	assert_int_equal(c.ip, 0x200e);
	assert_int_equal(c.sp, BASE + 16);
	assert_int_equal(step390(&c, &in_reg, &env), SEAM_BAD_CFA);
	assert_int_equal(step390(&c, &saved, &env), SEAM_OK);
	assert_int_equal(c.sp, BASE + 16 + 160);
	assert_int_equal(c.ip, 0x1000 + (16 + 320 - 48) / 8);
	assert_int_equal(c.fp, 0x1000 + (16 + 320 - 72) / 8);
	in_reg.cfa.off = 152; /* sp would move down */
	assert_int_equal(step390(&c, &in_reg, &env), SEAM_BAD_CFA);
}

/* Leaf functions keep r14 and r11 in floating point registers. */
static void s390x_registers(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf(), caller = leaf();
	struct seam_rule rule = {.cfa = value(SEAM_REG_OFF, 15, 160),
				 .ra = value(SEAM_REG_OFF, 16, 0),
				 .fp = value(SEAM_REG_OFF, 31, 0)};
	struct seam_rule fp_only = {.cfa = value(SEAM_REG_OFF, 15, 320),
				    .ra = value(SEAM_CFA_DEREF, 0, -48),
				    .fp = value(SEAM_REG_OFF, 17, 0)};

	(void)state;
	assert_int_equal(step390(&c, &rule, &env), SEAM_OK);
	assert_int_equal(c.ip, 0x2010);
	assert_int_equal(c.fp, 0x201f);
	/* A caller's are gone; its frame pointer then is, but not it. */
	caller.leaf = false;
	caller.exact = false;
	rule.cfa.off = 320;
	assert_int_equal(step390(&caller, &rule, &env), SEAM_NO_RULE);
	assert_int_equal(step390(&caller, &fp_only, &env), SEAM_OK);
	assert_true(caller.fp_lost);
	rule = (struct seam_rule){.cfa = value(SEAM_REG_OFF, 11, 320)};
	assert_int_equal(step390(&caller, &rule, &env), SEAM_NO_RULE);
}

/* --- signal frames --- */

/* As the kernel declares them, up to what is looked at. */
struct aarch64_frame {
	uint8_t siginfo[128];
	struct {
		uint64_t flags, link, stack[3];
		uint64_t sigmask;
		uint8_t unused[1024 / 8 - 8];
		struct {
			uint64_t fault_address;
			uint64_t regs[31];
			uint64_t sp, pc, pstate;
		} mcontext __attribute__((aligned(16)));
	} uc;
};

struct s390x_frame {
	uint8_t callee_used_stack[160];
	uint16_t svc_insn;
	uint8_t siginfo[128] __attribute__((aligned(8)));
	struct {
		uint64_t flags, link, stack[3];
		struct {
			uint64_t psw_mask, psw_addr;
			uint64_t gprs[16];
			uint32_t acrs[16];
			uint32_t fpc, pad;
			uint64_t fprs[16];
		} mcontext;
	} uc;
};

#define AT64(field) offsetof(struct aarch64_frame, uc.mcontext.field)
#define AT390(field) offsetof(struct s390x_frame, uc.mcontext.field)

static void signal_layouts(void **state)
{
	/* glibc's names of DWARF's registers 0 to 16 */
	static const int gregs[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI,
				    REG_RDI, REG_RBP, REG_RSP, REG_R8,	REG_R9,
				    REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
				    REG_R15, REG_RIP};
	/* DWARF's registers 16 to 31, as the ABI numbers them */
	static const int fprs[] = {0, 2,  4,  6,  1, 3,	 5,  7,
				   8, 10, 12, 14, 9, 11, 13, 15};

	(void)state;
	for (uint8_t i = 0; i < COUNT(gregs); i++)
		assert_int_equal(seam_signal_amd64(i),
				 offsetof(ucontext_t, uc_mcontext.gregs) +
					 8 * (size_t)gregs[i]);
	assert_int_equal(seam_signal_amd64(17), -1);
	for (uint8_t i = 0; i < 31; i++)
		assert_int_equal(seam_signal_aarch64(i), AT64(regs[i]));
	assert_int_equal(seam_signal_aarch64(31), AT64(sp));
	assert_int_equal(seam_signal_aarch64(SEAM_SIGNAL_IP), AT64(pc));
	assert_int_equal(seam_signal_aarch64(32), -1);
	for (uint8_t i = 0; i < 16; i++)
		assert_int_equal(seam_signal_s390x(i), AT390(gprs[i]));
	for (uint8_t i = 0; i < 16; i++)
		assert_int_equal(seam_signal_s390x(16 + i),
				 AT390(fprs[fprs[i]]));
	assert_int_equal(seam_signal_s390x(SEAM_SIGNAL_IP), AT390(psw_addr));
	assert_int_equal(seam_signal_s390x(32), -1);
}

/*
 * The trampoline runs with SP at BASE + 16; what it interrupted had its SP at
 * BASE + 1600, and was a leaf: x30 is needed to go on, or r14.
 */
static void through_signal(enum seam_arch arch)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule rule, next = {0};
	uint64_t sp = c.sp;

	seam_signal_frame_rule(arch, &rule);
	env.words[2 + seam_signal_reg_off(arch, seam_arch_sp(arch)) / 8] =
		BASE + 1600;
	c.leaf = false;
	c.exact = false;
	assert_int_equal(seam_step_arch(&c, &rule, &env, arch, 0), SEAM_OK);
	assert_int_equal(c.sp, BASE + 1600);
	assert_int_equal(
		c.ip,
		env.words[2 + seam_signal_reg_off(arch, SEAM_SIGNAL_IP) / 8]);
	assert_int_equal(
		c.fp,
		env.words[2 +
			  seam_signal_reg_off(arch, seam_arch_fp(arch)) / 8]);
	assert_true(c.exact);
	assert_false(c.leaf);
	next.cfa = value(SEAM_REG_OFF, seam_arch_sp(arch),
			 (int32_t)seam_arch_cfa_bias(arch));
	if (arch == SEAM_ARCH_AMD64)
		next.ra = value(SEAM_REG_OFF, 5, 0);
	assert_int_equal(seam_step_arch(&c, &next, &env, arch, 0),
			 SEAM_NO_RULE);
	assert_true(seam_step_signal(&c, sp, &env, arch));
	assert_int_equal(seam_step_arch(&c, &next, &env, arch, 0), SEAM_OK);
	assert_int_equal(c.ip, arch == SEAM_ARCH_AMD64	   ? 0x2005
			       : arch == SEAM_ARCH_AARCH64 ? 0x201e
							   : 0x200e);
}

static void signals(void **state)
{
	(void)state;
	for (int arch = SEAM_ARCH_AMD64; arch <= SEAM_ARCH_S390X; arch++)
		through_signal((enum seam_arch)arch);
}

/* Somebody's own trampoline: its rule holds, its frame is another. */
static void not_the_kernels(void **state)
{
	struct seam_env env = stack();
	struct seam_cursor c = leaf();
	struct seam_rule rule = {.cfa = value(SEAM_REG_OFF, 31, 32),
				 .ra = value(SEAM_CFA_DEREF, 0, -24),
				 .flags = SEAM_RULE_SIGNAL};
	uint64_t sp = c.sp;

	(void)state;
	assert_int_equal(step64(&c, &rule, &env), SEAM_OK);
	assert_false(seam_step_signal(&c, sp, &env, SEAM_ARCH_AARCH64));
	assert_false(c.leaf);
	assert_false(seam_step_signal(&c, 8, &env, SEAM_ARCH_AARCH64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aarch64_leaf),
		cmocka_unit_test(aarch64_saved),
		cmocka_unit_test(aarch64_signed),
		cmocka_unit_test(s390x_frames),
		cmocka_unit_test(s390x_registers),
		cmocka_unit_test(signal_layouts),
		cmocka_unit_test(signals),
		cmocka_unit_test(not_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
