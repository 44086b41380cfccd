/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The cookies that a client was given with its samples and whose stack has not
 * come. Whoever is told a cookie is told what became of its stack: where that
 * was dropped on the way, nobody else says so.
 */
#ifndef SEAM_LIB_CAPTURE_AWAITED_H
#define SEAM_LIB_CAPTURE_AWAITED_H

#include <stdint.h>

#include "base/idmap.h"
#include "seam/tracer.h"

/* Zeroed: none. */
struct seam_awaited {
	struct seam_idmap tasks; /* the last entry of each, by tid */
	/* Of earlier entries, by cookie; those of an exec or exit, and whose
	 * samples are behind their stack, for a while longer. */
	struct seam_idmap over;
	uint64_t swept_ns;
	bool at_once; /* stacks are taken at their events; set by who has it */
};

/* A stack that does not come any more, with end code SEAM_LOST. */
typedef void seam_awaited_fn(void *ctx, const struct seam_user_stack *stack);

/* A sample with a cookie. Return: 0 or -ENOMEM. */
int seam_awaited_sample(struct seam_awaited *a,
			const struct seam_sample *sample);
/* A stack that came. Return: 0 or -ENOMEM. */
int seam_awaited_stack(struct seam_awaited *a,
		       const struct seam_user_stack *stack);
/* Gives up those that were awaited for too long, unless their task may sleep in
 * the entry still: of many that is found out bit by bit. Looks once a second.
 */
void seam_awaited_sweep(struct seam_awaited *a, uint64_t now_ns,
			seam_awaited_fn *fn, void *ctx);
/* No more comes: gives up all. */
void seam_awaited_end(struct seam_awaited *a, seam_awaited_fn *fn, void *ctx);
void seam_awaited_fini(struct seam_awaited *a);

#endif
