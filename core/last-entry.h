/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A frame and its rule in two words: an entry of a task's last stack.
 *
 * Most packed rules fit, those of frames below 256 KiB that save FP no further
 * than 512 bytes from the CFA. What does not fit is refused. SP is there for
 * the order of the frames only, and is kept modulo 512 MiB.
 */
#ifndef SEAM_CORE_LAST_ENTRY_H
#define SEAM_CORE_LAST_ENTRY_H

#include "core/cursor.h"
#include "core/packed-rule.h"

/* In .at: the frame's ip and what kind of rule it is. */
#define SEAM_LAST_IP ((1ULL << 57) - 1)
#define SEAM_LAST_EXACT (1ULL << 57) /* the rule is for ip, not for ip - 1 */
#define SEAM_LAST_SP (1ULL << 58) /* the CFA is from SP, else from FP */
#define SEAM_LAST_FP_SAVED (1ULL << 59)
#define SEAM_LAST_OUTERMOST (1ULL << 60)
#define SEAM_LAST_VALID (1ULL << 61) /* else there is no rule */

/* In .how, from bit 0: SP / 8; offset of the CFA / 8; of the saved FP / 8,
 * signed; the slot of the frame's mapping in the task's cache, its epoch. */
#define SEAM_LAST_SP_BITS 26
#define SEAM_LAST_CFA_BITS 15
#define SEAM_LAST_FP_BITS 7
#define SEAM_LAST_SLOT_BITS 3
#define SEAM_LAST_EPOCH_BITS 13
#define SEAM_LAST_CFA_SHIFT SEAM_LAST_SP_BITS
#define SEAM_LAST_FP_SHIFT (SEAM_LAST_CFA_SHIFT + SEAM_LAST_CFA_BITS)
#define SEAM_LAST_SLOT_SHIFT (SEAM_LAST_FP_SHIFT + SEAM_LAST_FP_BITS)
#define SEAM_LAST_EPOCH_SHIFT (SEAM_LAST_SLOT_SHIFT + SEAM_LAST_SLOT_BITS)
_Static_assert(SEAM_LAST_EPOCH_SHIFT + SEAM_LAST_EPOCH_BITS == 64, "one word");

#define SEAM_LAST_SLOT_MAX ((1U << SEAM_LAST_SLOT_BITS) - 1)
#define SEAM_LAST_EPOCH_MAX ((1U << SEAM_LAST_EPOCH_BITS) - 1)

struct seam_last_entry {
	uint64_t at, how;
};

/* What .how says of SP. */
SEAM_INLINE uint64_t seam_last_sp(uint64_t how)
{
	return how & ((1ULL << SEAM_LAST_SP_BITS) - 1);
}

SEAM_INLINE uint32_t seam_last_slot(uint64_t how)
{
	return how >> SEAM_LAST_SLOT_SHIFT & SEAM_LAST_SLOT_MAX;
}

SEAM_INLINE uint32_t seam_last_epoch(uint64_t how)
{
	return how >> SEAM_LAST_EPOCH_SHIFT;
}

/* An entry's rule, packed. */
SEAM_INLINE uint64_t seam_last_rule(const struct seam_last_entry *e)
{
	uint64_t cfa =
		e->how >> SEAM_LAST_CFA_SHIFT & ((1 << SEAM_LAST_CFA_BITS) - 1);
	int64_t fp = (int64_t)(e->how << (64 - SEAM_LAST_SLOT_SHIFT)) >>
		     (64 - SEAM_LAST_FP_BITS);
	uint64_t packed = SEAM_PACKED_VALID | cfa * 8;

	if (e->at & SEAM_LAST_OUTERMOST)
		return SEAM_PACKED_VALID | SEAM_PACKED_OUTERMOST;
	if (e->at & SEAM_LAST_SP)
		packed |= SEAM_PACKED_SP;
	if (e->at & SEAM_LAST_FP_SAVED)
		packed |= SEAM_PACKED_FP_SAVED | (uint64_t)(uint16_t)(fp * 8)
							 << 32;
	return packed;
}

/* The entry of a frame without a rule, for the order. */
SEAM_INLINE void seam_last_none(const struct seam_cursor *c,
				struct seam_last_entry *ret)
{
	ret->at = 0;
	ret->how = seam_last_sp(c->sp >> 3);
}

/* Whether the entry is for the frame at the cursor, and has a rule. */
SEAM_INLINE bool seam_last_is(uint64_t at, const struct seam_cursor *c)
{
	uint64_t what = SEAM_LAST_IP | SEAM_LAST_EXACT | SEAM_LAST_VALID;

	return (at & what) == (c->ip | SEAM_LAST_VALID |
			       (c->exact ? SEAM_LAST_EXACT : 0)) &&
	       c->ip <= SEAM_LAST_IP;
}

/*
 * The entry of the frame at the cursor: its rule, of the mapping in a slot
 * that says what it says since an epoch, from 1 on.
 * Return: false if not all of that fits.
 */
SEAM_INLINE bool seam_last_pack(const struct seam_cursor *c, uint64_t packed,
				uint32_t slot, uint32_t epoch,
				struct seam_last_entry *ret)
{
	uint64_t cfa = (uint32_t)packed / 8;
	int64_t fp = (int16_t)(packed >> 32) / 8;
	struct seam_last_entry e;

	if (c->ip > SEAM_LAST_IP || slot > SEAM_LAST_SLOT_MAX || !epoch ||
	    epoch > SEAM_LAST_EPOCH_MAX)
		return false;
	e.at = SEAM_LAST_VALID | c->ip | (c->exact ? SEAM_LAST_EXACT : 0);
	if (packed & SEAM_PACKED_OUTERMOST)
		e.at |= SEAM_LAST_OUTERMOST;
	if (packed & SEAM_PACKED_SP)
		e.at |= SEAM_LAST_SP;
	if (packed & SEAM_PACKED_FP_SAVED)
		e.at |= SEAM_LAST_FP_SAVED;
	e.how = seam_last_sp(c->sp >> 3);
	e.how |= (cfa & ((1 << SEAM_LAST_CFA_BITS) - 1)) << SEAM_LAST_CFA_SHIFT;
	e.how |= (uint64_t)(fp & ((1 << SEAM_LAST_FP_BITS) - 1))
		 << SEAM_LAST_FP_SHIFT;
	e.how |= (uint64_t)slot << SEAM_LAST_SLOT_SHIFT;
	e.how |= (uint64_t)epoch << SEAM_LAST_EPOCH_SHIFT;
	/* It fits if it comes out as it went in. */
	if (seam_last_rule(&e) != packed)
		return false;
	*ret = e;
	return true;
}

#endif
