/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files that were refused, as a whole or some of their CFI: once each, by name
 * as far as there is room for names, with what is wrong first. What is no ELF
 * file at all is not refused: nobody said that it is one.
 */
#ifndef SEAM_LIB_UNWIND_REFUSED_H
#define SEAM_LIB_UNWIND_REFUSED_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "seam/tracer.h"

/* Beyond that files are counted each time that they are met. */
#define SEAM_REFUSED_KNOWN 4096

/* Zeroed: none. */
struct seam_refusals {
	struct seam_refused files[SEAM_REFUSED_NAMED];
	uint64_t n; /* of them, and of those that have no name here */
	struct seam_refused_id {
		uint64_t dev, ino, ctime_ns;
	} known[SEAM_REFUSED_KNOWN];
};

/* The file is not used at all. rc: -EINVAL, and why says what is wrong; or
 * -EFBIG. Another one refuses nothing. */
void seam_refuse_file(struct seam_refusals *r, int fd, int rc,
		      const struct seam_errinfo *why);
/* So many parts of its CFI are malformed, of which why has the first; 0:
 * nothing is refused. */
void seam_refuse_cfi(struct seam_refusals *r, int fd, uint64_t n_bad,
		     const struct seam_errinfo *why);
/* The same of one that is not open any more. */
void seam_refuse_known(struct seam_refusals *r, const char *path,
		       const struct seam_refused_id *id, uint64_t n_bad,
		       const struct seam_errinfo *why);
/* Looks at all of a file's CFI. Return: what n_bad is; *ret_why: the first. */
uint64_t seam_cfi_bad(const struct seam_elf *elf, struct seam_errinfo *ret_why);

#endif
