/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A cursor over bytes that nobody vouches for. Every read is checked against
 * the end; a failed one returns false and leaves the cursor where it was.
 */
#ifndef SEAM_LIB_CFI_BYTES_H
#define SEAM_LIB_CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct seam_bytes {
	const uint8_t *p, *end;
	bool be; /* integers are big-endian */
};

static inline size_t seam_bytes_left(const struct seam_bytes *b)
{
	return (size_t)(b->end - b->p);
}

static inline bool seam_bytes_skip(struct seam_bytes *b, uint64_t n)
{
	if (n > seam_bytes_left(b))
		return false;
	b->p += n;
	return true;
}

static inline bool seam_bytes_u8(struct seam_bytes *b, uint8_t *ret)
{
	if (b->p == b->end)
		return false;
	*ret = *b->p++;
	return true;
}

static inline uint64_t seam_bytes_load(const uint8_t *p, size_t size, bool be)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)p[i] << 8 * (be ? size - 1 - i : i);
	return v;
}

/* size: 1 to 8. */
static inline bool seam_bytes_uint(struct seam_bytes *b, size_t size,
				   uint64_t *ret)
{
	if (size > seam_bytes_left(b))
		return false;
	/* Compilers make one load of a loop whose bounds they know. */
	if (size == 4)
		*ret = b->be ? seam_bytes_load(b->p, 4, true)
			     : seam_bytes_load(b->p, 4, false);
	else
		*ret = seam_bytes_load(b->p, size, b->be);
	b->p += size;
	return true;
}

static inline bool seam_bytes_sint(struct seam_bytes *b, size_t size,
				   int64_t *ret)
{
	uint64_t v;

	if (!seam_bytes_uint(b, size, &v))
		return false;
	if (size < 8 && v >> (8 * size - 1))
		v |= UINT64_MAX << (8 * size);
	*ret = (int64_t)v;
	return true;
}

/* Both LEB128 readers: bits that do not fit 64 are an error, redundant
 * padding is not. */
static inline bool seam_bytes_uleb_long(struct seam_bytes *b, uint64_t *ret)
{
	const uint8_t *p = b->p;
	uint64_t v = 0, bits;
	unsigned int shift = 0;

	for (; p < b->end; p++, shift += 7) {
		bits = *p & 0x7f;
		if (shift < 64)
			v |= bits << shift;
		if (shift >= 64 ? bits != 0 : (bits << shift >> shift) != bits)
			return false;
		if (*p & 0x80) {
			shift = shift > 64 ? 64 : shift;
			continue;
		}
		b->p = p + 1;
		*ret = v;
		return true;
	}
	return false;
}

static inline bool seam_bytes_uleb(struct seam_bytes *b, uint64_t *ret)
{
	if (b->p < b->end && *b->p < 0x80) {
		*ret = *b->p++;
		return true;
	}
	return seam_bytes_uleb_long(b, ret);
}

static inline bool seam_bytes_sleb_long(struct seam_bytes *b, int64_t *ret)
{
	const uint8_t *p = b->p;
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t bits;

	for (; p < b->end; p++) {
		bits = *p & 0x7f;
		/* Byte 10 holds bit 63; the rest must repeat the sign. */
		if (shift < 63)
			v |= (uint64_t)bits << shift;
		else if (shift == 63 && (bits == 0 || bits == 0x7f))
			v |= (uint64_t)(bits & 1) << 63;
		else if (bits != (v >> 63 ? 0x7f : 0))
			return false;
		if (shift < 70)
			shift += 7;
		if (*p & 0x80)
			continue;
		if (shift < 64 && bits & 0x40)
			v |= UINT64_MAX << shift;
		b->p = p + 1;
		*ret = (int64_t)v;
		return true;
	}
	return false;
}

static inline bool seam_bytes_sleb(struct seam_bytes *b, int64_t *ret)
{
	if (b->p < b->end && *b->p < 0x80) {
		*ret = (int64_t)(*b->p ^ 0x40) - 0x40;
		b->p++;
		return true;
	}
	return seam_bytes_sleb_long(b, ret);
}

#endif
