// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/plain.h"

/* For len more, and the end. */
static int room(struct seam_strbuf *b, size_t len)
{
	if (!b->err && b->cap - b->len <= len)
		b->err = seam_grow(&b->s, b->len + len + 1, &b->cap, 1);
	return b->err;
}

void seam_strbuf_add(struct seam_strbuf *b, const char *s, size_t len)
{
	if (room(b, len))
		return;
	memcpy(b->s + b->len, s, len);
	b->len += len;
	b->s[b->len] = '\0';
}

void seam_strbuf_hex(struct seam_strbuf *b, uint64_t v, size_t width)
{
	static const char digits[16] = "0123456789abcdef";
	size_t n = v ? (67 - (size_t)__builtin_clzll(v)) / 4 : 1;
	size_t pad = width > n ? width - n : 0;

	if (room(b, pad + n))
		return;
	memset(b->s + b->len, ' ', pad);
	b->len += pad + n;
	for (size_t i = 1; i <= n; i++, v >>= 4)
		b->s[b->len - i] = digits[v & 15];
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
	if (room(b, before + n))
		return;
	memset(b->s + b->len, pad, before);
	memcpy(b->s + b->len + before, digits + sizeof(digits) - n, n);
	b->len += before + n;
	b->s[b->len] = '\0';
}

void seam_strbuf_right(struct seam_strbuf *b, const char *s, size_t width)
{
	size_t n = strlen(s), before = width > n ? width - n : 0;

	if (room(b, before + n))
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

	if (room(b, 128))
		return;
	va_start(ap, fmt);
	n = vsnprintf(b->s + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= b->cap - b->len) {
		if (room(b, (size_t)n))
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
