// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a copied stack is unwound through code that has derived rules
 * only, and from a system call that is its function's last instruction.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../cfi/image.h"
#include "core/err.h"
#include "unwind/dump.h"

#define STACK 0x7f0000000000
#define RA 0x500000000000 /* outside of every mapping */

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	const struct seam_mapping *map = ctx;

	if (avma >= RA)
		return -ENOENT;
	*ret = *map;
	return 0;
}

static struct seam_dump dump_at(struct seam_mapping *map, uint64_t ip,
				const uint64_t *stack, size_t size)
{
	struct seam_dump dump = {
		.regs = {.valid = (1u << SEAM_CFI_REGS) - 1},
		.stack_avma = STACK,
		.stack = (const uint8_t *)stack,
		.stack_size = size,
		.find = find,
		.ctx = map,
	};

	dump.regs.r[6] = 0x1234;
	dump.regs.r[7] = STACK;
	dump.regs.r[16] = ip;
	return dump;
}

/* Every row of every function of this program that has no CFI. */
static void test_derived(void **state)
{
	struct seam_mapping map = {0};
	struct seam_derived *derived;
	const struct seam_derived_row *rows;
	uint64_t ips[8];
	size_t n;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), end;

	(void)state;
	assert_int_equal(seam_elf_open_fd(fd, 0, &map.elf, NULL), 0);
	close(fd);
	assert_int_equal(seam_cfi_open(map.elf, &map.cfi, NULL), 0);
	assert_int_equal(seam_derived_build(map.elf, map.cfi, &derived), 0);
	rows = seam_derived_rows(derived, &n);
	assert_true(n >= 6);
	for (size_t i = 0; i < n; i++) {
		size_t words = (size_t)rows[i].rule.cfa.off / 8;
		uint64_t stack[64] = {0};
		struct seam_dump dump =
			dump_at(&map, rows[i].start, stack, sizeof(stack));

		if (words > 64)
			continue;
		stack[words - 1] = RA;
		map.derived = NULL;
		assert_true(seam_dump_unwind(&dump, ips, 8, &end) == 1);
		map.derived = derived;
		assert_int_equal(seam_dump_unwind(&dump, ips, 8, &end), 2);
		assert_int_equal(ips[1], RA);
		assert_int_equal(end, SEAM_NO_TABLE);
	}
	seam_derived_free(derived);
	seam_cfi_close(map.cfi);
	seam_elf_close(map.elf);
}

/* Where the C library's clone is, as its file's svma. */
static uint64_t open_libc(struct seam_mapping *map)
{
	uintptr_t clone_at = (uintptr_t)dlsym(RTLD_DEFAULT, "clone");
	Dl_info info;
	int fd;

	assert_int_not_equal(dladdr((void *)clone_at, &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_int_equal(seam_elf_open_fd(fd, 0, &map->elf, NULL), 0);
	close(fd);
	assert_int_equal(seam_cfi_open(map->elf, &map->cfi, NULL), 0);
	return clone_at - (uintptr_t)info.dli_fbase;
}

/* Behind the C library's clone: its parent goes back, its child nowhere. */
static void test_forked(void **state)
{
	struct seam_mapping map = {0};
	const uint64_t stack[] = {RA, 0};
	uint64_t at = open_libc(&map), end_at = at + 256, ips[8];
	struct seam_derived *derived;
	struct seam_rule rule;
	struct seam_dump dump;
	size_t n = 0;
	int end;

	(void)state;
	assert_int_equal(seam_derived_build(map.elf, map.cfi, &derived), 0);
	map.derived = derived;
	for (; at < end_at; at++) {
		if (!seam_derived_find_forked(derived, at, &rule))
			continue;
		n++;
		dump = dump_at(&map, at, stack, sizeof(stack));
		dump.regs.r[0] = 1234;
		assert_int_equal(seam_dump_unwind(&dump, ips, 8, &end), 2);
		assert_int_equal(ips[1], RA);
		dump.regs.r[0] = 0;
		assert_int_equal(seam_dump_unwind(&dump, ips, 8, &end), 1);
		assert_int_equal(end, SEAM_OUTERMOST);
		/* Nobody knows who it is. */
		dump.regs.valid &= ~1u;
		assert_int_equal(seam_dump_unwind(&dump, ips, 8, &end), 1);
		assert_int_equal(end, SEAM_NO_TABLE);
	}
	seam_derived_free(derived);
	seam_cfi_close(map.cfi);
	seam_elf_close(map.elf);
	if (!n)
		print_message("this C library's clone has CFI throughout\n");
	if (!n)
		skip();
}

static void test_system_call(void **state)
{
	static const struct spec spec;
	static struct image im;
	const uint64_t stack[] = {RA, 0};
	const uint64_t behind = IMAGE_FUNC + IMAGE_FUNC_SIZE;
	struct seam_mapping map = {0};
	struct seam_dump dump = dump_at(&map, behind, stack, sizeof(stack));
	uint64_t ips[8];
	int end;

	(void)state;
	image_build(&im, &spec);
	assert_int_equal(seam_elf_open_mem(im.bytes, im.size, &map.elf, NULL),
			 0);
	assert_int_equal(seam_cfi_open(map.elf, &map.cfi, NULL), 0);
	assert_int_equal(seam_dump_unwind(&dump, ips, 8, &end), 1);
	assert_int_equal(end, SEAM_NO_TABLE);
	dump.syscall = true;
	assert_int_equal(seam_dump_unwind(&dump, ips, 8, &end), 2);
	assert_int_equal(ips[0], behind);
	assert_int_equal(ips[1], RA);
	/* A function called through rcx has its first address there, too. */
	dump.syscall = false;
	dump.regs.r[2] = behind;
	assert_int_equal(seam_dump_unwind(&dump, ips, 8, &end), 1);
	seam_cfi_close(map.cfi);
	seam_elf_close(map.elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_derived),
		cmocka_unit_test(test_forked),
		cmocka_unit_test(test_system_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
