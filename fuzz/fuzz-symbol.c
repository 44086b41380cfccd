/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reads the input as an ELF file's symbols, as a file's debug data, and as
 * kallsyms, and looks up addresses all over it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_file(const uint8_t *data, size_t size, char path[64])
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void look_up(struct seam_symbolizer *s, int file, size_t size)
{
	struct seam_symbol sym;

	for (uint64_t off = 0; off < size + 64; off += 1 + size / 512) {
		if (seam_symbolize_user(s, file, off, &sym) &&
		    (!sym.name || !sym.raw_name || sym.off >= sym.size))
			abort();
		if (seam_symbolize_kernel(s, off, &sym) &&
		    (!sym.name || sym.off >= sym.size))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct seam_symbol_opts opts = {.sz = sizeof(opts),
					.debug_root = "/nonexistent",
					.kallsyms = path};
	struct seam_symbolizer *s;
	int fd = make_file(data, size, path);
	int file;

	if (seam_symbolizer_new(&opts, &s))
		abort();
	file = seam_symbolizer_file(s, path, NULL, 0);
	look_up(s, file, size);
	seam_symbolizer_file_problem(s, file);
	seam_symbolizer_kernel_problem(s);
	seam_symbolizer_free(s);
	close(fd);
	return 0;
}
