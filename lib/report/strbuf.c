// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/strbuf.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/plain.h"

int seam_strbuf_grow(struct seam_strbuf *b, size_t len)
{
	if (!b->err)
		b->err = seam_grow(&b->s, b->len + len + 1, &b->cap, 1);
	return b->err;
}

void seam_strbuf_add(struct seam_strbuf *b, const char *s, size_t len)
{
	if (seam_strbuf_room(b, len))
		return;
	memcpy(b->s + b->len, s, len);
	b->len += len;
	b->s[b->len] = '\0';
}

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/* All digits at once; the first ones are blanks. */
void seam_hex16(char to[static 16], uint64_t v)
{
	static const uint8_t blanks[32] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};
	const unsigned n = v ? (67 - (unsigned)__builtin_clzll(v)) / 4 : 1;
	const uint64_t first[2] = {htobe64(v)};
	bytes16 bytes, digits, letters, blank;

	memcpy(&bytes, first, sizeof(bytes));
	memcpy(&blank, blanks + n, sizeof(blank));
	digits =
		__builtin_shufflevector(bytes >> 4, bytes & 15, 0, 16, 1, 17, 2,
					18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
	letters = (bytes16)(digits > 9) & ('a' - '0' - 10);
	digits = ((digits + letters + '0') & ~blank) | (blank & ' ');
	memcpy(to, &digits, sizeof(digits));
}

void seam_strbuf_hex(struct seam_strbuf *b, uint64_t v, size_t width)
{
	char digits[16];
	size_t n = v ? (67 - (size_t)__builtin_clzll(v)) / 4 : 1;

	n = width > n ? width : n;
	if (seam_strbuf_room(b, n))
		return;
	seam_hex16(digits, v);
	memcpy(b->s + b->len, digits + sizeof(digits) - n, n);
	b->len += n;
	b->s[b->len] = '\0';
}

void seam_strbuf_dec(struct seam_strbuf *b, uint64_t v, size_t width, char pad)
{
	char digits[20]; /* from the end */
	size_t n = 0, before;

	do
		digits[sizeof(digits) - ++n] = (char)('0' + v % 10);
	while (v /= 10);
	before = width > n ? width - n : 0;
	if (seam_strbuf_room(b, before + n))
		return;
	memset(b->s + b->len, pad, before);
	memcpy(b->s + b->len + before, digits + sizeof(digits) - n, n);
	b->len += before + n;
	b->s[b->len] = '\0';
}

void seam_strbuf_right(struct seam_strbuf *b, const char *s, size_t width)
{
	size_t n = strlen(s), before = width > n ? width - n : 0;

	if (seam_strbuf_room(b, before + n))
		return;
	memset(b->s + b->len, ' ', before);
	memcpy(b->s + b->len + before, s, n);
	b->len += before + n;
	b->s[b->len] = '\0';
}

void seam_strbuf_plain(struct seam_strbuf *b, const char *s)
{
	while (*s) {
		char hex[SEAM_PLAIN_BYTE];
		size_t n = 0, len;

		while ((len = seam_plain_len(s + n)) > 0)
			n += len;
		seam_strbuf_add(b, s, n);
		s += n;
		if (!*s)
			return;
		seam_plain_byte(*s++, hex);
		seam_strbuf_add(b, hex, sizeof(hex));
	}
}

void seam_strbuf_printf(struct seam_strbuf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (seam_strbuf_room(b, 128))
		return;
	va_start(ap, fmt);
	n = vsnprintf(b->s + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= b->cap - b->len) {
		if (seam_strbuf_room(b, (size_t)n))
			return;
		va_start(ap, fmt);
		vsnprintf(b->s + b->len, b->cap - b->len, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
}

void seam_strbuf_reset(struct seam_strbuf *b)
{
	b->len = 0;
	if (b->s)
		b->s[0] = '\0';
}

void seam_strbuf_fini(struct seam_strbuf *b)
{
	free(b->s);
	*b = (struct seam_strbuf){0};
}
