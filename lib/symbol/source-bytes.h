/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reading DWARF's own encodings; never beyond the end. */
#ifndef SEAM_LIB_SYMBOL_SOURCE_BYTES_H
#define SEAM_LIB_SYMBOL_SOURCE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct seam_source_bytes {
	const uint8_t *p, *end;
	bool le;
	bool short_of; /* what was asked for was not there; all reads as 0 */
};

static inline size_t bytes_left(const struct seam_source_bytes *b)
{
	return (size_t)(b->end - b->p);
}

static inline void bytes_skip(struct seam_source_bytes *b, uint64_t size)
{
	if (size > bytes_left(b)) {
		b->short_of = true;
		size = bytes_left(b);
	}
	b->p += size;
}

static inline uint64_t bytes_fixed(struct seam_source_bytes *b, size_t size)
{
	const uint8_t *p = b->p;
	uint64_t v = 0;

	if (size > bytes_left(b)) {
		bytes_skip(b, size);
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)p[i] << 8 * (b->le ? i : size - 1 - i);
	b->p += size;
	return v;
}

/* Bits beyond the 64th are dropped. */
static inline uint64_t bytes_uleb(struct seam_source_bytes *b)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (b->p < b->end) {
		uint8_t byte = *b->p++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			return v;
	}
	b->short_of = true;
	return 0;
}

static inline int64_t bytes_sleb(struct seam_source_bytes *b)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (b->p < b->end) {
		uint8_t byte = *b->p++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && byte & 0x40)
			v |= ~UINT64_C(0) << shift;
		return (int64_t)v;
	}
	b->short_of = true;
	return 0;
}

/* A string up to its zero, of which *ret_len is without. */
static inline const char *bytes_string(struct seam_source_bytes *b,
				       size_t *ret_len)
{
	const char *s = (const char *)b->p;
	const uint8_t *zero =
		bytes_left(b) ? memchr(b->p, 0, bytes_left(b)) : NULL;

	*ret_len = 0;
	if (!zero) {
		bytes_skip(b, bytes_left(b));
		b->short_of = true;
		return s;
	}
	*ret_len = (size_t)(zero - b->p);
	b->p = zero + 1;
	return s;
}

#endif
