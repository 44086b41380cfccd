/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Records of one drain of a ring, kept in order until all are in. */
#ifndef SEAM_LIB_CAPTURE_BATCH_H
#define SEAM_LIB_CAPTURE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire.h"

struct seam_batch {
	uint8_t *bytes;
	size_t used, room;
	int err; /* -ENOMEM: something was not added, n_dropped of it */
	uint64_t n_dropped;
};

/* Return: false: no memory. */
bool seam_batch_add(struct seam_batch *b, const struct seam_wire *rec,
		    size_t size);
/* Walks the records: *at begins as 0. Return: NULL at the end. */
const struct seam_wire *seam_batch_next(const struct seam_batch *b, size_t *at,
					size_t *ret_size);
void seam_batch_clear(struct seam_batch *b);
void seam_batch_fini(struct seam_batch *b);

#endif
