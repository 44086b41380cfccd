/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside seam_cfi_take: what its parts share. */
#ifndef SEAM_LIB_CFI_TAKE_H
#define SEAM_LIB_CFI_TAKE_H

#include "cfi/states.h"

/* The longest program that the short way runs: a row takes two bytes of it,
 * an advance and a change. */
#define SEAM_CFI_SHORT_MAX 65536
#define SEAM_CFI_SHORT_ROWS (SEAM_CFI_SHORT_MAX / 2 + 1)

struct seam_cfi_take {
	struct seam_cfi *cfi;
	const struct seam_cfi_taker *taker;
	struct seam_cfi_states *states;
	/* The rows of the function at hand. */
	struct seam_span *rows;
	size_t num_rows, max_rows; /* max: at least SEAM_CFI_SHORT_ROWS */
	uint8_t ops[256]; /* enum op of short.c by the byte */
	uint64_t saves[64]; /* what of state.saved is the register's */
	/* What each CIE of cfi->work->cies leaves. */
	struct seam_cfi_initial {
		const struct seam_cfi_section *sec; /* NULL: not known yet */
		uint64_t off;
		bool is_state; /* and its FDEs can go the short way */
		struct seam_cfi_state state;
	} initial[SEAM_CFI_CIE_SLOTS];
};

void seam_cfi_short_init(struct seam_cfi_take *t);

/*
 * Runs an FDE's instructions from a state on into t->rows, if all of them are
 * of the frequent ones and sound, and every row is a state. Return: false: it
 * is for seam_fde_run to say what it is, unless t->states->rc is set.
 */
bool seam_cfi_short_run(struct seam_cfi_take *t, const struct seam_fde *fde,
			struct seam_cfi_state initial);

#endif
