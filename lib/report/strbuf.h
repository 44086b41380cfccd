/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Text that grows. A failed allocation sticks: the text stays as it was
 * and err says so at the end. */
#ifndef SEAM_LIB_REPORT_STRBUF_H
#define SEAM_LIB_REPORT_STRBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct seam_strbuf {
	char *s; /* ends with '\0' once something was added */
	size_t len, cap;
	int err; /* 0 or -ENOMEM */
};

int seam_strbuf_grow(struct seam_strbuf *b, size_t len);
/* For len more, and the end. Return: err. */
static inline int seam_strbuf_room(struct seam_strbuf *b, size_t len)
{
	if (b->err || b->cap - b->len > len)
		return b->err;
	return seam_strbuf_grow(b, len);
}
void seam_strbuf_add(struct seam_strbuf *b, const char *s, size_t len);
static inline void seam_strbuf_puts(struct seam_strbuf *b, const char *s)
{
	seam_strbuf_add(b, s, strlen(s));
}
/* As %16llx, without an end. */
void seam_hex16(char to[static 16], uint64_t v);
/* As %*llx, of at most 16 characters. */
void seam_strbuf_hex(struct seam_strbuf *b, uint64_t v, size_t width);
/* As %*llu, but for what stands before it: pad. */
void seam_strbuf_dec(struct seam_strbuf *b, uint64_t v, size_t width, char pad);
/* s behind as many blanks as make it width wide. */
void seam_strbuf_right(struct seam_strbuf *b, const char *s, size_t width);
/* A name that somebody else chose, as base/plain.h shows it. */
void seam_strbuf_plain(struct seam_strbuf *b, const char *s);
void seam_strbuf_printf(struct seam_strbuf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void seam_strbuf_reset(struct seam_strbuf *b);
void seam_strbuf_fini(struct seam_strbuf *b);

#endif
