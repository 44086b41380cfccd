/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the dynamic linker knows a file by: which function it puts the address
 * of into a slot, that code calls or jumps through, and which functions others
 * find there. Names are told by their hash alone. Nothing of the file is kept.
 */
#ifndef SEAM_LIB_ELF_LINKS_H
#define SEAM_LIB_ELF_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"

struct seam_links;

uint64_t seam_link_name(const char *name); /* never 0 */

struct seam_link_def {
	uint64_t name;
	uint64_t off; /* in the file */
	/* It is code, and what its name leads to: no IFUNC, whose code is
	 * another's. */
	bool is_func;
};

/*
 * elf: of x86-64, opened so that symbols are at hand. room: bytes that it may
 * take, as seam_links_bytes says. Return: 0; -ENOMEM; -ENOSPC: it would take
 * more; -ENODATA: what it links is not told, as in files without sections, or
 * those for a debugger alone.
 */
int seam_links_read(const struct seam_elf *elf, size_t room,
		    struct seam_links **ret);
struct seam_links *seam_links_free(struct seam_links *links); /* or NULL */
size_t seam_links_bytes(const struct seam_links *links);

/* Whose address lies in that slot. Return: a name, or 0: it is not known. */
uint64_t seam_links_slot(const struct seam_links *links, uint64_t svma);
/* Those of that name, of whatever version. */
const struct seam_link_def *seam_links_defs(const struct seam_links *links,
					    uint64_t name, size_t *ret_n);
/* Whether it may be the dynamic linker itself, which the first call through a
 * slot leads to. */
bool seam_links_is_linker(const struct seam_links *links);

#endif
