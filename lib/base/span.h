/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How pieces of code, one behind the other, are handed on. */
#ifndef SEAM_LIB_BASE_SPAN_H
#define SEAM_LIB_BASE_SPAN_H

#include <stdint.h>

/* Code from start to where the next one starts, or the function ends. */
struct seam_span {
	uint64_t start; /* an address */
	uint32_t what; /* holds there, by a number that both sides know */
};

#endif
