/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Description: registers as perf samples have them become those of a stack
 * dump: each in its place whatever else was asked for, and a system call is
 * told from a call. The kernel's header says what perf's numbers are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <asm/perf_regs.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "unwind/perf-regs.h"

#define BIT(n) (1ULL << PERF_REG_X86_##n)

/* By DWARF number, as the psABI has it. */
static const int perf_of[17] = {
	PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,
	PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,
	PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
	PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
	PERF_REG_X86_IP,
};

static uint64_t values[64]; /* by perf's number */
static uint64_t words[64];
static const uint8_t stack[64];

/* The words of a mask, as a sample has them. */
static struct seam_perf_user sample(uint64_t mask)
{
	size_t n = 0;

	for (int i = 0; i < 64; i++)
		if (mask >> i & 1)
			words[n++] = values[i];
	return (struct seam_perf_user){
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.mask = mask,
		.regs = (const uint8_t *)words,
		.n_regs = n,
		.stack = stack,
		.stack_size = sizeof(stack),
		.stack_room = 128,
	};
}

static int fill(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 64; i++)
		values[i] = 0x1000 + i;
	return 0;
}

static void check_all(uint64_t mask)
{
	struct seam_perf_user user = sample(mask);
	struct seam_dump dump;

	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	for (int i = 0; i < 17; i++) {
		bool has = mask >> perf_of[i] & 1;

		assert_int_equal(dump.regs.valid >> i & 1, has);
		if (has)
			assert_int_equal(dump.regs.r[i], values[perf_of[i]]);
	}
	assert_int_equal(dump.stack_avma, values[PERF_REG_X86_SP]);
	assert_ptr_equal(dump.stack, stack);
	assert_int_equal(dump.stack_size, sizeof(stack));
	assert_false(dump.syscall);
	assert_false(dump.is_32);
	assert_null(dump.find);
}

static void test_places(void **state)
{
	(void)state;
	check_all(SEAM_PERF_REGS_MASK);
	check_all(0xff0fff); /* perf record --call-graph dwarf */
	check_all(BIT(SP) | BIT(IP));
	check_all(BIT(SP) | BIT(IP) | BIT(R15) | BIT(GS) | BIT(CS));
	check_all(UINT64_MAX); /* with SIMD registers behind */
	check_all(SEAM_PERF_REGS_MASK & ~BIT(BP));
}

/* What Linux does not report of an NMI in the kernel is -1, all together. */
static void test_unreported(void **state)
{
	static const int dwarf[] = {3, 6, 12, 13, 14, 15};
	struct seam_perf_user user;
	struct seam_dump dump;

	(void)state;
	for (int i = 0; i < 6; i++)
		values[perf_of[dwarf[i]]] = UINT64_MAX;
	user = sample(SEAM_PERF_REGS_MASK);
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_int_equal(dump.regs.valid, 0x1ffff);
	user.in_kernel = true;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_int_equal(dump.regs.valid, 0x1ffff & ~0xf048);
	values[PERF_REG_X86_R13] = 7;
	user = sample(SEAM_PERF_REGS_MASK);
	user.in_kernel = true;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_int_equal(dump.regs.valid, 0x1ffff);
}

static void test_refused(void **state)
{
	struct seam_perf_user user = sample(SEAM_PERF_REGS_MASK & ~BIT(SP));
	struct seam_dump dump = {.stack_size = 77};

	(void)state;
	assert_int_equal(seam_dump_from_perf(&user, &dump), -EINVAL);
	user = sample(SEAM_PERF_REGS_MASK & ~BIT(IP));
	assert_int_equal(seam_dump_from_perf(&user, &dump), -EINVAL);
	user = sample(SEAM_PERF_REGS_MASK);
	user.n_regs = 8; /* fewer words than the mask says: no ip */
	assert_int_equal(seam_dump_from_perf(&user, &dump), -EINVAL);
	user.abi = PERF_SAMPLE_REGS_ABI_NONE;
	assert_int_equal(seam_dump_from_perf(&user, &dump), -ENODATA);
	/* Nor has a thread that works for io_uring, in Linux 6.1; what called
	 * a null pointer has. */
	memset(values, 0, sizeof(values));
	user = sample(SEAM_PERF_REGS_MASK);
	assert_int_equal(seam_dump_from_perf(&user, &dump), -ENODATA);
	assert_int_equal(dump.stack_size, 77);
	values[PERF_REG_X86_SP] = 0x7ffc0000;
	user = sample(SEAM_PERF_REGS_MASK);
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
}

static void test_32_bit(void **state)
{
	struct seam_perf_user user = sample(SEAM_PERF_REGS_MASK);
	struct seam_dump dump;

	(void)state;
	user.abi = PERF_SAMPLE_REGS_ABI_32;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_true(dump.is_32);
}

static void test_cut(void **state)
{
	struct seam_perf_user user = sample(SEAM_PERF_REGS_MASK);
	struct seam_dump dump;

	(void)state;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_false(dump.cut);
	user.stack_room = sizeof(stack);
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_true(dump.cut);
	/* Nothing at all could be copied. */
	user.stack = NULL;
	user.stack_size = user.stack_room = 0;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_false(dump.cut);
	assert_int_equal(dump.stack_size, 0);
}

/* syscall leaves the ip in rcx and the flags in r11. */
static void test_syscall(void **state)
{
	struct seam_perf_user user;
	struct seam_dump dump;

	(void)state;
	values[PERF_REG_X86_CX] = values[PERF_REG_X86_IP];
	values[PERF_REG_X86_R11] = values[PERF_REG_X86_FLAGS];
	user = sample(SEAM_PERF_REGS_MASK);
	user.in_kernel = true;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_true(dump.syscall);
	user.in_kernel = false;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_false(dump.syscall);
	values[PERF_REG_X86_AX] = 0; /* a child that has yet to run */
	user = sample(SEAM_PERF_REGS_MASK);
	user.in_kernel = true;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_false(dump.syscall);
	values[PERF_REG_X86_AX] = 1;
	values[PERF_REG_X86_R11]++; /* a page fault, called through rcx */
	user = sample(SEAM_PERF_REGS_MASK);
	user.in_kernel = true;
	assert_int_equal(seam_dump_from_perf(&user, &dump), 0);
	assert_false(dump.syscall);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_places, fill),
		cmocka_unit_test_setup(test_unreported, fill),
		cmocka_unit_test_setup(test_refused, fill),
		cmocka_unit_test_setup(test_32_bit, fill),
		cmocka_unit_test_setup(test_cut, fill),
		cmocka_unit_test_setup(test_syscall, fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
