/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Gives an executable or a shared library one more section that is loaded:
 * a section header, a read-only segment, and a program header that names it.
 * Nothing that the file has moves, in the file or in memory, but the program
 * header table, which is full in what linkers write: it goes to the new
 * segment, in front of the section.
 *
 *	seam_elf_add_plan(elf, &spec, size, &add, &err);
 *	make size bytes as they have to lie at seam_elf_add_svma(add)
 *	seam_elf_add_write(add, bytes, fd);
 *	seam_elf_add_free(add);
 *
 * The new segment lies behind all others at the same distance from its place
 * in the file as the first one. So the table is where loaders look that add
 * e_phoff to where the file begins, as Linux before 5.18, glibc's ld.so for
 * itself, and musl do. The file has a hole where memory has .bss.
 */
#ifndef SEAM_LIB_ELF_ADD_SECTION_H
#define SEAM_LIB_ELF_ADD_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"

struct seam_elf_new_section {
	const char *name; /* a section of this name is replaced */
	uint32_t sh_type;
	uint32_t p_type; /* of its program header, beside the PT_LOAD */
};

struct seam_elf_add;

/*
 * elf: with all bytes at hand (no SEAM_ELF_PARTS), borrowed until free. A
 * section of that name that is loaded and large enough is written over;
 * otherwise there is a new one, and an old one is left as unused bytes.
 * Return: 0; -ENOMEM; -EINVAL with *reterr: a file that would not run as
 * before, and why (relocatable, prelinked, packed, with bytes behind all that
 * its headers know of ...).
 */
int seam_elf_add_plan(const struct seam_elf *elf,
		      const struct seam_elf_new_section *spec, uint64_t size,
		      struct seam_elf_add **ret, struct seam_errinfo *reterr);
struct seam_elf_add *seam_elf_add_free(struct seam_elf_add *add);

/* Where the section will be loaded; and whether an old one's place serves. */
uint64_t seam_elf_add_svma(const struct seam_elf_add *add);
bool seam_elf_add_in_place(const struct seam_elf_add *add);

/* Writes the whole new file to an empty one. bytes: of the planned size.
 * Return: 0, -ENOMEM, or what writing failed with. */
int seam_elf_add_write(struct seam_elf_add *add, const void *bytes, int fd);

#endif
