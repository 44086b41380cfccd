// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Padding that is run through. A function of assembly may end in a
 * conditional jump and go on in the next one, through what aligns that: so the
 * C library's __memmove_chk runs into memmove, and its FDE ends before.
 *
 * No-operations change nothing, so that the state in them is that of what they
 * run into, whichever way they were come to: the first row of the next FDE.
 * That much is true of all padding. But there is some behind nearly every
 * function, and most of it is never run, so that only that is given a rule
 * which is behind what may be a conditional jump.
 */
#include "cfi/derive-private.h"
#include "cfi/private.h"

#define MAX_PADDING 63 /* functions are aligned to 64 bytes at most */

/* 90 and 0f 1f /0, with prefixes. */
static bool is_nop(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (i < len && (p[i] == 0x66 || p[i] == 0x2e))
		i++;
	if (len - i == 1)
		return p[i] == 0x90;
	return len - i >= 3 && p[i] == 0x0f && p[i + 1] == 0x1f;
}

/* By the last bytes alone: if they are none, the rule is no less true. */
static bool may_branch(const struct seam_derive *d, uint64_t end)
{
	const uint8_t *p = seam_derive_bytes(d, end - 6, 6);

	return p && ((p[0] == 0x0f && (p[1] & 0xf0) == 0x80) ||
		     (p[4] & 0xf0) == 0x70);
}

static bool are_nops(struct seam_derive *d, uint64_t svma, uint64_t size)
{
	const uint8_t *p = seam_derive_bytes(d, svma, size);
	struct seam_insn in;

	for (uint64_t at = 0; p && at < size; at += in.len)
		if (!seam_decode(d->decoder, p + at, size - at, svma + at,
				 &in) ||
		    !is_nop(p + at, in.len))
			return false;
	return p;
}

uint64_t seam_derive_padding(struct seam_derive *d,
			     const struct seam_cfi_range *range,
			     struct seam_height *ret)
{
	struct seam_cfi_row row;
	uint64_t end = range->end, next;

	if (range->start >= end || end - range->start < 6 ||
	    !may_branch(d, end) || seam_derive_has_fde(d, end) ||
	    !seam_cfi_next(d->cfi, end, &next) || next - end > MAX_PADDING ||
	    !are_nops(d, end, next - end) ||
	    seam_cfi_find(d->cfi, next, &row, NULL) ||
	    !seam_derive_height(&row, ret))
		return 0;
	return next;
}
