/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who wants the stack of a task's open entry, how deep, and who has it: one
 * word, so that it changes as a whole. A stack is taken for all at once who
 * want it and have not got it. Who takes it claims it for these, and the one
 * claim that succeeds sends it. Several may try: the task itself, and from
 * outside, while it sleeps, whoever ends a recording. Those look at the word
 * first and claim at the end, so each entry has its own word: it has a
 * generation, too.
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
 * them; whether the entry's registers are kept; frames that the deepest of its
 * requests wants; the generation. */
#define SEAM_WHO_MASK ((1ULL << SEAM_MAX_CLIENTS) - 1)
#define SEAM_WHO_DONE_SHIFT SEAM_MAX_CLIENTS
#define SEAM_WHO_KEPT (1ULL << (2 * SEAM_MAX_CLIENTS))
#define SEAM_WHO_DEPTH_SHIFT (2 * SEAM_MAX_CLIENTS + 1)
#define SEAM_WHO_DEPTH_MASK (2ULL * SEAM_MAX_FRAMES - 1)
#define SEAM_WHO_GENERATION ((SEAM_WHO_DEPTH_MASK + 1) << SEAM_WHO_DEPTH_SHIFT)
_Static_assert(SEAM_WHO_GENERATION <= 1ULL << 48, "generations enough");

/* Contexts in which events come: the task, soft and hard interrupts, NMIs; and
 * who takes the stack from outside. */
#define SEAM_WHO_CONTEXTS 5

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

/* Frames that are wanted of it. */
SEAM_INLINE uint32_t seam_who_depth(uint64_t who)
{
	return who >> SEAM_WHO_DEPTH_SHIFT & SEAM_WHO_DEPTH_MASK;
}

/* Of the next entry, which nobody wants yet. */
SEAM_INLINE uint64_t seam_who_next(uint64_t who)
{
	return (who & ~(SEAM_WHO_GENERATION - 1)) + SEAM_WHO_GENERATION;
}

/*
 * Clients want it, so deep: who interrupts us may say so as well. Were we
 * disturbed more often than that, it would cost depth, and no stack. fixed: a
 * stack that is out stays as deep as it is, so who wants it deeper is not
 * noted. Return: the word as it was when that was noted, or not.
 */
SEAM_INLINE uint64_t seam_who_want(struct seam_entry *e, uint64_t bits,
				   uint32_t depth, bool fixed)
{
	uint64_t was = SEAM_ENTRY_GET(e->who), to, now;
	uint32_t i;

	for (i = 0; i < SEAM_WHO_CONTEXTS; i++) {
		to = was | bits;
		if (seam_who_depth(was) < depth) {
			if (fixed && seam_who_done(was))
				return was;
			to &= ~(SEAM_WHO_DEPTH_MASK << SEAM_WHO_DEPTH_SHIFT);
			to |= (uint64_t)depth << SEAM_WHO_DEPTH_SHIFT;
		}
		if (to == was)
			return was;
		now = SEAM_ENTRY_SWAP(e->who, was, to);
		if (now == was)
			return was;
		was = now;
	}
	SEAM_ENTRY_ADD(e->who, bits);
	return was;
}

/* Claims it with the word as it was. Return: for whom; 0: it has changed. */
SEAM_INLINE uint64_t seam_who_claim(struct seam_entry *e, uint64_t was)
{
	uint64_t left = seam_who_left(was);
	uint64_t claimed = was | left << SEAM_WHO_DONE_SHIFT;

	return SEAM_ENTRY_SWAP(e->who, was, claimed) == was ? left : 0;
}

#endif
