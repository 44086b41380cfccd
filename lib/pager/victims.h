/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which tables make room for another. */
#ifndef SEAM_LIB_PAGER_VICTIMS_H
#define SEAM_LIB_PAGER_VICTIMS_H

#include <stddef.h>
#include <stdint.h>

/* When something was last used; 0: nobody asks for it any more. */
typedef uint64_t seam_used_fn(void *ctx, size_t i);

/*
 * Of n the count that were used longest ago, that one first; of equals the
 * first. used is asked once of each. ret: their places, room for count. Return:
 * how many, less if there are less; -ENOMEM.
 */
int seam_victims(size_t n, seam_used_fn *used, void *ctx, size_t count,
		 size_t *ret);

#endif
