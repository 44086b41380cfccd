/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The rules of a task's last stack, side by side in stack order.
 *
 * Most frames of a stack were there at the task's last one, too. A rule
 * depends on the address it is for and on nothing else, so one found for the
 * last stack is as good now; but in order of the stack the rules lie next to
 * each other, where a table has each on a line and most on a page of its own,
 * cold by the time of the next sample.
 *
 * Two sides: one is read, front to back, while the other is written. Each
 * frame is asked for before its rule is put. To ask leaves something of the
 * frame's own in its place, since what is there may be another task's:
 *
 *	seam_last_own(stack, self, start, round);
 *	seam_last_begin(stack, &walk);
 *	for each frame nr, at cursor c:
 *		if (!seam_last_find(stack, &walk, nr, &c, &entry))
 *			... find the rule ...
 *			seam_last_put(stack, &walk, nr, &entry);
 *	seam_last_end(stack, &walk, nr);
 */
#ifndef SEAM_CORE_LAST_STACK_H
#define SEAM_CORE_LAST_STACK_H

#include "core/last-entry.h"

/* All in one page, so that it costs one miss of the TLB. Deeper frames are
 * looked up like any other. */
#define SEAM_LAST_FRAMES 127

struct seam_last_stack {
	uint64_t self, start; /* of the task it is of */
	uint32_t len[2]; /* frames on each side */
	uint32_t side; /* that holds the last stack */
	uint32_t round; /* of the task's epochs, which its rules name */
	struct seam_last_entry entries[SEAM_LAST_FRAMES][2];
};

/* Of the side that is read. */
struct seam_last_walk {
	uint32_t side;
	uint32_t next, len; /* frames: the next, and all */
};

/* Nothing that either side holds is true any more. */
SEAM_INLINE void seam_last_drop(struct seam_last_stack SEAM_TABLE *last)
{
	last->len[0] = last->len[1] = 0;
}

/* A stack of the task self, started at start, is to come. round: how often its
 * epochs have begun anew. */
SEAM_INLINE void seam_last_own(struct seam_last_stack SEAM_TABLE *last,
			       uint64_t self, uint64_t start, uint32_t round)
{
	if (last->self == self && last->start == start && last->round == round)
		return;
	last->round = round;
	last->self = self;
	last->start = start;
	seam_last_drop(last);
}

/* Before the first frame. */
SEAM_INLINE void seam_last_begin(const struct seam_last_stack SEAM_TABLE *last,
				 struct seam_last_walk *walk)
{
	walk->side = last->side & 1;
	walk->next = 0;
	walk->len = last->len[walk->side];
}

/* After the last frame: what was written becomes what is read. */
SEAM_INLINE void seam_last_end(struct seam_last_stack SEAM_TABLE *last,
			       const struct seam_last_walk *walk, uint32_t nr)
{
	if (nr > SEAM_LAST_FRAMES)
		nr = SEAM_LAST_FRAMES;
	last->len[walk->side ^ 1] = nr;
	last->side = walk->side ^ 1;
}

/* Writes the entry of frame nr. */
SEAM_INLINE void seam_last_put(struct seam_last_stack SEAM_TABLE *last,
			       const struct seam_last_walk *walk, uint32_t nr,
			       const struct seam_last_entry *entry)
{
	if (nr >= SEAM_LAST_FRAMES)
		return;
	last->entries[nr][walk->side ^ 1].at = entry->at;
	last->entries[nr][walk->side ^ 1].how = entry->how;
}

/* The entry of the frame at the cursor, in the last stack. */
SEAM_INLINE bool seam_last_read(const struct seam_last_stack SEAM_TABLE *last,
				struct seam_last_walk *walk,
				const struct seam_cursor *c,
				struct seam_last_entry *ret)
{
	uint64_t sp = seam_last_sp(c->sp >> 3), how = 0, at;

	/* Frames of the last stack that returned since. */
	while (walk->next < walk->len) {
		SEAM_LOOP_GUARD;
		how = last->entries[walk->next][walk->side].how;
		if (seam_last_sp(how) >= sp)
			break;
		walk->next++;
	}
	if (walk->next >= walk->len || seam_last_sp(how) != sp)
		return false;
	at = last->entries[walk->next][walk->side].at;
	if (!seam_last_is(at, c))
		return false;
	walk->next++;
	ret->at = at;
	ret->how = how;
	return true;
}

/*
 * Asks for the entry of frame nr, at the cursor. It holds as long as its
 * mapping is what it was, which the caller sees to. Whether found or not,
 * the place of frame nr in this stack is written.
 */
SEAM_INLINE bool seam_last_find(struct seam_last_stack SEAM_TABLE *last,
				struct seam_last_walk *walk, uint32_t nr,
				const struct seam_cursor *c,
				struct seam_last_entry *ret)
{
	struct seam_last_entry e;
	bool found = seam_last_read(last, walk, c, &e);

	if (found)
		*ret = e;
	else
		seam_last_none(c, &e);
	seam_last_put(last, walk, nr, &e);
	return found;
}

#endif
