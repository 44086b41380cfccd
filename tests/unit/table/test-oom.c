// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: when memory runs out, wherever that is, a conversion says so
 * and gives nothing; the builds with sanitizers see that nothing leaks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/elf.h"
#include "table/table.h"
#include "tests/unit/oom.h"

/* Stands in for the C library's, for the whole program. */
void *reallocarray(void *p, size_t num, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(num, size, &bytes) || !may_allocate())
		return NULL;
	return realloc(p, bytes);
}

typedef int build_fn(const struct seam_elf *elf, uint8_t **ret_bytes,
		     size_t *ret_size, struct seam_table_stats *ret_stats,
		     struct seam_errinfo *reterr);

/* Return: whether the build with n allocations went through. */
static int build(const struct seam_elf *elf, build_fn *fn, long n)
{
	struct seam_table_stats stats;
	uint8_t *bytes = NULL;
	size_t size = 42;
	int r;

	left = n;
	r = fn(elf, &bytes, &size, &stats, NULL);
	left = -1;
	if (r == -ENOMEM && !bytes && size == 42)
		return 0;
	if (r || !bytes || size == 42) {
		printf("with %ld allocations: %d\n", n, r);
		exit(1);
	}
	free(bytes);
	return 1;
}

/* Return: how many allocations there are; 0: the file cannot be read. */
static long try_file(const char *path, build_fn *fn)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct seam_elf *elf;
	long n = 0;

	if (fd < 0 || seam_elf_open_fd(fd, 0, &elf, NULL)) {
		printf("%s cannot be read\n", path);
		return 0;
	}
	close(fd);
	while (!build(elf, fn, n))
		n++;
	seam_elf_close(elf);
	printf("%s: %ld places\n", path, n);
	return n;
}

int main(void)
{
	/* The loader of programs, and what they are linked with: relocated,
	 * and so copied, first. */
	static const char loader[] = "/lib64/ld-linux-x86-64.so.2";
	static const char object[] = "/usr/lib/x86_64-linux-gnu/crt1.o";
	long kernel = try_file(loader, seam_table_build_kernel);
	long file = try_file(loader, seam_table_build);
	long relocated = try_file(object, seam_table_build);

	if (!kernel || !file || !relocated)
		return 77;
	/* Functions, rows, their bytes: each grows at least twice. */
	return kernel < 6 || file < 6 || relocated < 4;
}
