/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Walks a section by address: which rule holds, and how far. Made for asking
 * in ascending order, function by function, which costs no search in rows.
 * The functions need not be sorted in the section.
 */
#ifndef SEAM_LIB_SFRAME_WALK_H
#define SEAM_LIB_SFRAME_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sframe-row.h"

struct seam_sframe_walk;

struct seam_sframe_span {
	uint64_t end; /* section space: it holds up to there */
	int err; /* 0; SEAM_NO_RULE; or the row or function is malformed */
	struct seam_rule rule; /* if err is 0 */
};

/* sf is copied, its bytes borrowed. Return: 0 or -ENOMEM. */
int seam_sframe_walk_new(const struct seam_sframe *sf,
			 struct seam_sframe_walk **ret);
struct seam_sframe_walk *seam_sframe_walk_free(struct seam_sframe_walk *w);

/* pc: section space. Of functions that overlap the one that starts last
 * answers, as everywhere. */
void seam_sframe_walk_at(struct seam_sframe_walk *w, uint64_t pc,
			 struct seam_sframe_span *ret);

/* Rows of all functions that can be read. */
uint64_t seam_sframe_walk_rows(const struct seam_sframe_walk *w);

#endif
