/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where the symbols of a stripped file are kept. */
#ifndef SEAM_LIB_SYMBOL_DEBUGFILE_H
#define SEAM_LIB_SYMBOL_DEBUGFILE_H

#include <limits.h>

#include "elf/elf.h"

/* Opens any file; never waits for a FIFO, never follows to a device. parts:
 * SEAM_ELF_NAMES or SEAM_ELF_SOURCE. may_doubt: it is looked at for what it
 * says of itself, not for its path: SEAM_DOUBTED, see elf/doubt.h. */
int seam_symbol_open(const char *path, int parts, bool may_doubt,
		     struct seam_elf **ret);
/* By its path, with SEAM_ELF_SOURCE. */
int seam_symbol_open_elf(const char *path, struct seam_elf **ret);
/* The same, with SEAM_ELF_NAMES. */
int seam_symbol_open_names(const char *path, struct seam_elf **ret);

/* ROOT/.build-id/xx/yyyy.debug, or what a debuginfod client has fetched, or
 * perf has kept, if it carries that build-id. parts: SEAM_ELF_NAMES or
 * SEAM_ELF_SOURCE. ret_path: where it was found. SEAM_DOUBTED: there is one, at
 * ret_path, but see elf/doubt.h; so with links. -ESTALE: the one at ret_path
 * has another build-id. */
int seam_debugfile_by_build_id(const char *root, const uint8_t *id,
			       size_t id_len, int parts, struct seam_elf **ret,
			       char ret_path[static PATH_MAX]);
/* The file itself, not there at its path any more, as perf or a debuginfod
 * client has kept it. */
int seam_debugfile_kept(const char *path, const uint8_t *id, size_t id_len,
			int parts, struct seam_elf **ret,
			char ret_path[static PATH_MAX]);
/* .gnu_debuglink of the file at path: beside it, in .debug there, or in the
 * same folder below root; its checksum has to be right. */
int seam_debugfile_by_link(const char *root, const char *path,
			   const struct seam_elf *elf, struct seam_elf **ret,
			   char ret_path[static PATH_MAX]);
/* .gnu_debugaltlink of the file at path, as dwz leaves it: what several debug
 * files have in common; found by its build-id below root, or by its name, and
 * then it has to have that build-id. -ENODATA: none is named. */
int seam_debugfile_alt(const char *root, const char *path,
		       const struct seam_elf *elf, struct seam_elf **ret);
/* .gnu_debugdata, unpacked. *ret_bytes is freed by the caller after *ret is
 * closed. */
int seam_debugfile_mini(const struct seam_elf *elf, struct seam_elf **ret,
			uint8_t **ret_bytes);

#endif
