/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside the ELF reader. elf.c opens, section.c has sections, relocate.c
 * those of relocatable files, note.c build-ids, loaded.c images in memory. */
#ifndef SEAM_LIB_ELF_PRIVATE_H
#define SEAM_LIB_ELF_PRIVATE_H

#include <gelf.h>

#include "elf/elf.h"
#include "elf/entry.h"

enum seam_elf_memory {
	SEAM_ELF_BORROWED,
	SEAM_ELF_MAPPED,
	SEAM_ELF_COPIED,
	/* anonymous, pages are there where they were written */
	SEAM_ELF_IN_PARTS,
};

/* One section header; at its index. */
struct seam_elf_shdr {
	const char *name; /* NULL: not usable by name */
	uint32_t type, link, info;
	uint64_t flags;
	bool has_bytes; /* they are at hand */
	struct seam_elf_section bytes;
};

struct seam_elf_note {
	uint64_t off, size;
	uint32_t align;
};

struct seam_elf {
	const uint8_t *bytes;
	size_t size;
	enum seam_elf_memory kind;
	uint64_t bias; /* see seam_elf_bias */
	struct seam_elf_parts parts; /* at hand; none: all is */
	Elf *libelf;
	GElf_Ehdr ehdr;
	struct seam_elf_segment *segments;
	size_t num_segments;
	/* Parsed at open: look-ups then need no libelf, which no two threads
	 * may use at once. */
	struct seam_elf_shdr *sections;
	size_t num_sections;
	struct seam_elf_note *notes;
	size_t num_notes;
	struct seam_elf_section eh_frame_hdr;
	struct seam_entry_memo entry;
};

/* Takes the memory that from names, and its parts. */
int seam_elf_open_memory(struct seam_elf *from, struct seam_elf **ret_elf,
			 struct seam_errinfo *reterr);
/* Fills elf->sections, and elf->segments of a relocatable file. */
int seam_elf_read_sections(struct seam_elf *elf);

/* Of the file's byte order. */
static inline uint64_t seam_elf_load(const struct seam_elf *elf,
				     const uint8_t *p, size_t size)
{
	bool le = elf->ehdr.e_ident[EI_DATA] == ELFDATA2LSB;
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)p[i] << 8 * (le ? i : size - 1 - i);
	return v;
}

/* Where a section's bytes lie in a buffer. size 0: they do not. */
struct seam_elf_place {
	uint64_t at, size;
};

/*
 * Applies the relocations of sections to a copy of their content, in which
 * each has the place that places has by its number. svma: of the copy, for
 * what is relative to itself.
 * Return: 0, with the offsets of what could not be resolved in ascending
 * order, the caller's; -EINVAL or -ENOMEM.
 */
int seam_elf_relocate(const struct seam_elf *elf,
		      const struct seam_elf_place *places, uint64_t svma,
		      uint8_t *content, uint64_t **ret_unresolved,
		      size_t *ret_num_unresolved);

#endif
