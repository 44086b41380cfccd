// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: of an event in the kernel it is told whether the registers that
 * the task entered with are there: not before they are saved, not while they
 * are replaced, and not where the stack does not show it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/kernel-entry.h"
#define SEAM_LENT 1
#include "seam/seam.bpf.h"

#define DOOR 0xffffffff81000010ULL
#define DOOR_2 0xffffffff81009000ULL
#define WRITER 0xffffffff81200000ULL
#define LAST_WRITER 0xffffffff81300000ULL
#define PROBER 0xffffffff81180000ULL
#define CODE 0xffffffff81100000ULL
#define REGS 0xffffc90000003f58ULL /* where the last is saved */
#define LAST_REGS 0xffffc900ffffff58ULL
#define MAX 127

static const struct seam_kernel_entry entry = {
	.doors = {{DOOR, DOOR + 0x100},
		  [SEAM_KERNEL_DOORS - 1] = {DOOR_2, DOOR_2 + 1}},
	.writers = {{WRITER, WRITER + 0x40},
		    [SEAM_KERNEL_WRITERS - 1] = {LAST_WRITER, LAST_WRITER + 8}},
	.probers = {{PROBER, PROBER + 8}},
};

static bool is_sure(const uint64_t *ips, uint32_t nr, uint64_t sp)
{
	return seam_kernel_is_sure(&entry, ips, nr, MAX, sp, REGS);
}

static void saved(void **state)
{
	const uint64_t call[] = {CODE, CODE + 0x20, DOOR + 0x76};
	const uint64_t door[] = {DOOR + 0x60};

	(void)state;
	assert_true(is_sure(call, 3, REGS - 0x100));
	/* Interrupts may run on another stack, also at a lower address. */
	assert_true(is_sure(call, 3, REGS - (1 << 20)));
	assert_true(is_sure(call, 3, 0));
	assert_true(is_sure(door, 1, REGS));
	assert_true(is_sure(door, 1, REGS - 8));
	assert_true(is_sure((uint64_t[]){DOOR_2}, 1, REGS - 8));
}

static void not_saved(void **state)
{
	const uint64_t door[] = {DOOR + 0x30}, last[] = {DOOR_2};
	const uint64_t called[] = {CODE, DOOR + 0x20, DOOR + 0x50};

	(void)state;
	assert_false(is_sure(door, 1, REGS + 8)); /* one is missing */
	assert_false(is_sure(door, 1, 0x7ffc00001000ULL)); /* the user's sp */
	assert_false(is_sure(door, 1, REGS - SEAM_KERNEL_STACK));
	assert_true(is_sure(door, 1, REGS - SEAM_KERNEL_STACK + 8));
	assert_false(is_sure(door, 1, UINT64_MAX));
	assert_false(is_sure(last, 1, REGS + 8));
	/* What a door calls before it goes to the task's stack. */
	assert_false(is_sure(called, 3, SEAM_KERNEL_ENTRY_AREA + 0x1f00));
	assert_false(is_sure(called, 3, REGS + 8));
	assert_true(is_sure(called, 3, REGS - 64));
}

static void replaced(void **state)
{
	const uint64_t leaf[] = {WRITER, CODE, DOOR};
	const uint64_t behind[] = {WRITER + 0x40, CODE, DOOR};
	const uint64_t before[] = {WRITER - 1, CODE, DOOR};
	const uint64_t last[] = {LAST_WRITER + 7, CODE, DOOR};
	const uint64_t calls[] = {CODE, WRITER + 0x3f, DOOR};
	/* Interrupted, and not by the event. */
	const uint64_t under[] = {CODE, DOOR_2, WRITER + 0x3f, DOOR};
	const uint64_t probe[] = {CODE, CODE, PROBER, DOOR};

	(void)state;
	assert_false(is_sure(leaf, 3, REGS - 64));
	assert_false(is_sure(leaf, 3, 0));
	assert_true(is_sure(behind, 3, REGS - 64));
	assert_true(is_sure(before, 3, REGS - 64));
	assert_false(is_sure(last, 3, REGS - 64));
	assert_true(is_sure(calls, 3, REGS - 64));
	assert_false(is_sure(under, 4, REGS - 64));
	assert_false(is_sure(under, 4, 0));
	assert_false(is_sure(probe, 4, REGS - 64));
}

/* What is not seen of the stack may be a writer. */
static void cut(void **state)
{
	const uint64_t call[] = {CODE, CODE + 0x20, DOOR + 0x76};
	uint64_t deep[MAX + 1];

	(void)state;
	assert_false(is_sure(call, 2, REGS - 64));
	assert_false(is_sure(call, 0, REGS - 64));
	for (int i = 0; i <= MAX; i++)
		deep[i] = CODE;
	assert_false(is_sure(deep, MAX, REGS - 64));
	deep[MAX - 1] = DOOR;
	assert_true(is_sure(deep, MAX, REGS - 64));
	/* More frames than there is room for are not read. */
	deep[MAX - 1] = CODE;
	deep[MAX] = DOOR;
	assert_false(is_sure(deep, MAX + 1, REGS - 64));
}

