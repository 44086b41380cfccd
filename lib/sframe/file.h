/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The SFrame section of a file, of any kind: an ELF file with section headers
 * or with PT_GNU_SFRAME alone, a relocatable one, or the bytes of a section
 * by themselves, which count as lying at address 0.
 */
#ifndef SEAM_LIB_SFRAME_FILE_H
#define SEAM_LIB_SFRAME_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sframe-section.h"
#include "elf/elf.h"
#include "seam/error.h"

struct seam_sframe_file {
	const struct seam_elf *elf; /* borrowed; NULL: a section by itself */
	const uint8_t *bytes; /* with relocations applied */
	size_t size; /* all that may be read; the section may be shorter */
	uint64_t svma, off; /* in the file */
	bool is_rel; /* of a relocatable file */
	struct seam_elf_content content; /* owns what was relocated */
};

/*
 * Finds the section; its bytes are not looked at. -ENOENT: there is none.
 * elf is borrowed until close.
 */
int seam_sframe_file_find(const struct seam_elf *elf,
			  struct seam_sframe_file *ret,
			  struct seam_errinfo *reterr);
/* A section by itself; bytes are borrowed. */
void seam_sframe_file_raw(const uint8_t *bytes, size_t size,
			  struct seam_sframe_file *ret);
void seam_sframe_file_fini(struct seam_sframe_file *f);

/* Opens it for reading. Return: 0, or -EINVAL with the header's fault. */
int seam_sframe_file_open(const struct seam_sframe_file *f,
			  struct seam_sframe *ret, struct seam_errinfo *reterr);

/* An address as binutils show it: of a relocatable file, the distance from
 * the start of the section that it lies in. */
uint64_t seam_sframe_file_shown(const struct seam_sframe_file *f,
				uint64_t svma);

#endif
