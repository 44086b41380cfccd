/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Stacks that are kept until they are written, one behind the other: in memory
 * that does not grow with them. */
#ifndef SEAM_LIB_INJECT_KEPT_H
#define SEAM_LIB_INJECT_KEPT_H

#include "base/spill.h"
#include "stitch/stitch.h"

/* All 0: none. */
struct seam_kept {
	struct seam_spill words;
	size_t n;
};

/* *ret: its number. Return: 0; -ENOMEM; -EOVERFLOW: there are too many. */
int seam_kept_add(struct seam_kept *k, const struct seam_frame *frames,
		  size_t n, uint32_t *ret);
/* The addresses, as they were: until the next is added. */
const uint64_t *seam_kept_get(const struct seam_kept *k, uint32_t stack);
void seam_kept_fini(struct seam_kept *k);

#endif
