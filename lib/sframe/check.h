/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What is wrong with the SFrame section of a file: in its bytes, in how the
 * ELF file presents it, and for the loader that is proposed for Linux.
 */
#ifndef SEAM_LIB_SFRAME_CHECK_H
#define SEAM_LIB_SFRAME_CHECK_H

#include <stddef.h>

#include "seam/error.h"
#include "sframe/file.h"

enum seam_sframe_severity {
	/* A reader that believes the section may go wrong. */
	SEAM_SFRAME_MALFORMED,
	/* The section is well, but not found by who looks for it as the ELF
	 * interface says. */
	SEAM_SFRAME_MISPLACED,
	/* Linux' loader, as it is proposed, would not take it: version 3,
	 * sorted, starts relative to themselves, not empty. */
	SEAM_SFRAME_NO_LOADER,
};

struct seam_sframe_finding {
	enum seam_sframe_severity severity;
	/* .offset: in .where, which is ".sframe" or a part of the file. */
	struct seam_errinfo err;
};

#define SEAM_SFRAME_FINDINGS_MAX 16

struct seam_sframe_findings {
	struct seam_sframe_finding v[SEAM_SFRAME_FINDINGS_MAX];
	size_t n;
};

/* Return: how many findings there are. Work is bounded by the section's
 * size. Of a section's malformed bytes the first are found. */
size_t seam_sframe_check(const struct seam_sframe_file *f,
			 struct seam_sframe_findings *ret);

#endif
