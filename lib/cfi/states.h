/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Numbers for what rows say of CFA, SP, FP and RA. A state is that in two
 * words, for nearly all rows: the CFA is a register and an offset, FP and RA
 * are as they were or saved at an offset. What else there is of a row is the
 * same all over a function: its kind.
 */
#ifndef SEAM_LIB_CFI_STATES_H
#define SEAM_LIB_CFI_STATES_H

#include "cfi/private.h"

#define SEAM_CFI_STATE_BITS 12
#define SEAM_CFI_STATE_PROBES 8
#define SEAM_CFI_KINDS 32 /* one for each sort of CIE: real files have two */
#define SEAM_CFI_STATE_NONE SEAM_CFI_NUMBERS

struct seam_cfi_state {
	/* CFA's offset in bits 0-31, register 32-39, ra_state 40-47, the
	 * number of the kind, plus one, above. */
	uint64_t cfa;
	/* Where FP is saved in bits 0-31, RA above: SEAM_CFI_SAVED_SAME or
	 * an offset from the CFA. */
	uint64_t saved;
};

#define SEAM_CFI_SAVED_SAME 0x80000000u

struct seam_cfi_states {
	const struct seam_cfi_arch *arch;
	const struct seam_cfi_taker *taker;
	size_t n; /* that have numbers now */
	int rc; /* what ends it: the taker's, or 0 */
	size_t num_kinds;
	struct seam_cfi_row kinds[SEAM_CFI_KINDS];
	bool has_odd;
	struct seam_cfi_row odd; /* the last row that is no such state */
	uint32_t odd_number;
	struct seam_cfi_known {
		struct seam_cfi_state state; /* .cfa is 0: none */
		uint32_t number;
	} known[1 << SEAM_CFI_STATE_BITS];
};

struct seam_cfi_states *seam_cfi_states_new(const struct seam_cfi_arch *arch,
					    const struct seam_cfi_taker *taker);
/* Between functions: forgets them all. */
void seam_cfi_states_forget(struct seam_cfi_states *s);

/* A file that has more is one that nobody compiled. */
#define SEAM_CFI_STATES_MAX 16384

/* Likewise, should they have become too many. */
static inline void seam_cfi_states_bound(struct seam_cfi_states *s)
{
	if (s->n > SEAM_CFI_STATES_MAX)
		seam_cfi_states_forget(s);
}

/* Return: false: the row is none, or there are too many kinds. */
bool seam_cfi_state_pack(struct seam_cfi_states *s,
			 const struct seam_cfi_row *row,
			 struct seam_cfi_state *ret);
/* The number of a row; SEAM_CFI_STATE_NONE: s->rc has a reason to end. */
uint32_t seam_cfi_state_of_row(struct seam_cfi_states *s,
			       const struct seam_cfi_row *row);
/* Of a state that is not found where it belongs. Return: likewise. */
uint32_t seam_cfi_state_miss(struct seam_cfi_states *s,
			     struct seam_cfi_state state);

static inline size_t seam_cfi_state_place(struct seam_cfi_state state)
{
	/* An offset of the CFA has few bits, and so has one of RA. */
	uint64_t h = state.cfa ^ (state.saved << 13 | state.saved >> 51);

	return h * 0x9e3779b97f4a7c15 >> (64 - SEAM_CFI_STATE_BITS);
}

static inline bool seam_cfi_state_equal(struct seam_cfi_state a,
					struct seam_cfi_state b)
{
	return !((a.cfa ^ b.cfa) | (a.saved ^ b.saved));
}

static inline uint32_t seam_cfi_state_number(struct seam_cfi_states *s,
					     struct seam_cfi_state state)
{
	struct seam_cfi_known *known = &s->known[seam_cfi_state_place(state)];

	if (seam_cfi_state_equal(known->state, state))
		return known->number;
	return seam_cfi_state_miss(s, state);
}

#endif
