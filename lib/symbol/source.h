/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Source lines and inlined functions, from the DWARF (2 to 5) of one file.
 *
 * libdw reads entries and their attributes. What a hostile file could make
 * endless is bounded here: entries are walked without recursion, to a depth
 * and with an amount of work that grows with the file alone; abbreviations
 * are measured before libdw reads them; lines are read here (source-line.c).
 * libdw gets an image of the debug sections alone, unpacked (source-image.c),
 * so that it opens no other file that this one names.
 *
 * Units, functions and lines are read when an address first needs them, and
 * kept. A failed allocation inside of libdw ends in its own assertions.
 */
#ifndef SEAM_LIB_SYMBOL_SOURCE_H
#define SEAM_LIB_SYMBOL_SOURCE_H

#include "elf/elf.h"

struct seam_source;

/* One function at an address. */
struct seam_source_frame {
	const char *name; /* NULL: not known; of the last one always */
	const char *file; /* NULL: not known */
	uint32_t line; /* 0: not known */
	bool inlined;
};

/* Frames of one address at most; inlined ones deeper than that are left out
 * at the outermost end. Compilers stop far below. */
#define SEAM_SOURCE_DEPTH 256

/*
 * Both files may be closed afterwards. alt: what .gnu_debugaltlink names, or
 * NULL. demangle: whether C++ and Rust names are shown as written.
 * Return: 0; -ENOENT: there is no debugging information; -EFBIG: over 2 GiB;
 * -EINVAL: damaged; -ENOMEM.
 */
int seam_source_open(const struct seam_elf *elf, const struct seam_elf *alt,
		     bool demangle, struct seam_source **ret);
struct seam_source *seam_source_close(struct seam_source *s);

/*
 * The functions that svma is in, innermost first: those inlined there, then
 * the one that was called, whose name the symbol table knows better. Each
 * has the line where it was, which is the next one's call.
 * Return: how many frames; 0: nothing is known; -ENOMEM. They are the
 * source's, until the next call; their strings until it is closed.
 */
int seam_source_find(struct seam_source *s, uint64_t svma,
		     const struct seam_source_frame **ret);

/* What of it could not be used, and why; NULL: all could so far. */
const char *seam_source_problem(const struct seam_source *s);

#endif
