/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A step of seam_unwind by full CFI, on amd64. */
#ifndef SEAM_LIB_UNWIND_UNWIND_FULL_H
#define SEAM_LIB_UNWIND_UNWIND_FULL_H

#include <string.h>

#include "seam/unwind.h"

/* A frame of which all is known that valid says. */
static inline struct seam_unwind_base
seam_unwind_base_of(const struct seam_unwind_state *state)
{
	struct seam_unwind_base base = {
		.pc = state->pc,
		.valid = state->valid,
		.is_return = state->is_return,
	};

	memcpy(base.regs, state->regs, sizeof(base.regs));
	return base;
}

/*
 * With the registers that full CFI finds between the state's base and the
 * frame, or with what the state itself has, if that leads elsewhere. Return: as
 * seam_unwind.
 */
int seam_unwind_full(struct seam_unwind_state *state,
		     struct seam_tables *tables, seam_read_memory read,
		     void *ctx);

#endif
