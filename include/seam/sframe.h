/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/sframe.h: reads SFrame sections, of version 1, 2 or 3, of amd64,
 * aarch64 in either byte order and s390x.
 *
 * Nothing is copied or allocated, and nothing is trusted: every offset is
 * checked before it is read through. All calls but seam_section_verify are
 * async-signal-safe.
 *
 *	struct seam_section section;
 *	struct seam_row row;
 *	int r = seam_section_open(&section, bytes, size, addr, NULL);
 *	if (!r)
 *		r = seam_section_find(&section, pc, &row);
 */
#ifndef SEAM_SFRAME_H
#define SEAM_SFRAME_H

#include <stddef.h>
#include <stdint.h>

#include "seam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open section. May be copied; it borrows the bytes, and needs no close. */
struct seam_section {
	uint64_t opaque[16];
};

struct seam_section_info {
	uint8_t version, flags, abi; /* as in the header */
	int8_t fixed_fp_off, fixed_ra_off; /* from the CFA; 0: not fixed */
	uint32_t num_functions, num_rows;
};

struct seam_function {
	uint64_t start; /* in the space of addr, see seam_section_open */
	uint32_t size, num_rows;
	uint8_t rep_size; /* rows repeat after so many bytes; 0: they do not */
	uint8_t is_signal; /* the frame is a signal trampoline's */
};

/* How a value is found; the CFA by one of the last two. */
enum seam_row_how {
	SEAM_ROW_SAME = 0, /* as it was; RA on amd64: at CFA - 8 */
	SEAM_ROW_CFA_OFF = 1, /* CFA + off */
	SEAM_ROW_CFA_DEREF = 2, /* the word at CFA + off */
	SEAM_ROW_REG_OFF = 3, /* register + off */
	SEAM_ROW_REG_DEREF = 4, /* the word at register + off */
};

struct seam_row_value {
	int32_t off; /* bytes */
	uint8_t how; /* enum seam_row_how */
	uint8_t reg; /* by DWARF number */
};

enum seam_row_flags {
	SEAM_ROW_OUTERMOST = 1, /* the last frame: there are no values */
	SEAM_ROW_SIGNAL = 2, /* the caller was interrupted */
	SEAM_ROW_MANGLED = 4, /* aarch64: RA carries a signature */
};

struct seam_row {
	uint32_t start; /* from the function's, or its block's; not of find */
	uint32_t flags; /* enum seam_row_flags */
	struct seam_row_value cfa, ra, fp;
};

/*
 * Opens the section in bytes, which are borrowed; addr is where it lies: an
 * address of a process, of a file, or 0. Only the header is checked.
 * Return: 0; -EINVAL with *reterr (which may be NULL).
 */
int seam_section_open(struct seam_section *ret, const void *bytes, size_t size,
		      uint64_t addr, struct seam_errinfo *reterr);

/*
 * Checks every byte that a reader would look at; linear in size.
 * Return: 0; -EINVAL with *reterr: what is wrong, and where.
 */
int seam_section_verify(const void *bytes, size_t size,
			struct seam_errinfo *reterr);

void seam_section_info(const struct seam_section *section,
		       struct seam_section_info *ret);

/*
 * The row for a pc; of a return address, pass the one before it.
 * Return: 0; -ENOENT: none covers it; -EINVAL: what covers it is malformed.
 */
int seam_section_find(const struct seam_section *section, uint64_t pc,
		      struct seam_row *ret);

/* Function i. Return: 0; -ENOENT: there are no more; -EINVAL: malformed. */
int seam_section_function(const struct seam_section *section, uint32_t i,
			  struct seam_function *ret);

/*
 * The rows of function i, in order: *at begins as 0 and is moved on.
 * Return: 1: a row; 0: there are no more; -ENOENT: no such function; -EINVAL:
 * malformed.
 */
int seam_section_next_row(const struct seam_section *section, uint32_t i,
			  uint64_t *at, struct seam_row *ret);

#ifdef __cplusplus
}
#endif

#endif
