/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Bytes that a test writes down. */
#ifndef SEAM_TESTS_CFI_WRITTEN_H
#define SEAM_TESTS_CFI_WRITTEN_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
	const uint8_t *p;
	size_t len;
};

#define BYTES(...)                                                             \
	{                                                                      \
		(const uint8_t[]){__VA_ARGS__},                                \
			sizeof((const uint8_t[]){__VA_ARGS__})                 \
	}

#endif
