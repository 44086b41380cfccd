// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: in the page that probed functions call, the caller is found at
 * each of its instructions, played through, and behind its system call. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/maps-path.h"
#include "core/arch.h"
#include "core/err.h"
#include "unwind/dump.h"

#define PAGE 0x7f0000001000ULL
#define STACK 0x7ffc00000000ULL
/* Behind the call. Of the page of vsyscalls, where the caller's return address
 * is at SP: so that shows. */
#define PROBED 0xffffffffff600405ULL
#define CALLER 0x401234ULL /* with a nop of five bytes */
#define CALLER_10 0x405678ULL /* of ten: above the red zone */

/* Its instructions, as Linux 6.18 has them, and what each pushes. */
static const struct {
	uint64_t off, len;
	int pushes;
} insns[] = {
	{0, 1, 1}, /* push %rcx */
	{1, 2, 1}, /* push %r11 */
	{3, 1, 1}, /* push %rax */
	{4, 7, 0}, /* mov $NR, %rax */
	{11, 2, 0}, /* syscall */
	{13, 1, -1}, /* pop %rax */
	{14, 2, -1}, /* pop %r11 */
	{16, 1, -1}, /* pop %rcx */
	{17, 1, -1}, /* ret */
};

/* Before where it returns to, as the file has it. */
static const uint8_t *code;

static size_t read_code(void *ctx, uint64_t avma, enum seam_dump_when when,
			void *to, size_t size)
{
	(void)ctx;
	(void)when;
	if (!code || avma - (PROBED - 8) >= 8)
		return 0;
	if (size > PROBED - avma)
		size = PROBED - avma;
	memcpy(to, code + (avma - (PROBED - 8)), size);
	return size;
}

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	(void)ctx;
	*ret = (struct seam_mapping){.is_probe_page = avma - PAGE < 4096};
	return ret->is_probe_page ? 0 : -ENOENT;
}

/* Return: the end code. *ret: the caller of what was probed; 0: none was
 * found. */
static int unwind(uint64_t ip, uint64_t sp, bool syscall, uint64_t *ret)
{
	uint64_t stack[32] = {1, 2, 3, PROBED, CALLER};
	struct seam_dump dump = {
		.stack_avma = STACK,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.find = find,
		.code = read_code,
		.syscall = syscall,
	};
	uint64_t ips[4] = {0};
	int end = -1;

	stack[4 + SEAM_AMD64_RED_ZONE / 8] = CALLER_10;

	dump.regs.r[SEAM_AMD64_REG_IP] = ip;
	dump.regs.r[SEAM_AMD64_REG_SP] = sp;
	dump.regs.valid = 1u << SEAM_AMD64_REG_IP | 1u << SEAM_AMD64_REG_SP;
	*ret = 0;
	if (seam_dump_unwind(&dump, ips, 4, &end) == 3) {
		assert_true(ips[1] == PROBED);
		*ret = ips[2];
	}
	assert_true(ips[0] == ip);
	return end;
}

static void each(uint64_t expected)
{
	uint64_t sp = STACK + 24, caller;

	for (size_t i = 0; i < sizeof(insns) / sizeof(*insns); i++) {
		const uint64_t ip = PAGE + insns[i].off;

		/* No table is known where it leads. */
		assert_int_equal(unwind(ip, sp, false, &caller), SEAM_NO_TABLE);
		assert_true(caller == expected);
		/* While the probe is handled, ip is behind the syscall. */
		if (i && insns[i - 1].off == 11) {
			unwind(ip, sp, true, &caller);
			assert_true(caller == expected);
		}
		sp -= 8 * (uint64_t)insns[i].pushes;
	}
	assert_true(sp == STACK + 32);
	assert_int_equal(unwind(PAGE + 18, sp, false, &caller), SEAM_NO_RULE);
	assert_true(!caller);
}

static void test_each(void **state)
{
	(void)state;
	code = NULL;
	each(CALLER);
	code = (const uint8_t *)"\x01\x02\x03\x0f\x1f\x44\x00\x00";
	each(CALLER);
	/* As the file has it, and as it is while it is probed. */
	code = (const uint8_t *)"\x0f\x1f\x84\x00\x00\x00\x00\x00";
	each(CALLER_10);
	code = (const uint8_t *)"\x64\x24\x80\xe8\x11\x22\x33\x44";
	each(CALLER_10);
}

/* Between the instruction that leaves the red zone alone and the call: of
 * code, which may also be as the file has it. */
static void test_between(void **state)
{
	(void)state;
	assert_true(seam_amd64_probe_is_between(0x1122e88024648d48));
	assert_true(seam_amd64_probe_is_between(0x000000841f0f2e66));
	assert_true(seam_amd64_probe_is_between(0x000000841f0f6666));
	assert_false(seam_amd64_probe_is_between(0x1122e88024648d49));
	assert_false(seam_amd64_probe_is_between(0x000000441f0f2e66));
	assert_false(seam_amd64_probe_is_between(0x841f0f6600000000));
}

/* In a function that was left for the page, but for the call: its caller's
 * return address is above the red zone. */
static void test_about_to_call(void **state)
{
	uint64_t stack[32] = {CALLER}, ips[3] = {0};
	struct seam_dump dump = {
		.stack_avma = STACK,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.find = find,
		.code = read_code,
	};
	int end;

	(void)state;
	stack[SEAM_AMD64_RED_ZONE / 8] = CALLER_10;
	dump.regs.r[SEAM_AMD64_REG_IP] = PROBED - 3;
	dump.regs.r[SEAM_AMD64_REG_SP] = STACK;
	dump.regs.valid = 1u << SEAM_AMD64_REG_IP | 1u << SEAM_AMD64_REG_SP;
	code = (const uint8_t *)"\x48\x8d\x64\x24\x80\xe8\x11\x22";
	assert_int_equal(seam_dump_unwind(&dump, ips, 3, &end), 2);
	assert_true(ips[1] == CALLER);
	dump.may_be_probed = true;
	assert_int_equal(seam_dump_unwind(&dump, ips, 3, &end), 2);
	assert_true(ips[1] == CALLER_10);
}

static void test_name(void **state)
{
	(void)state;
	assert_true(seam_maps_is_probe_page("[uprobes-trampoline]"));
	assert_true(seam_maps_is_probe_page("[uprobes-trampo")); /* perf's */
	assert_false(seam_maps_is_probe_page("[uprobes]"));
	assert_false(seam_maps_is_probe_page("/tmp/[uprobes-trampoline]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_about_to_call),
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
