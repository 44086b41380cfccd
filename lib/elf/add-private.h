/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside add-section: the headers of a file, read, planned anew, written. */
#ifndef SEAM_LIB_ELF_ADD_PRIVATE_H
#define SEAM_LIB_ELF_ADD_PRIVATE_H

#include <elf.h>
#include <stdbool.h>

#include "elf/add-section.h"

struct seam_elf_add {
	const struct seam_elf *elf; /* borrowed */
	struct seam_elf_new_section spec;
	/* In this machine's byte order, with room for what is added. */
	Elf64_Ehdr eh;
	Elf64_Phdr *phdrs;
	Elf64_Shdr *shdrs; /* NULL: the file has none */
	size_t num_phdrs, num_shdrs;
	size_t old; /* index of the section that is replaced, else 0 */
	size_t first_load, last_load; /* indexes of PT_LOADs */
	bool in_place;
	uint64_t file_size; /* of the old file */
	uint64_t off, svma, size; /* of the section */
	uint64_t names_off; /* of the new section names; 0: as they were */
};

/* Others say of places in the file what nobody has checked. */
static inline bool seam_elf_add_is_in_file(const Elf64_Shdr *sh)
{
	return sh->sh_type != SHT_NOBITS && sh->sh_type != SHT_NULL;
}

/* Reads and judges the headers. -EINVAL: the file is to be left alone. */
int seam_elf_add_read(struct seam_elf_add *add, struct seam_errinfo *reterr);

#endif
