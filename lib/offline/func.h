/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A function of x86-64 by its instructions, which lie one behind the other:
 * compilers put no data among them. */
#ifndef SEAM_LIB_OFFLINE_FUNC_H
#define SEAM_LIB_OFFLINE_FUNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAM_FUNC_MAX 16384 /* bytes */

struct seam_func {
	size_t size; /* 1 to SEAM_FUNC_MAX */
	uint8_t code[SEAM_FUNC_MAX + 16]; /* zeros behind it */
	uint8_t starts[SEAM_FUNC_MAX / 8]; /* bit n: an instruction is at n */
};

/* Whether it may jump out of itself, or run on behind its end, or is not
 * understood. */
bool seam_func_jumps_on(struct seam_func *f);
/* Whether an instruction puts something else into rsp than rbp or its own sum:
 * perhaps another stack. */
bool seam_func_moves_sp(const struct seam_func *f);

#endif
