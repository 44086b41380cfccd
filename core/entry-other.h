/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A request for the stack of a task that is not the current one: the side of
 * who asks (entry-outside.h). struct seam_entry_task says of that task what it
 * does of the current one; the element is that task's.
 *
 *	seam_other_join --0--> seam_other_ask, and the task work is scheduled
 */
#ifndef SEAM_CORE_ENTRY_OTHER_H
#define SEAM_CORE_ENTRY_OTHER_H

#include "core/entry.h"

/* So often the word may change under who asks. */
#define SEAM_OTHER_TRIES 8

/*
 * Joins the entry that the task has open, as long as nobody has begun to take
 * its stack. The word is as it was when the cookie was read, or we have not
 * joined: so it is that entry's. Return: the cookie, or 0.
 */
SEAM_INLINE uint64_t seam_other_join(const struct seam_entry_task *t,
				     struct seam_entry *e)
{
	uint64_t was = SEAM_ENTRY_GET(e->who);
	uint64_t cookie = SEAM_ENTRY_GET(e->cookie);
	uint64_t to = seam_who_deepened(was, t->depth) | t->clients |
		      SEAM_WHO_OUTSIDE;

	if (!(was & SEAM_WHO_KEPT) || (was & SEAM_WHO_CLAIMED) ||
	    seam_who_done(was))
		return 0;
	if (!cookie || cookie == SEAM_ENTRY_GET(e->served) ||
	    (SEAM_ENTRY_GET(e->flags) & SEAM_ENTRY_TAKEN))
		return 0;
	if (SEAM_ENTRY_GET(e->start) != t->start ||
	    SEAM_ENTRY_GET(e->image) != t->image)
		return 0;
	return SEAM_ENTRY_SWAP(e->who, was, to) == was ? cookie : 0;
}

/* Of a generation that ended, which others may have begun anew since. */
SEAM_INLINE void seam_other_clear(uint64_t *p)
{
	uint64_t was = SEAM_ENTRY_GET(*p);

	SEAM_ENTRY_SWAP(*p, was, 0);
}

/*
 * Makes what a dead task has left this one's that has its task_struct; or the
 * same one's, which has got another start by an exec. Return: the clients that
 * are to be told that *ret_cookie is lost.
 */
SEAM_INLINE uint64_t seam_other_renew(const struct seam_entry_task *t,
				      struct seam_outside *o,
				      uint64_t *ret_cookie)
{
	uint64_t start = SEAM_ENTRY_GET(o->start);
	uint64_t word = SEAM_ENTRY_GET(o->word), clients = word & SEAM_WHO_MASK;
	uint32_t slot = seam_outside_slot(word);

	if (start == t->start || (word & SEAM_OUTSIDE_HELD))
		return 0;
	*ret_cookie = SEAM_ENTRY_GET(o->cookies[slot]);
	seam_other_clear(&o->cookies[!slot]);
	seam_other_clear(&o->images[!slot]);
	if (SEAM_ENTRY_SWAP(o->word, word, seam_outside_next(word)) != word)
		return 0;
	SEAM_ENTRY_SWAP(o->start, start, t->start);
	return clients;
}

/* The cookie of a generation: who asks first gives it one. */
SEAM_INLINE uint64_t seam_other_cookie(struct seam_entry_task *t,
				       struct seam_outside *o, uint32_t slot)
{
	uint64_t cookie = SEAM_ENTRY_GET(o->cookies[slot]), was;

	if (cookie)
		return cookie;
	cookie = seam_entry_cookie(t);
	was = SEAM_ENTRY_SWAP(o->cookies[slot], 0, cookie);
	return was ? was : cookie;
}

/* Whether the generation is of the program that the task runs now. One that
 * nobody was told of becomes that. */
SEAM_INLINE bool seam_other_is_image(const struct seam_entry_task *t,
				     struct seam_outside *o, uint64_t word)
{
	uint64_t *image = &o->images[seam_outside_slot(word)];
	uint64_t was = SEAM_ENTRY_GET(*image);

	if (was == t->image)
		return true;
	if (was && (word & SEAM_WHO_MASK))
		return false;
	return SEAM_ENTRY_SWAP(*image, was, t->image) == was;
}

/* A deeper one than is wanted costs less than two. */
SEAM_INLINE void seam_other_deepen(const struct seam_entry_task *t,
				   struct seam_outside *o)
{
	uint32_t i, was;

	for (i = 0; i < SEAM_WHO_CONTEXTS; i++) {
		was = SEAM_ENTRY_GET(o->depth);
		if (was >= t->depth ||
		    SEAM_ENTRY_SWAP(o->depth, was, t->depth) == was)
			break;
	}
}

/*
 * Asks for the task's next stack. What the words say is true if the generation
 * has not ended when the clients are set: then these are before its end.
 * Return: the cookie, which the task comes with once its task work is
 * scheduled; or 0.
 */
SEAM_INLINE uint64_t seam_other_ask(struct seam_entry_task *t,
				    struct seam_outside *o)
{
	uint64_t word, cookie;
	uint32_t i;

	if (SEAM_ENTRY_GET(o->start) != t->start)
		return 0;
	seam_other_deepen(t, o);
	for (i = 0; i < SEAM_OTHER_TRIES; i++) {
		word = SEAM_ENTRY_GET(o->word);
		cookie = seam_other_cookie(t, o, seam_outside_slot(word));
		if (seam_other_is_image(t, o, word) &&
		    SEAM_ENTRY_SWAP(o->word, word, word | t->clients) == word)
			return cookie;
	}
	return 0;
}

/* Which task work is to be scheduled, once the clients are set: the one whose
 * callback was not the last to begin is not about to end. */
SEAM_INLINE uint32_t seam_other_work(const struct seam_outside *o)
{
	return !SEAM_ENTRY_GET(o->last);
}

#endif
