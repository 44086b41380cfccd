/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* An ELF object that is loaded in this process, and its rules. */
#ifndef SEAM_LIB_UNWIND_OBJECT_H
#define SEAM_LIB_UNWIND_OBJECT_H

#include <elf.h>
#include <stdbool.h>

#include "unwind/code.h"

struct seam_object {
	unsigned int refs; /* changed by the owner of them all */
	uint64_t bias; /* avma - svma */
	uint64_t identity; /* a hash: another object may come in its place */
	/* What codes point to; may be NULL. */
	uint8_t *sframe, *table;
	struct seam_cfi *cfi;
	size_t n_codes; /* 0: it has no rules */
	struct seam_code codes[];
};

/* A loaded object as dl_iterate_phdr shows it; all borrowed. */
struct seam_loaded {
	uint64_t bias;
	const Elf64_Phdr *phdrs;
	size_t n_phdrs;
	bool is_program; /* the executable: /proc/self/exe */
};

/* A hash of its program headers and notes, which say the build-id; without
 * notes, of its .eh_frame_hdr. */
uint64_t seam_loaded_identity(const struct seam_loaded *loaded);
/* Whether pc lies in one of its segments. */
bool seam_loaded_holds(const struct seam_loaded *loaded, uint64_t pc);

/*
 * Makes the rules of an object: its .sframe if that is well-formed, and a
 * table of its .eh_frame, and that itself. Where that lies memory does not say
 * of static programs, which are read from their file. The object must stay
 * loaded during the call, not longer: all is copied. An object without either,
 * or whose headers lie, has no rules, which is no error. Return: 0 or -ENOMEM.
 */
int seam_object_make(const struct seam_loaded *loaded,
		     struct seam_object **ret);
void seam_object_free(struct seam_object *object); /* NULL is fine */

#endif
