/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Checks every byte of an SFrame V3 section for x86-64 that a reader would
 * look at. The reader in core bounds each access by itself; this says
 * whether a section is what its producer meant, before it is believed.
 */
#ifndef SEAM_LIB_SFRAME_VERIFY_H
#define SEAM_LIB_SFRAME_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "seam/error.h"

enum seam_sframe_verify_flags {
	/* A table in the kernel's form: seam's own rows are known, and the
	 * section is all there is: sorted, without trailing bytes. */
	SEAM_SFRAME_VERIFY_KERNEL = 1,
};

struct seam_sframe_limits {
	uint32_t flags;
	uint64_t section_addr;
	/* Functions have to lie in [text_start, text_end), in the same
	 * space. text_end 0: anywhere. */
	uint64_t text_start, text_end;
};

/*
 * limits may be NULL: a section at address 0, any text.
 * Work is linear in size, whatever the bytes say.
 * Return: 0; -EINVAL with *reterr: one of SEAM_SFRAME_*, the offset from the
 * section's start of the bytes that are wrong, and why.
 */
int seam_sframe_verify(const uint8_t *bytes, size_t size,
		       const struct seam_sframe_limits *limits,
		       struct seam_errinfo *reterr);

#endif
