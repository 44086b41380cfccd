// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: of each system call that can unmap memory, by its number and
 * arguments, what it will take; and nothing of those that the kernel refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "core/unmap.h"

#define AT 0x20000000
#define TO 0x30000000
#define PAGE 4096
#define MOVE MREMAP_MAYMOVE
#define FIXED (MREMAP_MAYMOVE | MREMAP_FIXED)
#define KEEP (MREMAP_MAYMOVE | 4) /* MREMAP_DONTUNMAP */

static const struct {
	enum seam_unmap_call call;
	uint64_t args[5];
	uint64_t start, pages, start2, pages2;
} cases[] = {
	{SEAM_UNMAP_MUNMAP, {AT, PAGE}, AT, 1, 0, 0},
	{SEAM_UNMAP_MUNMAP, {AT, PAGE + 1}, AT, 2, 0, 0},
	{SEAM_UNMAP_MUNMAP, {AT, 0}, 0, 0, 0, 0},
	{SEAM_UNMAP_MUNMAP, {AT + 1, PAGE}, 0, 0, 0, 0},
	{SEAM_UNMAP_MUNMAP, {AT, UINT64_MAX}, 0, 0, 0, 0},
	{SEAM_UNMAP_MUNMAP, {AT, 0 - (uint64_t)AT}, 0, 0, 0, 0},
	{SEAM_UNMAP_MMAP, {AT, PAGE, 7, MAP_FIXED}, AT, 1, 0, 0},
	{SEAM_UNMAP_MMAP, {AT, PAGE, 7, 0}, 0, 0, 0, 0},
	{SEAM_UNMAP_MMAP,
	 {AT, PAGE, 7, MAP_FIXED | MAP_FIXED_NOREPLACE},
	 0,
	 0,
	 0,
	 0},
	{SEAM_UNMAP_MREMAP, {AT, 3 * PAGE, PAGE, 0}, AT + PAGE, 2, 0, 0},
	{SEAM_UNMAP_MREMAP, {AT, 3 * PAGE, PAGE, MOVE}, AT + PAGE, 2, 0, 0},
	{SEAM_UNMAP_MREMAP, {AT, PAGE, 3 * PAGE, 0}, 0, 0, 0, 0},
	{SEAM_UNMAP_MREMAP, {AT, PAGE, 3 * PAGE, MOVE}, AT, 1, 0, 0},
	{SEAM_UNMAP_MREMAP, {AT, PAGE, PAGE, MOVE}, 0, 0, 0, 0},
	{SEAM_UNMAP_MREMAP, {AT, PAGE, 0, MOVE}, 0, 0, 0, 0},
	{SEAM_UNMAP_MREMAP, {AT, PAGE, PAGE, KEEP}, AT, 1, 0, 0},
	{SEAM_UNMAP_MREMAP, {AT, PAGE, 2 * PAGE, FIXED, TO}, AT, 1, TO, 2},
	{SEAM_UNMAP_MREMAP, {AT, 0, PAGE, FIXED, TO}, 0, 0, TO, 1},
	{SEAM_UNMAP_MREMAP, {AT, PAGE, PAGE, MREMAP_FIXED, TO}, 0, 0, 0, 0},
	{SEAM_UNMAP_NONE, {AT, PAGE}, 0, 0, 0, 0},
};

static void test_ranges(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seam_unmapped u =
			seam_unmap(cases[i].call, cases[i].args);

		assert_int_equal(u.start, cases[i].start);
		assert_int_equal(u.end - u.start, cases[i].pages * PAGE);
		assert_int_equal(u.start2, cases[i].start2);
		assert_int_equal(u.end2 - u.start2, cases[i].pages2 * PAGE);
	}
}

static void test_calls(void **state)
{
	(void)state;
	assert_int_equal(seam_unmap_call(SYS_munmap, false), SEAM_UNMAP_MUNMAP);
	assert_int_equal(seam_unmap_call(SYS_munmap | 0x40000000, false),
			 SEAM_UNMAP_MUNMAP);
	assert_int_equal(seam_unmap_call(SYS_mmap, false), SEAM_UNMAP_MMAP);
	assert_int_equal(seam_unmap_call(SYS_mremap, false), SEAM_UNMAP_MREMAP);
	assert_int_equal(seam_unmap_call(SYS_munmap, true), SEAM_UNMAP_NONE);
	/* <asm/unistd_32.h> */
	assert_int_equal(seam_unmap_call(91, true), SEAM_UNMAP_MUNMAP);
	assert_int_equal(seam_unmap_call(192, true), SEAM_UNMAP_MMAP);
	assert_int_equal(seam_unmap_call(163, true), SEAM_UNMAP_MREMAP);
	assert_int_equal(seam_unmap_call(90, true), SEAM_UNMAP_OLD_MMAP);
	assert_int_equal(seam_unmap_call(91, false), SEAM_UNMAP_NONE);
	assert_int_equal(seam_unmap_call((uint64_t)-1, false), SEAM_UNMAP_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
