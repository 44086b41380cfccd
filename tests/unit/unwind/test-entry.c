/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: code without CFI is the outermost frame at a file's entry
 * point, and nowhere else; a return address of 0 ends a stack whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../cfi/image.h"
#include "core/err.h"
#include "unwind/dump.h"

#define BIAS 0x7f0000000000
#define SIZE 0x100000 /* of the mapping, from svma 0 on */
#define STACK 0x7ffff000

static int find(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	const struct seam_mapping *map = ctx;

	if (avma - map->bias >= SIZE)
		return -ENOENT;
	*ret = *map;
	return 0;
}

static struct seam_mapping map_image(const struct image *im)
{
	struct seam_mapping map = {.bias = BIAS};

	assert_int_equal(seam_elf_open_mem(im->bytes, im->size, &map.elf, NULL),
			 0);
	assert_int_equal(seam_cfi_open(map.elf, &map.cfi, NULL), 0);
	return map;
}

static void unmap(struct seam_mapping *map)
{
	seam_cfi_close(map->cfi);
	seam_elf_close(map->elf);
}

/* The end of a stack whose leaf is at svma, over the words given. */
static int end_at(struct seam_mapping *map, uint64_t svma,
		  const uint64_t *words, size_t count, size_t *ret_n)
{
	struct seam_dump dump = {
		.regs.valid = 1u << 7 | 1u << 16,
		.stack_avma = STACK,
		.stack = (const uint8_t *)words,
		.stack_size = count * sizeof(*words),
		.find = find,
		.ctx = map,
	};
	uint64_t ips[8];
	int end;

	dump.regs.r[7] = STACK;
	dump.regs.r[16] = svma + map->bias;
	*ret_n = seam_dump_unwind(&dump, ips, 8, &end);
	return end;
}

static int leaf_end(struct seam_mapping *map, uint64_t svma)
{
	size_t n;
	int end = end_at(map, svma, NULL, 0, &n);

	assert_int_equal(n, 1);
	return end;
}

/* One function at IMAGE_FUNC, and an entry point before it. */
static void build(struct image *im, uint64_t entry)
{
	struct spec spec = {0};

	image_build(im, &spec);
	memcpy(im->bytes + offsetof(Elf64_Ehdr, e_entry), &entry,
	       sizeof(entry));
}

static void up_to_128_bytes(void **state)
{
	const uint64_t entry = IMAGE_FUNC - 0x800;
	static struct image im;
	struct seam_mapping map;

	(void)state;
	build(&im, entry);
	map = map_image(&im);
	assert_int_equal(leaf_end(&map, entry - 1), SEAM_NO_TABLE);
	assert_int_equal(leaf_end(&map, entry), SEAM_OUTERMOST);
	assert_int_equal(leaf_end(&map, entry + 127), SEAM_OUTERMOST);
	assert_int_equal(leaf_end(&map, entry + 128), SEAM_NO_TABLE);
	unmap(&map);
}

static void up_to_the_next_function(void **state)
{
	const uint64_t entry = IMAGE_FUNC - 0x10, after = IMAGE_FUNC + 0x10;
	static struct image im;
	struct seam_mapping map;

	(void)state;
	build(&im, entry);
	map = map_image(&im);
	assert_int_equal(leaf_end(&map, entry), SEAM_OUTERMOST);
	assert_int_equal(leaf_end(&map, IMAGE_FUNC - 1), SEAM_OUTERMOST);
	assert_int_equal(leaf_end(&map, IMAGE_FUNC), SEAM_UNREADABLE);
	unmap(&map);

	/* Behind a function, within 128 bytes of the entry point. */
	struct spec spec = {.func_size = 0x10};

	image_build(&im, &spec);
	memcpy(im.bytes + offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	map = map_image(&im);
	assert_int_equal(leaf_end(&map, after), SEAM_NO_TABLE);
	unmap(&map);
}

static void not_with_cfi(void **state)
{
	static struct image im;
	struct seam_mapping map;

	(void)state;
	build(&im, IMAGE_FUNC);
	map = map_image(&im);
	assert_int_equal(leaf_end(&map, IMAGE_FUNC), SEAM_UNREADABLE);
	unmap(&map);
}

static void no_cfi_at_all(void **state)
{
	const uint64_t entry = IMAGE_FUNC - 0x800;
	static struct image im;
	struct seam_mapping map, no_elf;

	(void)state;
	build(&im, entry);
	map = map_image(&im);
	map.cfi = seam_cfi_close(map.cfi);
	assert_int_equal(leaf_end(&map, entry + 1), SEAM_OUTERMOST);
	assert_int_equal(leaf_end(&map, IMAGE_FUNC), SEAM_NO_TABLE);
	no_elf = map;
	no_elf.elf = NULL;
	assert_int_equal(leaf_end(&no_elf, entry + 1), SEAM_NO_TABLE);
	unmap(&map);
}

/* A caller is looked up one byte back: a call that ends the entry code. */
static void caller_at_the_entry(void **state)
{
	const uint64_t entry = IMAGE_FUNC - 0x10;
	const uint64_t inside[] = {BIAS + entry + 5},
		       last[] = {BIAS + IMAGE_FUNC}, first[] = {BIAS + entry},
		       zero[] = {0};
	static struct image im;
	struct seam_mapping map;
	size_t n;

	(void)state;
	build(&im, entry);
	map = map_image(&im);
	assert_int_equal(end_at(&map, IMAGE_FUNC, inside, 1, &n),
			 SEAM_OUTERMOST);
	assert_int_equal(n, 2);
	assert_int_equal(end_at(&map, IMAGE_FUNC, last, 1, &n), SEAM_OUTERMOST);
	assert_int_equal(n, 2);
	assert_int_equal(end_at(&map, IMAGE_FUNC, first, 1, &n), SEAM_NO_TABLE);
	assert_int_equal(n, 2);
	assert_int_equal(end_at(&map, IMAGE_FUNC, zero, 1, &n), SEAM_OUTERMOST);
	assert_int_equal(n, 1);
	unmap(&map);
}

/* The dynamic linker's _start has no FDE in Debian 12. */
static void dynamic_linker(void **state)
{
	struct seam_mapping map = {0};
	struct seam_cfi_row row;
	int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0) {
		print_message("there is no /lib64/ld-linux-x86-64.so.2\n");
		skip();
	}
	assert_int_equal(seam_elf_open_fd(fd, 0, &map.elf, NULL), 0);
	close(fd);
	assert_int_equal(seam_cfi_open(map.elf, &map.cfi, NULL), 0);
	if (seam_cfi_find(map.cfi, seam_elf_entry(map.elf), &row, NULL) ==
	    -ENOENT)
		assert_int_equal(leaf_end(&map, seam_elf_entry(map.elf) + 3),
				 SEAM_OUTERMOST);
	else
		print_message("its entry point has CFI here\n");
	unmap(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_to_128_bytes),
		cmocka_unit_test(up_to_the_next_function),
		cmocka_unit_test(not_with_cfi),
		cmocka_unit_test(no_cfi_at_all),
		cmocka_unit_test(caller_at_the_entry),
		cmocka_unit_test(dynamic_linker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
