/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Cookies name one entry into the kernel on one machine: a free-running
 * counter of the CPU that first asked above that CPU's number. A counter
 * that overflows wraps inside its own 48 bits and cannot touch the CPU bits.
 * 0 is never a cookie: the counter passes over 0 on every CPU.
 */
#ifndef SEAM_CORE_COOKIE_H
#define SEAM_CORE_COOKIE_H

#include "core/env.h"

#define SEAM_COOKIE_CPU_BITS 16
#define SEAM_COOKIE_COUNT_MASK ((1ULL << (64 - SEAM_COOKIE_CPU_BITS)) - 1)

/* count: a value of the CPU's counter that no other request was given. */
SEAM_INLINE uint64_t seam_cookie_make(uint64_t count, uint32_t cpu)
{
	count &= SEAM_COOKIE_COUNT_MASK;
	if (!count)
		return 0;
	return count << SEAM_COOKIE_CPU_BITS |
	       (cpu & ((1u << SEAM_COOKIE_CPU_BITS) - 1));
}

#endif
