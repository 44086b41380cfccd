/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What programs and files are called is theirs to choose, and who reads it may
 * be root at a terminal. Characters that are orders to it (control characters,
 * also those of U+0080 to U+009F), that turn a text's direction or end its
 * line, and bytes that are no UTF-8 are shown by their bytes, as "\x1b".
 */
#ifndef SEAM_LIB_BASE_PLAIN_H
#define SEAM_LIB_BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* s ends with '\0'. Return: how many bytes the character at s has, if it is
 * shown as it is; 0: its first byte is to be shown by seam_plain_byte(). */
size_t seam_plain_rare(const char *s);
static inline size_t seam_plain_len(const char *s)
{
	return *s >= ' ' && *s < 0x7f ? 1 : seam_plain_rare(s);
}
/* Whether all of it is shown as it is. */
bool seam_is_plain(const char *s);

#define SEAM_PLAIN_BYTE 4
/* Four characters, and no '\0' behind them. */
void seam_plain_byte(char c, char ret[SEAM_PLAIN_BYTE]);

#endif
