// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/utf8.h"

#include <stdint.h>

size_t seam_utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = s[0], least;
	size_t n;

	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c < 0xe0)
		n = 2, c &= 0x1f, least = 0x80;
	else if (c >= 0xe0 && c < 0xf0)
		n = 3, c &= 0xf, least = 0x800;
	else if (c >= 0xf0 && c < 0xf5)
		n = 4, c &= 0x7, least = 0x10000;
	else
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return n;
}

uint32_t seam_utf8_char(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = len > 1 ? s[0] & (0x7fU >> len) : s[0];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}
