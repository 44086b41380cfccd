/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Stacks that are kept until they are written: what they have in common from
 * the outermost frame on is kept once. */
#ifndef SEAM_LIB_INJECT_CHAINS_H
#define SEAM_LIB_INJECT_CHAINS_H

#include "base/index.h"
#include "stitch/stitch.h"

struct chain_frame {
	uint64_t ip;
	uint32_t caller; /* + 1; 0: none */
};

struct chains {
	struct chain_frame *v;
	size_t n, cap;
	struct seam_index index;
};

/* frames: leaf first. *ret: the leaf's number. Return: 0; -ENOMEM; -EOVERFLOW.
 */
int seam_chains_add(struct chains *c, const struct seam_frame *frames, size_t n,
		    uint32_t *ret);
/* Of a leaf so many addresses, leaf first. */
void seam_chains_get(const struct chains *c, uint32_t leaf, size_t n,
		     uint64_t *ret);
void seam_chains_fini(struct chains *c);

#endif
