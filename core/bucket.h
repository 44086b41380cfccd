/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The rules of 256 bytes of code on half a cache line.
 *
 * A row is a place and the rule that holds from there on. A bucket has nine
 * rows, the first at the page's beginning, and each rule stands in it as a
 * short: nothing else needs to be read. Rows that are too many, and rules that
 * are no shorts, stand in the table's rows; what the bucket says there is
 * SEAM_SHORT_IN_ROWS. Which rows keep their place is chosen by the bytes they
 * cover: a return address hardly lies between two instructions of a prologue.
 *
 *   byte 0   places of the second to the ninth row, 1 byte each; where there
 *            are fewer the last row again, at the highest place there is
 *   byte 8   shorts of the first to the ninth row, 2 bytes each
 *   byte 26  how many of the table's rows are this page's, 2 bytes
 *   byte 28  the number of the first of these, 4 bytes
 */
#ifndef SEAM_CORE_BUCKET_H
#define SEAM_CORE_BUCKET_H

#include "core/packed-rule.h"

#define SEAM_BUCKET_SIZE 32
#define SEAM_BUCKET_ROWS 9
#define SEAM_BUCKET_SHORTS 8
#define SEAM_BUCKET_NUM_ROWS 26
#define SEAM_BUCKET_FIRST_ROW 28

/* A short, from bit 0: offset of the CFA / 8; where FP is saved, 0: it is as
 * it was, n: n + 1 words below the CFA; whether the CFA is from FP, else it is
 * from SP. */
#define SEAM_SHORT_CFA_BITS 10
#define SEAM_SHORT_FP_BITS 3
#define SEAM_SHORT_FP_SHIFT SEAM_SHORT_CFA_BITS
#define SEAM_SHORT_CFA_MAX ((1U << SEAM_SHORT_CFA_BITS) - 1)
#define SEAM_SHORT_FP_MAX ((1U << SEAM_SHORT_FP_BITS) - 1)
#define SEAM_SHORT_FROM_FP (1U << (SEAM_SHORT_FP_SHIFT + SEAM_SHORT_FP_BITS))
#define SEAM_SHORT_VALID 0x8000U
#define SEAM_SHORT_IN_ROWS 0x4000U
#define SEAM_SHORT_NONE 0U /* there is no rule */

SEAM_INLINE uint64_t seam_short_unpack(uint32_t s)
{
	uint64_t fp = s >> SEAM_SHORT_FP_SHIFT & SEAM_SHORT_FP_MAX;
	uint64_t packed = SEAM_PACKED_VALID | (s & SEAM_SHORT_CFA_MAX) * 8;

	if (!(s & SEAM_SHORT_FROM_FP))
		packed |= SEAM_PACKED_SP;
	if (fp)
		packed |= SEAM_PACKED_FP_SAVED |
			  (uint64_t)(uint16_t)(-8 * (int64_t)(fp + 1)) << 32;
	return packed;
}

/* Return: SEAM_SHORT_IN_ROWS for a rule that does not fit. */
SEAM_INLINE uint32_t seam_short_pack(uint64_t packed)
{
	uint32_t cfa = (uint32_t)packed / 8 & SEAM_SHORT_CFA_MAX;
	int32_t fp = (int16_t)(packed >> 32) / -8;
	uint32_t s = SEAM_SHORT_VALID | cfa;

	if (!(packed & SEAM_PACKED_SP))
		s |= SEAM_SHORT_FROM_FP;
	if (packed & SEAM_PACKED_FP_SAVED)
		s |= (((uint32_t)fp - 1) & SEAM_SHORT_FP_MAX)
		     << SEAM_SHORT_FP_SHIFT;
	/* It fits if it comes out as it went in. */
	return seam_short_unpack(s) == packed ? s : SEAM_SHORT_IN_ROWS;
}

/* How many of the eight bytes of `places` are at most off, all compared at
 * once: branches would be guessed wrong. */
SEAM_INLINE uint32_t seam_bucket_count(uint64_t places, uint32_t off)
{
	const uint64_t ones = 0x0001000100010001, low = 0x00ff00ff00ff00ff;
	uint64_t from = (off | 0x100) * ones, n;

	n = (from - (places & low)) >> 8 & ones;
	n += (from - (places >> 8 & low)) >> 8 & ones;
	return (uint32_t)(n * ones >> 48);
}

/* The short of the bucket's last row at or before off, below 256. */
SEAM_INLINE uint32_t seam_bucket_find(const uint8_t SEAM_TABLE *bucket,
				      uint32_t off)
{
	uint32_t row = seam_bucket_count(seam_load_u64(bucket), off);

	return seam_load_u16(bucket + SEAM_BUCKET_SHORTS + 2 * row);
}

#endif
