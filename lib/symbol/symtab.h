/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A table of symbols, sorted by address: filled by the readers (ELF, PLT,
 * kallsyms), closed by seam_symtab_finish, then asked. Names lie in blobs
 * that the table owns.
 *
 * Which of several names for one address is shown, and where a symbol
 * without a size ends, is what `perf script` does, so that both print the
 * same names.
 */
#ifndef SEAM_LIB_SYMBOL_SYMTAB_H
#define SEAM_LIB_SYMBOL_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"

/* Longer names are shown by this much of them. */
#define SEAM_SYMBOL_NAME_MAX 16384

struct seam_sym {
	uint64_t start, end; /* [start, end); see has_size */
	const char *raw; /* in a blob; without "@plt" until named */
	char *shown; /* what is displayed; NULL until first asked */
	uint32_t up; /* the nearest one before that reaches further */
	uint16_t module; /* 0: none; else modules[module - 1] */
	uint8_t type : 4, bind : 4;
	bool has_size : 1; /* if not, end is the most it can reach */
	bool plt : 1; /* a stub for raw */
	bool named : 1; /* shown and raw are final */
};

struct seam_symtab {
	struct seam_sym *syms;
	size_t count, room;
	char **blobs;
	size_t num_blobs;
	const char **modules;
	size_t num_modules;
	bool demangle;
	uint64_t compared; /* bytes demangled to choose among aliases */
};

void seam_symtab_fini(struct seam_symtab *tab);
int seam_symtab_add(struct seam_symtab *tab, const struct seam_sym *sym);
/* Takes over a malloc'd blob. On failure it is freed. */
int seam_symtab_own(struct seam_symtab *tab, char *blob);

/* Sorts, ends and thins out the symbols; may be called again after more
 * were added. */
void seam_symtab_finish(struct seam_symtab *tab);

/* Return: the innermost symbol that holds addr, NULL if none does. */
struct seam_sym *seam_symtab_find(struct seam_symtab *tab, uint64_t addr);

/* The readers. Each adds what it finds; the count tells whether it did. */
int seam_symtab_read_elf(struct seam_symtab *tab, const struct seam_elf *elf,
			 uint32_t section_type); /* SHT_SYMTAB, SHT_DYNSYM */
/* Needs a finished table, for the names of IRELATIVE targets. */
int seam_symtab_read_plt(struct seam_symtab *tab, const struct seam_elf *elf);
/* -ENODATA: the kernel hides its addresses; -ENOMSG: it is no such list. */
int seam_symtab_read_kallsyms(struct seam_symtab *tab, const char *path);

/* A string table of a file, borrowed from it. Names in it may lack an end,
 * and may be as long as the file: elf_strptr would look for the end of each,
 * so they are compared where they lie. */
struct seam_strings {
	const char *data;
	size_t size;
};
bool seam_strings_get(const struct seam_elf *elf, size_t section,
		      struct seam_strings *ret);
/* Makes a copy the table's own, with an end behind its last byte. It is taken
 * whole: names may overlap, and copying each would let a small file ask for
 * endless memory. Return: 0; -ENOENT: there is none; -ENOMEM. */
int seam_symtab_own_strings(struct seam_symtab *tab, const struct seam_elf *elf,
			    size_t section, struct seam_strings *ret);

/* Return: a malloc'd string, or NULL if raw is no C++ or Rust name. */
char *seam_demangle(const char *raw);

#endif
