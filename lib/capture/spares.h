/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The memory of batches that are done, for the next ones: a page that the
 * kernel brings in anew costs more than what is written to it, and a round of
 * stack copies has thousands.
 */
#ifndef SEAM_LIB_CAPTURE_SPARES_H
#define SEAM_LIB_CAPTURE_SPARES_H

#include "capture/batch.h"

#define SEAM_SPARES 4
#define SEAM_SPARES_BYTES (32u << 20) /* at most, all together */

struct seam_spares {
	struct seam_batch v[SEAM_SPARES];
	size_t n, bytes;
};

/* Takes a batch's memory; what there is no room for stays the batch's. */
void seam_spares_put(struct seam_spares *s, struct seam_batch *from);
/* Gives an empty batch without memory the largest, if there is one. */
void seam_spares_take(struct seam_spares *s, struct seam_batch *to);
void seam_spares_fini(struct seam_spares *s);

#endif
