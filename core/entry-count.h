/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What a client counts of its samples and stacks on their way to it: each
 * sample that is wanted comes, or is lost and counted, and so does each stack
 * that one of them waits for. Who was given a cookie otherwise than with a
 * sample is told of that loss.
 */
#ifndef SEAM_CORE_ENTRY_COUNT_H
#define SEAM_CORE_ENTRY_COUNT_H

#include "core/entry-request.h"

/* A request was answered. Return: whether its event is a sample. */
SEAM_INLINE bool seam_sample_asked(struct seam_entry_task *t,
				   const struct seam_asked *asked)
{
	if (asked->flags & SEAM_SAMPLE_OWN)
		return false;
	seam_entry_env_count(t, SEAM_COUNT_WANTED);
	return true;
}

/* t may be NULL where the surroundings count without. */
SEAM_INLINE void seam_sample_sent(struct seam_entry_task *t, bool is_lost)
{
	if (is_lost)
		seam_entry_env_count(t, SEAM_COUNT_LOST_SAMPLE);
}

/* To one client, who has these counts and a ring of his own. */
SEAM_INLINE void seam_stack_sent(uint64_t *counts, bool is_lost)
{
	if (is_lost)
		__sync_fetch_and_add(&counts[SEAM_COUNT_LOST_STACK], 1);
}

/*
 * A task is freed: the clients that its last entry's stack did not come to. Its
 * end was not seen, or that would have been taken.
 */
SEAM_INLINE uint32_t seam_entry_untaken(const struct seam_entry *e,
					uint64_t start)
{
	return e->start == start && e->cookie ? seam_who_left(e->who) : 0;
}

#endif
