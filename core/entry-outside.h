/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Requests for a task's stack by who is not that task (entry-other.h): any CPU,
 * any context, many at once. They have a word of their own, and touch of the
 * task's entry nothing but the word of who wants it (entry-who.h).
 *
 * The word has the clients, and a generation: all who ask in one have one
 * cookie. Where it ends the task takes what is pending, for the entry that it
 * opens next (entry.h): at its first own request, or in the task work that was
 * scheduled for it, on its way to user space. So an entry has one cookie,
 * whoever asked first; but where both asked at the same instant, it has two,
 * and each its stack.
 *
 * While the task opens that entry it holds the word: what interrupts it leaves
 * what is pending alone, and who comes from outside is in time. Only then the
 * generation ends. Who comes from outside with an older one finds the word
 * changed, and has been told nothing yet.
 *
 * There are two task works to it: who asks while one's callback ends has the
 * other scheduled, since the kernel takes none that is still at work.
 */
#ifndef SEAM_CORE_ENTRY_OUTSIDE_H
#define SEAM_CORE_ENTRY_OUTSIDE_H

#include "core/entry-who.h"

/* From bit 0: clients; whether the task holds it; the generation. */
#define SEAM_OUTSIDE_HELD (1ULL << SEAM_MAX_CLIENTS)
#define SEAM_OUTSIDE_GENERATION (SEAM_OUTSIDE_HELD << 1)

SEAM_INLINE uint32_t seam_outside_slot(uint64_t word)
{
	return word / SEAM_OUTSIDE_GENERATION & 1;
}

SEAM_INLINE uint64_t seam_outside_next(uint64_t word)
{
	return (word & ~(SEAM_OUTSIDE_GENERATION - 1)) +
	       SEAM_OUTSIDE_GENERATION;
}

SEAM_INLINE bool seam_outside_pending(const struct seam_outside *o)
{
	return SEAM_ENTRY_GET(o->word) & SEAM_WHO_MASK;
}

SEAM_INLINE void seam_outside_release(struct seam_outside *o)
{
	(void)SEAM_ENTRY_CLEAR(o->word, SEAM_OUTSIDE_HELD);
}

/* By the task itself. Return: the word, with HELD; 0: nothing is pending, or
 * whom we interrupt has it. */
SEAM_INLINE uint64_t seam_outside_hold(struct seam_outside *o)
{
	uint64_t word = SEAM_ENTRY_GET(o->word);

	if (!(word & SEAM_WHO_MASK) || (word & SEAM_OUTSIDE_HELD))
		return 0;
	word = SEAM_ENTRY_ADD(o->word, SEAM_OUTSIDE_HELD);
	if (word & SEAM_WHO_MASK)
		return word | SEAM_OUTSIDE_HELD;
	/* Who interrupted us has taken it; or its clients have ended. */
	seam_outside_release(o);
	return 0;
}

/* Whether what is pending is of this program of this task. */
SEAM_INLINE bool seam_outside_fits(const struct seam_outside *o, uint64_t word,
				   uint64_t start, uint64_t image)
{
	return SEAM_ENTRY_GET(o->start) == start &&
	       SEAM_ENTRY_GET(o->images[seam_outside_slot(word)]) == image;
}

/* What is pending is to become the entry that is opened. Return: its cookie,
 * and it is held until it is taken or released; or 0. */
SEAM_ENTRY_STEP uint64_t seam_outside_adopt(
	struct seam_outside *o SEAM_ENTRY_ARG, uint64_t start, uint64_t image)
{
	uint64_t word = seam_outside_hold(o);

	if (!word)
		return 0;
	if (seam_outside_fits(o, word, start, image))
		return SEAM_ENTRY_GET(o->cookies[seam_outside_slot(word)]);
	seam_outside_release(o);
	return 0;
}

/* Ends the generation, which is held. Return: the clients. */
SEAM_ENTRY_STEP uint64_t
seam_outside_take(struct seam_outside *o SEAM_ENTRY_ARG)
{
	uint64_t word = SEAM_ENTRY_GET(o->word);
	uint32_t next = !seam_outside_slot(word);

	SEAM_ENTRY_SET(o->cookies[next], 0);
	SEAM_ENTRY_SET(o->images[next], 0);
	return SEAM_ENTRY_EXCHANGE(o->word, seam_outside_next(word)) &
	       SEAM_WHO_MASK;
}

/* What is pending cannot be had any more. Return: the clients that are to be
 * told that *ret_cookie is lost. */
SEAM_INLINE uint64_t seam_outside_drop(struct seam_outside *o,
				       uint64_t *ret_cookie)
{
	uint64_t word = seam_outside_hold(o);

	if (!word)
		return 0;
	*ret_cookie = SEAM_ENTRY_GET(o->cookies[seam_outside_slot(word)]);
	return seam_outside_take(o);
}

/* From outside, who has taken its stack for clients: claims it with the word as
 * it was. Return: whether the task has not taken it itself meanwhile. */
SEAM_INLINE bool seam_outside_claim(struct seam_outside *o, uint64_t was,
				    uint64_t clients)
{
	return SEAM_ENTRY_SWAP(o->word, was, was & ~clients) == was;
}

/* What these clients asked, who still wait, of a task that does not run.
 * Return: its cookie, or 0; *ret_was, to claim it with. */
SEAM_INLINE uint64_t seam_outside_asleep(const struct seam_outside *o,
					 uint64_t clients, uint64_t *ret_was)
{
	uint64_t was = SEAM_ENTRY_GET(o->word);

	*ret_was = was;
	if (!(was & clients) || (was & SEAM_OUTSIDE_HELD))
		return 0;
	return SEAM_ENTRY_GET(o->cookies[seam_outside_slot(was)]);
}

/* Clients have ended. */
SEAM_INLINE void seam_outside_sweep(struct seam_outside *o, uint32_t clients)
{
	if (SEAM_ENTRY_GET(o->word) & clients & SEAM_WHO_MASK)
		(void)SEAM_ENTRY_CLEAR(o->word,
				       (uint64_t)clients & SEAM_WHO_MASK);
}

#endif
