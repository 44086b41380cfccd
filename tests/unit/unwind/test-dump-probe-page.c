// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: in the page that probed functions call, the caller is found at
 * each of its instructions, played through, and behind its system call. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/maps-path.h"
#include "core/arch.h"
#include "core/err.h"
#include "unwind/dump.h"

#define PAGE 0x7f0000001000ULL
#define STACK 0x7ffc00000000ULL
#define PROBED 0x401005ULL /* behind the call of five bytes */

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

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	(void)ctx;
	*ret = (struct seam_mapping){.is_probe_page = avma - PAGE < 4096};
	return ret->is_probe_page ? 0 : -ENOENT;
}

/* Return: the end code. *ret: the caller; 0: none was found. */
static int unwind(uint64_t ip, uint64_t sp, bool syscall, uint64_t *ret)
{
	const uint64_t stack[] = {1, 2, 3, PROBED};
	struct seam_dump dump = {
		.stack_avma = STACK,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.find = find,
		.syscall = syscall,
	};
	uint64_t ips[4] = {0};
	int end = -1;

	dump.regs.r[SEAM_AMD64_REG_IP] = ip;
	dump.regs.r[SEAM_AMD64_REG_SP] = sp;
	dump.regs.valid = 1u << SEAM_AMD64_REG_IP | 1u << SEAM_AMD64_REG_SP;
	*ret = seam_dump_unwind(&dump, ips, 4, &end) > 1 ? ips[1] : 0;
	assert_true(ips[0] == ip);
	return end;
}

static void test_each(void **state)
{
	uint64_t sp = STACK + 24, caller;

	(void)state;
	for (size_t i = 0; i < sizeof(insns) / sizeof(*insns); i++) {
		const uint64_t ip = PAGE + insns[i].off;

		/* No table is known where it leads. */
		assert_int_equal(unwind(ip, sp, false, &caller), SEAM_NO_TABLE);
		assert_true(caller == PROBED);
		/* While the probe is handled, ip is behind the syscall. */
		if (i && insns[i - 1].off == 11) {
			unwind(ip, sp, true, &caller);
			assert_true(caller == PROBED);
		}
		sp -= 8 * (uint64_t)insns[i].pushes;
	}
	assert_true(sp == STACK + 32);
	assert_int_equal(unwind(PAGE + 18, sp, false, &caller), SEAM_NO_RULE);
	assert_true(!caller);
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
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
