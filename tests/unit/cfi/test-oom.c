/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: when memory runs out, wherever that is, opening a file and
 * looking a row up fail, give nothing and can be tried again; the builds
 * with sanitizers see that nothing leaks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "cfi/cfi.h"
#include "image.h"
#include "tests/unit/oom.h"
#include "tests/unit/skip.h"

/* These stand in for the C library's, for the whole program. */
void *calloc(size_t num, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(num, size, &bytes) || !may_allocate())
		return NULL;
	p = malloc(bytes);
	/* Without this the compiler makes calloc of malloc and memset. */
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p ? memset(p, 0, bytes) : NULL;
}

void *reallocarray(void *p, size_t num, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(num, size, &bytes) || !may_allocate())
		return NULL;
	return realloc(p, bytes);
}

static struct image im;

/* Return: whether n allocations were enough. libelf, out of memory, only
 * says that it cannot read the file. */
static bool open_elf(long n)
{
	struct seam_elf *elf = (void *)&im;
	int rc;

	left = n;
	rc = seam_elf_open_mem(im.bytes, im.size, &elf, NULL);
	left = -1;
	if (rc) {
		assert_true(rc == -ENOMEM || rc == -EINVAL);
		assert_ptr_equal(elf, &im);
		return false;
	}
	seam_elf_close(elf);
	return true;
}

static void opening(void **state)
{
	long n = 0;

	(void)state;
	while (n < 100 && !open_elf(n))
		n++;
	assert_in_range(n, 3, 99);
}

/* An image in memory: the kernel's own, which every process has. */
static int read_self(void *ctx, uint64_t avma, void *to, size_t size)
{
	(void)ctx;
	memcpy(to, (const void *)(uintptr_t)avma, size);
	return 0;
}

static void opening_loaded(void **state)
{
	uint64_t header = getauxval(AT_SYSINFO_EHDR);
	struct seam_elf *elf = (void *)&im;
	int rc = -ENOMEM;
	long n;

	(void)state;
	if (!header)
		skip_since("no vDSO is mapped here");
	for (n = 0; n < 100 && rc; n++) {
		left = n;
		rc = seam_elf_open_loaded(read_self, NULL, header, &elf, NULL);
		left = -1;
		assert_true(!rc || rc == -ENOMEM || rc == -EINVAL);
		if (rc)
			assert_ptr_equal(elf, &im);
	}
	assert_in_range(n, 4, 99);
	seam_elf_close(elf);
}

static void looking_up(void **state)
{
	struct seam_cfi *cfi = (void *)&im;
	struct seam_cfi_row row = {.start = 42};
	struct seam_elf *elf;
	int rc = -ENOMEM;
	long n;

	(void)state;
	assert_int_equal(seam_elf_open_mem(im.bytes, im.size, &elf, NULL), 0);
	left = 0;
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), -ENOMEM);
	assert_ptr_equal(cfi, &im);
	left = -1;
	assert_int_equal(seam_cfi_open(elf, &cfi, NULL), 0);
	for (n = 0; n < 100 && rc; n++) {
		left = n;
		rc = seam_cfi_find(cfi, IMAGE_FUNC, &row, NULL);
		left = -1;
		assert_true(rc == 0 || rc == -ENOMEM);
		assert_int_equal(row.start, rc ? 42 : IMAGE_FUNC);
	}
	assert_in_range(n, 4, 99);
	seam_cfi_close(cfi);
	seam_elf_close(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening),
		cmocka_unit_test(opening_loaded),
		cmocka_unit_test(looking_up),
	};
	struct spec spec = {0};

	image_build(&im, &spec);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
