/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A frame under way: what is known of the machine in it. */
#ifndef SEAM_CORE_CURSOR_H
#define SEAM_CORE_CURSOR_H

#include "core/env.h"

struct seam_cursor {
	uint64_t ip, sp, fp;
	bool leaf; /* no step yet, or as good: all registers are known */
	bool exact; /* ip is about to run, not a return address */
	bool fp_lost; /* fp is not known */
};

/*
 * A return address may lie one past the end of its function, when that ends
 * in a call that does not return: look up the call, not what follows it.
 */
SEAM_INLINE uint64_t seam_cursor_pc(const struct seam_cursor *c)
{
	return c->exact ? c->ip : c->ip - 1;
}

#endif
