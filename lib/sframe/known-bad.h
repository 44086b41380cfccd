/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * CFI that is known to be wrong: known-bad.def, and where in a file it is.
 *
 * An entry is found by its instructions, wherever a compiler or a C library
 * put them, and holds only where the file's CFI says what the entry claims.
 */
#ifndef SEAM_LIB_SFRAME_KNOWN_BAD_H
#define SEAM_LIB_SFRAME_KNOWN_BAD_H

#include "cfi/cfi.h"

/* What CFI says at a bad instruction. */
enum seam_known_bad_sign {
	SEAM_BAD_FP_SAVED, /* RBP is saved somewhere */
	SEAM_BAD_FP_STALE, /* RBP is saved at *(RBP + 0) */
	SEAM_BAD_CFA_NOT_FP, /* the CFA is reckoned from another than RBP */
	SEAM_BAD_CFA_DI, /* the CFA is reckoned from RDI */
	SEAM_BAD_NO_FDE, /* nothing: no FDE covers it */
};

struct seam_known_bad {
	const char *name;
	const char *files, *code; /* see known-bad.def */
	int from, to;
	enum seam_known_bad_sign sign;
	const char *says, *truth;
};

/* All of them; static. */
const struct seam_known_bad *seam_known_bad_all(size_t *ret_count);

/*
 * The entry that an instruction falls under. path: the file's, for its name.
 * cfi NULL: it has none. Return: NULL if there is none.
 */
const struct seam_known_bad *seam_known_bad_at(const struct seam_elf *elf,
					       struct seam_cfi *cfi,
					       const char *path, uint64_t svma);

/*
 * Each range [start, end) of svmas with bad instructions in the executable
 * segments of a file. Those of one entry are by address and do not overlap;
 * entries are in the list's order. fn returns 0 to go on, anything else is
 * returned. Work is linear in the size of the segments for each entry.
 */
int seam_known_bad_each(const struct seam_elf *elf, struct seam_cfi *cfi,
			const char *path,
			int (*fn)(void *ctx, const struct seam_known_bad *bad,
				  uint64_t start, uint64_t end),
			void *ctx);

struct seam_known_bad_range {
	const struct seam_known_bad *bad;
	uint64_t start, end; /* svma */
};

/* All of a file's, as seam_known_bad_each gives them. Return: 0, and the caller
 * frees *ret with free(), which may be NULL; -ENOMEM. */
int seam_known_bad_list(const struct seam_elf *elf, struct seam_cfi *cfi,
			const char *path, struct seam_known_bad_range **ret,
			size_t *ret_count);

#endif
