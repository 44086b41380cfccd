/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside the verifier: what a section is checked with, and its rows. */
#ifndef SEAM_LIB_SFRAME_VERIFY_ROW_H
#define SEAM_LIB_SFRAME_VERIFY_ROW_H

#include "core/sframe-section.h"
#include "sframe/verify.h"

struct seam_sframe_verify {
	struct seam_sframe sf; /* first loads, then the section as opened */
	uint64_t size;
	struct seam_sframe_limits limits;
	struct seam_errinfo *reterr;
	uint64_t rows_left; /* work still allowed */
	uint64_t rows; /* of all functions so far */
	int64_t prev_start, prev_end; /* section space */
};

/* Fills *reterr. Return: -EINVAL. */
int seam_sframe_refuse(const struct seam_sframe_verify *v, int code,
		       uint64_t offset, const char *reason);

/*
 * Checks the row at offset at. *prev_off: the start of the row in front of it
 * or -1; becomes its own. Return: the row's size, or -EINVAL.
 */
int seam_sframe_verify_row(const struct seam_sframe_verify *v,
			   const struct seam_sframe_func *f, uint64_t at,
			   int64_t *prev_off);

#endif
