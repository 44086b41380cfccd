/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Precise samples by tables alone, as most can be, with no lock but for an
 * instruction that its thread has not seen yet: what that did is taken back
 * (unwind/skid-insn.h), and the rest is as of any other copy. What leads
 * elsewhere, or nowhere, is left to unwind/skid.h.
 */
#ifndef SEAM_LIB_OFFLINE_PRECISE_H
#define SEAM_LIB_OFFLINE_PRECISE_H

#include "offline/unwind.h"

/* dump: of the copy. Return: whether it came to an end, with the frames that
 * CFI would have: the outermost one, or where the copy ends. What CFI wants
 * besides, other registers of a frame that lie below sp or were written over,
 * is not missed then. */
bool seam_offline_precise(struct seam_offline *o,
			  const struct seam_offline_copy *copy,
			  const struct seam_dump *dump,
			  struct seam_offline_stack *ret);

/* Code of files alone, which are what they were; nothing is left of other
 * memory. With the files' lock held. Return: bytes. */
size_t seam_offline_code_at(struct seam_offline *o,
			    const struct seam_offline_copy *copy, uint64_t avma,
			    void *to, size_t size);
/* Likewise. NULL: no memory. */
struct seam_decoder *seam_offline_decoder(struct seam_offline *o);

#endif
