// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/plain.h"

#include <stdint.h>

#include "base/utf8.h"

static bool is_plain_char(uint32_t c)
{
	return c >= 0xa0 && c != 0x61c && /* Arabic letter mark */
	       !(c >= 0x200e && c <= 0x200f) && /* marks of direction */
	       !(c >= 0x2028 && c <= 0x202e) && /* ends of lines, direction */
	       !(c >= 0x2066 && c <= 0x2069); /* isolates */
}

size_t seam_plain_rare(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n;

	if (u[0] < 0x80)
		return u[0] >= ' ' && u[0] != 0x7f;
	n = seam_utf8_len(s);
	return n && is_plain_char(seam_utf8_char(s, n)) ? n : 0;
}

bool seam_is_plain(const char *s)
{
	while (*s) {
		size_t n = seam_plain_len(s);

		if (!n)
			return false;
		s += n;
	}
	return true;
}

void seam_plain_byte(char c, char ret[SEAM_PLAIN_BYTE])
{
	static const char digits[16] = "0123456789abcdef";

	ret[0] = '\\';
	ret[1] = 'x';
	ret[2] = digits[(unsigned char)c >> 4];
	ret[3] = digits[c & 15];
}