/* No range at all, as in memory that nobody filled. */
static void unknown(void **state)
{
	static const struct seam_kernel_entry none;
	const uint64_t ips[] = {0, CODE, UINT64_MAX};

	(void)state;
	for (uint32_t nr = 0; nr <= 3; nr++)
		assert_false(seam_kernel_is_sure(&none, ips, nr, MAX, 0, REGS));
}

/* What tells that the return is to be waited for. */
static void lacked(void **state)
{
	const uint64_t area = SEAM_KERNEL_ENTRY_AREA;

	(void)state;
	/* system call, before and after the stack was switched */
	assert_true(seam_kernel_may_lack_regs(0x7ffc00001000ULL, REGS));
	assert_true(seam_kernel_may_lack_regs(1, REGS));
	assert_true(seam_kernel_may_lack_regs(INT64_MAX, REGS));
	assert_true(seam_kernel_may_lack_regs(REGS + 168, REGS));
	assert_true(seam_kernel_may_lack_regs(REGS + 8, REGS));
	/* an exception's first stack */
	assert_true(seam_kernel_may_lack_regs(area, REGS));
	assert_true(seam_kernel_may_lack_regs(area + 0x1f58, REGS));
	assert_true(seam_kernel_may_lack_regs(area + (512ULL << 30) - 1, REGS));
}

static void not_lacked(void **state)
{
	const uint64_t area = SEAM_KERNEL_ENTRY_AREA;

	(void)state;
	assert_false(seam_kernel_may_lack_regs(0, REGS)); /* not known */
	assert_false(seam_kernel_may_lack_regs(REGS, REGS));
	assert_false(seam_kernel_may_lack_regs(REGS - 8, REGS));
	assert_false(seam_kernel_may_lack_regs(REGS - 0x3f00, REGS));
	/* an interrupt's own stack, wherever it is */
	assert_false(seam_kernel_may_lack_regs(REGS - (1 << 20), REGS));
	assert_false(seam_kernel_may_lack_regs(REGS + (1 << 20), REGS));
	assert_false(seam_kernel_may_lack_regs(area - 8, REGS));
	assert_false(seam_kernel_may_lack_regs(area + (512ULL << 30), REGS));
	assert_false(seam_kernel_may_lack_regs(UINT64_MAX, REGS));
}

/* What a tool's BPF program has of its event. */
struct event {
	struct {
		unsigned long cs, rsp;
	} regs;
};

static bool request_lacks(uint64_t cs, uint64_t sp)
{
	const struct event event = {{cs, sp}};

	return seam_lent_lacks_regs(SEAM_FROM_PERF(&event), REGS);
}

/* Of requests the same is told, by what they say of their event. */
static void request(void **state)
{
	const uint64_t area = SEAM_KERNEL_ENTRY_AREA;
	const uint64_t sps[] = {1,
				7,
				0x7ffc00001000ULL,
				INT64_MAX,
				REGS + 8,
				REGS + 168,
				REGS + 192,
				REGS + 200,
				area,
				area + 0x1f58,
				area + (512ULL << 30) - 8,
				area + (512ULL << 30),
				area - 8,
				REGS,
				REGS - 8,
				REGS - 0x3f00,
				REGS - (1 << 20),
				REGS + (1 << 20),
				UINT64_MAX - 7};

	(void)state;
	for (size_t i = 0; i < sizeof(sps) / sizeof(sps[0]); i++) {
		assert_int_equal(request_lacks(0x10, sps[i]),
				 seam_kernel_may_lack_regs(sps[i], REGS));
		assert_false(request_lacks(0x33, sps[i]));
	}
	/* A user's stack pointer may be anything. */
	assert_true(request_lacks(0x10, 0));
}

static void request_from(void **state)
{
	const struct event user = {{0x33, 0x7ffc00001000}};
	const struct event kernel = {{0x10, REGS + 8}};

	(void)state;
	assert_true(seam_lent_in_user(SEAM_FROM_USER));
	assert_true(seam_lent_in_user(SEAM_FROM_PROBE));
	assert_true(seam_lent_in_user(SEAM_FROM_PERF(&user)));
	assert_false(seam_lent_in_user(SEAM_FROM_KERNEL));
	assert_false(seam_lent_in_user(SEAM_FROM_PERF(&kernel)));
	/* What says nothing of its stack, which may end at 4 GiB. */
	assert_false(seam_lent_lacks_regs(SEAM_FROM_KERNEL, LAST_REGS));
	assert_false(seam_lent_lacks_regs(SEAM_FROM_USER, LAST_REGS));
	assert_false(seam_lent_lacks_regs(SEAM_FROM_PROBE, LAST_REGS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saved),	cmocka_unit_test(not_saved),
		cmocka_unit_test(replaced),	cmocka_unit_test(cut),
		cmocka_unit_test(unknown),	cmocka_unit_test(lacked),
		cmocka_unit_test(not_lacked),	cmocka_unit_test(request),
		cmocka_unit_test(request_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
