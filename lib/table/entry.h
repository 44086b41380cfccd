/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The code at a file's entry point that no CFI describes. */
#ifndef SEAM_LIB_TABLE_ENTRY_H
#define SEAM_LIB_TABLE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf.h"

/*
 * Whether execution can begin at the file's e_entry. Linkers write one into
 * libraries too, where it means nothing: the start of their text.
 */
bool seam_entry_is_real(const struct seam_elf *elf);

/* The lowest value of a symbol that is above addr and below limit, else
 * limit. */
uint64_t seam_entry_next_symbol(const struct seam_elf *elf, uint64_t addr,
				uint64_t limit);

#endif
