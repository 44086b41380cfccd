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

/* Digits of 32 bits, each one's value in a byte of its own, the first on top.
 */
static uint64_t spread(uint64_t v)
{
	v = (v | v << 16) & UINT64_C(0x0000ffff0000ffff);
	v = (v | v << 8) & UINT64_C(0x00ff00ff00ff00ff);
	return (v | v << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

/* The first n of eight digits are blanks. */
static void put_digits(char to[8], uint64_t digits, unsigned n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t letters = (digits + 6 * ones) >> 4 & ones;
	uint64_t text = digits + '0' * ones + ('a' - '0' - 10) * letters;
	uint64_t blank = n ? UINT64_MAX << (64 - 8 * n) : 0;

	text = htobe64((text & ~blank) | (' ' * ones & blank));
	memcpy(to, &text, sizeof(text));
}

void seam_hex16(char to[static 16], uint64_t v)
{
	unsigned n = v ? (67 - (unsigned)__builtin_clzll(v)) / 4 : 1;
	unsigned pad = 16 - n;

	put_digits(to, spread(v >> 32), pad < 8 ? pad : 8);
	put_digits(to + 8, spread(v & UINT32_MAX), pad < 8 ? 0 : pad - 8);
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
