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

/* Stands in for the C library's, for the whole program. */
static long left = -1;

void *reallocarray(void *p, size_t num, size_t size)
{
	if (!left || (num && size > SIZE_MAX / num)) {
		errno = ENOMEM;
		return NULL;
	}
	if (left > 0)
		left--;
	return realloc(p, num * size);
}

/* Return: whether the build with n allocations went through. */
static int build(const struct seam_elf *elf, long n)
{
	struct seam_table_stats stats;
	uint8_t *bytes = NULL;
	size_t size = 42;
	int r;

	left = n;
	r = seam_table_build_kernel(elf, &bytes, &size, &stats, NULL);
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

int main(void)
{
	const char *path = "/lib64/ld-linux-x86-64.so.2";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct seam_elf *elf;
	long n = 0;

	if (fd < 0 || seam_elf_open_fd(fd, 0, &elf, NULL)) {
		printf("skipped: %s cannot be read\n", path);
		return 77;
	}
	close(fd);
	while (!build(elf, n))
		n++;
	seam_elf_close(elf);
	printf("%ld places\n", n);
	/* Functions, rows, their bytes: each grows at least twice. */
	return n < 6;
}
