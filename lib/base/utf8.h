/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Names come from files, and need not be UTF-8. */
#ifndef SEAM_LIB_BASE_UTF8_H
#define SEAM_LIB_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* text ends with '\0'. Return: how many bytes there are one UTF-8 character,
 * 0 if none are. */
size_t seam_utf8_len(const char *text);
/* The character that these len bytes are. */
uint32_t seam_utf8_char(const char *text, size_t len);

#endif
