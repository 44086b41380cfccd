/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Binary search in whatever is sorted. */
#ifndef SEAM_LIB_BASE_SEARCH_H
#define SEAM_LIB_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first i from 0 on for which is_before, an expression in i, is false;
 * n: there is none. Where it is false once, it is false from there on:
 *
 *	first = SEAM_SEARCH(i, n_items, items[i].start < start);
 */
#define SEAM_SEARCH(i, n, is_before)                                           \
	__extension__({                                                        \
		size_t seam_lo = 0, seam_hi = (n);                             \
                                                                               \
		while (seam_lo < seam_hi) {                                    \
			size_t i = seam_lo + (seam_hi - seam_lo) / 2;          \
                                                                               \
			if (is_before)                                         \
				seam_lo = i + 1;                               \
			else                                                   \
				seam_hi = i;                                   \
		}                                                              \
		seam_lo;                                                       \
	})

#endif
