/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A file with its table inside, as a linker would have put it there. */
#ifndef SEAM_LIB_TABLE_INTO_ELF_H
#define SEAM_LIB_TABLE_INTO_ELF_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf.h"
#include "seam/error.h"
#include "table/table.h"

struct seam_table_in_elf {
	uint64_t svma, size; /* of .sframe */
	bool in_place; /* an old section's place was large enough */
	struct seam_table_stats stats;
};

/*
 * The table of elf's CFI, of version 2 or 3, as it lies at address 0. The
 * caller frees *ret_bytes. -ENOENT: no function of it has a rule.
 */
int seam_table_of_elf(const struct seam_elf *elf, uint8_t version,
		      uint8_t **ret_bytes, size_t *ret_size,
		      struct seam_table_stats *ret_stats,
		      struct seam_errinfo *reterr);

/*
 * Writes to fd, an empty file, what elf is, with a section .sframe of its CFI,
 * of version 2 or 3, added or replaced: loaded, read-only, named by
 * PT_GNU_SFRAME. elf: all bytes at hand. -ENOENT: no function of it has a rule;
 * -EINVAL: see elf/add-section.h for what is refused.
 */
int seam_table_into_elf(const struct seam_elf *elf, uint8_t version, int fd,
			struct seam_table_in_elf *ret,
			struct seam_errinfo *reterr);

#endif
