/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * dump-source FILE DEBUG_ROOT: reads addresses (svma, hexadecimal) from
 * standard input and prints what is there, as addr2line -a -i -f does. The
 * function's own name is not known to debugging information alone, and is
 * printed as "-". Says on standard error what could not be used.
 */
#include <inttypes.h>
#include <stdio.h>

#include "symbol/debugfile.h"
#include "symbol/symbol.h"

static void print(uint64_t svma, const struct seam_source_frame *f, int n)
{
	printf("0x%" PRIx64 "\n", svma);
	for (int i = 0; i < n; i++) {
		const char *name = f[i].name ? f[i].name : "??";

		printf("%s\n%s:%u\n", f[i].inlined ? name : "-",
		       f[i].file ? f[i].file : "??", f[i].line);
	}
	if (n <= 0)
		puts("-\n??:0");
}

int main(int argc, char **argv)
{
	struct seam_symbol_opts opts = {.sz = sizeof(opts)};
	const struct seam_source_frame *frames = NULL;
	const char *why, *path;
	struct seam_symbolizer *s;
	struct seam_elf *elf;
	uint64_t svma, off;
	size_t at = 0;
	int file;

	if (argc != 3 || seam_symbol_open_elf(argv[1], &elf))
		return 2;
	opts.debug_root = argv[2];
	if (seam_symbolizer_new(&opts, &s))
		return 1;
	file = seam_symbolizer_file(s, argv[1], NULL, 0);
	while (scanf("%" SCNx64, &svma) == 1) {
		int n = 0;

		if (seam_elf_svma_to_off(elf, svma, &off))
			n = seam_symbolize_source(s, file, off, &frames);
		print(svma, frames, n);
	}
	while ((why = seam_symbolizer_source_problem(s, &at, &path)) != NULL)
		fprintf(stderr, "%s\n", why);
	seam_symbolizer_free(s);
	seam_elf_close(elf);
	return 0;
}
