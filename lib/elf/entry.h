/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The entry point of a file. What is found is kept with the file: asking
 * again is cheap. The first time reads the file through libelf. */
#ifndef SEAM_LIB_ELF_ENTRY_H
#define SEAM_LIB_ELF_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf.h"

struct seam_entry_memo {
	bool has_real, has_next;
	bool is_real;
	uint64_t next;
};

/*
 * Whether execution can begin at the file's e_entry. Linkers write one into
 * libraries too, where it means nothing: the start of their text.
 */
bool seam_entry_is_real(const struct seam_elf *elf);

/* The lowest value of a symbol that is above e_entry, else UINT64_MAX. */
uint64_t seam_entry_next_symbol(const struct seam_elf *elf);

/* elf.c's; for entry.c alone. */
struct seam_entry_memo *seam_elf_entry_memo(const struct seam_elf *elf);

#endif
