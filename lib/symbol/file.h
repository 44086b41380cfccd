/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One file of a symbolizer: what names it, and its symbols once asked. */
#ifndef SEAM_LIB_SYMBOL_FILE_H
#define SEAM_LIB_SYMBOL_FILE_H

#include "symbol/symtab.h"

struct seam_symbol_file {
	char *path;
	uint8_t build_id[SEAM_BUILD_ID_MAX];
	size_t build_id_len; /* 0: unknown */
	size_t asked_id_len; /* as the caller named it, for look-ups */
	bool loaded;
	struct seam_symtab tab;
	struct seam_elf_segment *segments;
	size_t num_segments;
	char problem[200]; /* empty: none */
};

/* Reads everything once; what went wrong is in problem. */
void seam_symbol_file_load(struct seam_symbol_file *f, const char *debug_root);
/* Return: false if no segment of the file holds off. */
bool seam_symbol_file_svma(const struct seam_symbol_file *f, uint64_t off,
			   uint64_t *ret_svma);
void seam_symbol_file_fini(struct seam_symbol_file *f);

#endif
