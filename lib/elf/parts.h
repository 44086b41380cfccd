/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which bytes of a file are at hand: ranges of it, sorted and disjoint. */
#ifndef SEAM_LIB_ELF_PARTS_H
#define SEAM_LIB_ELF_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seam_elf_part {
	uint64_t off, end;
};

struct seam_elf_parts {
	struct seam_elf_part *v;
	size_t n, room;
};

/* Adds a range; until the parts are settled they serve for nothing. */
int seam_elf_parts_add(struct seam_elf_parts *parts, uint64_t off,
		       uint64_t size);
/* Sorts, joins what touches, and cuts off what lies behind the file's end.
 * Return: how many bytes the parts have. */
uint64_t seam_elf_parts_settle(struct seam_elf_parts *parts,
			       uint64_t file_size);
bool seam_elf_parts_have(const struct seam_elf_parts *parts, uint64_t off,
			 uint64_t size);
void seam_elf_parts_fini(struct seam_elf_parts *parts);

enum seam_elf_parts_for {
	/* Headers, segments, notes, CFI and symbols, all that tables and
	 * unwinding read, but no debugging information. */
	SEAM_ELF_FOR_ALL,
	SEAM_ELF_FOR_RULES, /* of these, what CFI and entry.h need */
	SEAM_ELF_FOR_NAMES, /* what symbols need, where debug files are too */
	SEAM_ELF_FOR_SOURCE, /* that, and what DWARF tells of the source */
};

/*
 * The parts of a file. Settled.
 * Return: 0, -ENOMEM, or -EINVAL: not an ELF file.
 */
int seam_elf_parts_of_fd(int fd, uint64_t file_size,
			 enum seam_elf_parts_for what,
			 struct seam_elf_parts *ret);
/* Reads the parts into to, each at its offset. Return: 0, -errno, or -EIO
 * if the file ends before a part does. */
int seam_elf_parts_read(const struct seam_elf_parts *parts, int fd,
			uint8_t *to);

#endif
