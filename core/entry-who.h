/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who wants the stack of a task's open entry, and who has it: one word, so
 * that it changes as a whole. A stack is taken for all at once who want it and
 * have not got it. Who takes it claims it for these, and the one claim that
 * succeeds sends it. Several may try: the task itself, and from outside, while
 * it sleeps, whoever ends a recording. Those look at the word first and claim
 * at the end, so each entry has its own word: it has a generation, too.
 */
#ifndef SEAM_CORE_ENTRY_WHO_H
#define SEAM_CORE_ENTRY_WHO_H

#include "core/entry-env.h"

/* How the state is touched. A test may have defined these. */
#ifndef SEAM_ENTRY_GET
#define SEAM_ENTRY_GET(x) (*(const volatile __typeof__(x) *)&(x))
#define SEAM_ENTRY_SET(x, to) (*(volatile __typeof__(x) *)&(x) = (to))
/* Sets x to `to` if it was `from`. Return: what it was. */
#define SEAM_ENTRY_SWAP(x, from, to) __sync_val_compare_and_swap(&(x), from, to)
/* Sets bits in x. */
#define SEAM_ENTRY_ADD(x, bits) ((void)__sync_fetch_and_or(&(x), bits))
#endif

/* From bit 0: clients that want it; that have it, or it is being taken for
 * them; whether the entry's registers are kept; the generation. */
#define SEAM_WHO_MASK ((1ULL << SEAM_MAX_CLIENTS) - 1)
#define SEAM_WHO_DONE_SHIFT SEAM_MAX_CLIENTS
#define SEAM_WHO_KEPT (1ULL << (2 * SEAM_MAX_CLIENTS))
#define SEAM_WHO_GENERATION (SEAM_WHO_KEPT << 1)
_Static_assert(2 * SEAM_MAX_CLIENTS <= 32, "generations enough");

/* The clients that have it. */
SEAM_INLINE uint64_t seam_who_done(uint64_t who)
{
	return who >> SEAM_WHO_DONE_SHIFT & SEAM_WHO_MASK;
}

/* The clients that it is still to be taken for. */
SEAM_INLINE uint64_t seam_who_left(uint64_t who)
{
	return who & SEAM_WHO_MASK & ~seam_who_done(who);
}

/* Of the next entry, which nobody wants yet. */
SEAM_INLINE uint64_t seam_who_next(uint64_t who)
{
	return (who & ~(SEAM_WHO_GENERATION - 1)) + SEAM_WHO_GENERATION;
}

/* Clients want it: who interrupts us may say so as well. */
SEAM_INLINE void seam_who_want(struct seam_entry *e, uint64_t bits)
{
	if ((SEAM_ENTRY_GET(e->who) & bits) != bits)
		SEAM_ENTRY_ADD(e->who, bits);
}

/* Claims it with the word as it was. Return: for whom; 0: it has changed. */
SEAM_INLINE uint64_t seam_who_claim(struct seam_entry *e, uint64_t was)
{
	uint64_t left = seam_who_left(was);
	uint64_t claimed = was | left << SEAM_WHO_DONE_SHIFT;

	return SEAM_ENTRY_SWAP(e->who, was, claimed) == was ? left : 0;
}

#endif
