/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Checks every byte of an SFrame section that a reader would look at: any
 * version, any ABI. The reader in core bounds each access by itself; this
 * says whether a section is what its producer meant, before it is believed.
 */
#ifndef SEAM_LIB_SFRAME_VERIFY_H
#define SEAM_LIB_SFRAME_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "seam/error.h"

enum seam_sframe_verify_flags {
	/* A table in the kernel's form: V3 of amd64, seam's own rows are
	 * known, and the section is all there is: sorted, without trailing
	 * bytes. */
	SEAM_SFRAME_VERIFY_KERNEL = 1,
	/* Of a relocatable file, its relocations applied: starts are relative
	 * to themselves in V1 and V2 as well, whatever the flags say. */
	SEAM_SFRAME_VERIFY_RELOCATABLE = 2,
	/* What Linux is to accept from programs, as the patches of 2026 have
	 * it: V3, sorted strictly, no auxiliary header, not empty. */
	SEAM_SFRAME_VERIFY_LOADER = 4,
	/* Also what no reader minds: a wrong number of rows in the header. */
	SEAM_SFRAME_VERIFY_STRICT = 8,
};

struct seam_sframe_limits {
	uint32_t flags;
	uint8_t abi; /* the one it has to be for; 0: any */
	uint64_t section_addr;
	/* Functions have to lie in [text_start, text_end), in the same
	 * space. text_end 0: anywhere. */
	uint64_t text_start, text_end;
};

/*
 * limits may be NULL: a section at address 0, any text.
 * Work is linear in size, whatever the bytes say. Where functions are not
 * sorted, whether they overlap is not looked at.
 * Return: 0; -EINVAL with *reterr: one of SEAM_SFRAME_*, the offset from the
 * section's start of the bytes that are wrong, and why.
 */
int seam_sframe_verify(const uint8_t *bytes, size_t size,
		       const struct seam_sframe_limits *limits,
		       struct seam_errinfo *reterr);

#endif
