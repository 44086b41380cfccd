/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who wants the stack of a task's open entry, how deep, and who has it: one
 * word, so that it changes as a whole. A stack is taken for all at once who
 * want it and have not got it. Who takes it claims it for these, and the one
 * claim that succeeds sends it. Several may try: the task itself, and from
 * outside, while it sleeps, whoever ends a recording. Those look at the word
 * first and claim at the end, so each entry has its own word: it has a
 * generation, too.
 *
 * A client's number is given to another when it has ended. Its bits are swept
 * from all before, whatever tasks are doing; but for one that is being taken to
 * an entry from what others asked of it: that comes to the next client as a
 * stack that it never asked for, which readers know.
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
/* Sets bits in x, or takes them away. Return: what it was. */
#define SEAM_ENTRY_ADD(x, bits) __sync_fetch_and_or(&(x), bits)
#define SEAM_ENTRY_CLEAR(x, bits) __sync_fetch_and_and(&(x), ~(bits))
/* Sets x; what is read behind it is not older. */
#define SEAM_ENTRY_PUT(x, to) ((void)__sync_lock_test_and_set(&(x), to))
/* Likewise. Return: what it was. */
#define SEAM_ENTRY_EXCHANGE(x, to) __sync_lock_test_and_set(&(x), to)
#endif

/* What is called from several places, as BPF's verifier wants it: functions of
 * their own, which it walks once, with these arguments. */
#ifndef SEAM_ENTRY_STEP
#define SEAM_ENTRY_STEP SEAM_INLINE
#define SEAM_ENTRY_ARG
#endif

/* From bit 0: clients that want it; that have it, or it is being taken for
 * them; whether the entry's registers are kept; whether its cookie was given to
 * who asked from outside; whether the task has begun to claim it; frames that
 * the deepest of its requests wants; the generation. */
#define SEAM_WHO_MASK ((1ULL << SEAM_MAX_CLIENTS) - 1)
#define SEAM_WHO_DONE_SHIFT SEAM_MAX_CLIENTS
#define SEAM_WHO_KEPT (1ULL << (2 * SEAM_MAX_CLIENTS))
#define SEAM_WHO_OUTSIDE (SEAM_WHO_KEPT << 1)
#define SEAM_WHO_CLAIMED (SEAM_WHO_KEPT << 2)
#define SEAM_WHO_DEPTH_SHIFT (2 * SEAM_MAX_CLIENTS + 3)
#define SEAM_WHO_DEPTH_MASK (SEAM_FRAMES_ROOM - 1ULL)
#define SEAM_WHO_GENERATION ((SEAM_WHO_DEPTH_MASK + 1) << SEAM_WHO_DEPTH_SHIFT)
_Static_assert(SEAM_WHO_GENERATION <= 1ULL << 48, "generations enough");
_Static_assert(SEAM_MAX_FRAMES <= SEAM_WHO_DEPTH_MASK, "each depth fits");

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

/* So many frames at least. */
SEAM_INLINE uint64_t seam_who_deepened(uint64_t who, uint32_t depth)
{
	if (seam_who_depth(who) >= depth)
		return who;
	who &= ~(SEAM_WHO_DEPTH_MASK << SEAM_WHO_DEPTH_SHIFT);
	return who | (uint64_t)depth << SEAM_WHO_DEPTH_SHIFT;
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
SEAM_ENTRY_STEP uint64_t seam_who_want(struct seam_entry *e SEAM_ENTRY_ARG,
				       uint64_t bits, uint32_t depth,
				       bool fixed)
{
	uint64_t was = SEAM_ENTRY_GET(e->who), to, now;
	uint32_t i;

	for (i = 0; i < SEAM_WHO_CONTEXTS; i++) {
		to = seam_who_deepened(was | bits, depth);
		if (fixed && seam_who_depth(was) < depth && seam_who_done(was))
			return was;
		if (to == was)
			return was;
		now = SEAM_ENTRY_SWAP(e->who, was, to);
		if (now == was)
			return was;
		was = now;
	}
	(void)SEAM_ENTRY_ADD(e->who, bits);
	return was;
}

/* Claims it from outside, with the word as it was, for these clients. Return:
 * those of them that it is to be taken for; 0: it has changed. */
SEAM_INLINE uint64_t seam_who_claim(struct seam_entry *e, uint64_t was,
				    uint64_t clients)
{
	uint64_t left = seam_who_left(was) & clients;
	uint64_t claimed = was | left << SEAM_WHO_DONE_SHIFT;

	return SEAM_ENTRY_SWAP(e->who, was, claimed) == was ? left : 0;
}

/* The task itself claims it, for all that have not got it, and nobody joins it
 * from outside any more. Return: for whom; *ret_before: who has it. */
SEAM_INLINE uint64_t seam_who_claim_all(struct seam_entry *e,
					uint64_t *ret_before)
{
	uint64_t left = seam_who_left(SEAM_ENTRY_GET(e->who)), was, swept;

	*ret_before = 0;
	was = SEAM_ENTRY_ADD(e->who,
			     SEAM_WHO_CLAIMED | left << SEAM_WHO_DONE_SHIFT);
	if (!left)
		return 0;
	swept = left & ~was;
	if (swept)
		(void)SEAM_ENTRY_CLEAR(e->who, swept << SEAM_WHO_DONE_SHIFT);
	*ret_before = seam_who_done(was);
	return left & ~swept & ~*ret_before;
}

/* Nobody is to come to the entry any more. Return: false: somebody has, from
 * outside. */
SEAM_INLINE bool seam_who_withdraw(struct seam_entry *e)
{
	uint64_t was = SEAM_ENTRY_GET(e->who);

	return !(was & SEAM_WHO_OUTSIDE) &&
	       SEAM_ENTRY_SWAP(e->who, was, seam_who_next(was)) == was;
}

/* A dead task's word becomes the next one's, unless that is done already. */
SEAM_INLINE void seam_who_renew(struct seam_entry *e, uint64_t who)
{
	uint64_t was = SEAM_ENTRY_SWAP(e->who, who, seam_who_next(who));

	/* Swept meanwhile. */
	if (was != who && seam_who_next(was) == seam_who_next(who))
		SEAM_ENTRY_SWAP(e->who, was, seam_who_next(was));
}

/* Who has the stack of the entry that is being closed. In this order, and the
 * other way round in seam_who_sweep, so that what is swept stays so. */
SEAM_INLINE void seam_who_serve(struct seam_entry *e)
{
	uint64_t done = seam_who_done(SEAM_ENTRY_GET(e->who));

	SEAM_ENTRY_PUT(e->served_who, (uint32_t)done);
	if (seam_who_done(SEAM_ENTRY_GET(e->who)) != done)
		SEAM_ENTRY_SET(e->served_who,
			       seam_who_done(SEAM_ENTRY_GET(e->who)));
}

/* Clients have ended: nothing is wanted for them, and they have nothing. From
 * outside, whatever the task does. */
SEAM_INLINE void seam_who_sweep(struct seam_entry *e, uint32_t clients)
{
	uint64_t bits = clients & SEAM_WHO_MASK;

	bits |= bits << SEAM_WHO_DONE_SHIFT;
	if (SEAM_ENTRY_GET(e->who) & bits)
		(void)SEAM_ENTRY_CLEAR(e->who, bits);
	if (SEAM_ENTRY_GET(e->served_who) & clients)
		(void)SEAM_ENTRY_CLEAR(e->served_who, clients);
}

#endif
