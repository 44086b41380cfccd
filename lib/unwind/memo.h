/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The last walk over a thread's own stack. What a frame's rule says depends on
 * its ip, SP and FP alone, and the next frame on these and on the one or two
 * words that the rule loads. So where a walk meets a frame that the last one
 * had, the frames behind it are the same for as long as these words are: they
 * need to be compared, where they lie is known, and no load waits for another.
 *
 * Frames lie at the array's end, outermost last. A walk writes its own from
 * the front, which never reaches the kept ones that it may yet meet: these lie
 * above it on the stack, and the room is that of those below. Where they meet,
 * the new ones are moved up to the kept.
 *
 * The same frames may also lie elsewhere, when a caller has put more on the
 * stack. Steps are the same then, but that they begin at another SP and FP: a
 * frame that was found by SP lies as far from its old place as the one before,
 * and one that was found by FP as far as FP is from its old value.
 *
 * It belongs to who counted itself first in its stripe (snapshot.h), and so to
 * one walk at a time. What another thread left is as good: it is compared.
 */
#ifndef SEAM_LIB_UNWIND_MEMO_H
#define SEAM_LIB_UNWIND_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cursor.h"

#define SEAM_MEMO_FRAMES 128u
#define SEAM_MEMO_STEPS 4u /* before it is looked again if frames meet */
#define SEAM_MEMO_TOP 8u /* frames that are likely to be others */
#define SEAM_MEMO_IDLE 32u /* walks */

/* Words on the stack, and what they were. */
struct seam_memo_frame {
	uint64_t ra_slot, ra; /* SP is behind it */
	uint64_t fp_slot, fp; /* the same again if FP is of no interest */
};

#define SEAM_MEMO_BY_FP UINT64_C(1) /* the step here needed FP before it */
#define SEAM_MEMO_NEEDS_FP UINT64_C(2) /* a step from here on needs it */
#define SEAM_MEMO_SLOT (~UINT64_C(7))

struct seam_memo_fp {
	uint64_t slot; /* 0: the step here left it; and bits, see above */
	uint64_t fp;
};

struct seam_memo {
	uint64_t serial; /* of the snapshot */
	bool is_whole; /* behind the last frame there is none */
	uint32_t first; /* that is kept */
	/* Of the walk under way: */
	bool is_written; /* its frames are */
	uint32_t next; /* kept frame that it may meet */
	uint32_t n; /* written */
	uint32_t alone; /* steps by rules */
	uint32_t followed; /* steps along kept frames, where others came then */
	/* Of the last ones: */
	bool is_same_top; /* the last two met the same frame as early */
	uint32_t met, met_alone;
	uint32_t idle, idle_max; /* walks that go without */
	bool is_from_top; /* the first kept frame is where a walk began */
	bool tries_moved; /* none was where it had been: all may have moved */
	struct seam_memo_frame frames[SEAM_MEMO_FRAMES];
	struct seam_memo_fp fps[SEAM_MEMO_FRAMES];
};

/* Return: whether the walk that begins is to use it. */
bool seam_memo_begin(struct seam_memo *m, uint64_t serial);

/*
 * Before steps from c, which is no kept frame. Writing has its price, and is
 * done where it is likely to be of use: not of the first few frames, which are
 * others at each walk, before they are seen not to be.
 * Return: false if this walk is done with keeping anything.
 */
bool seam_memo_begin_writing(struct seam_memo *m, const struct seam_cursor *c);

/* How many may be written behind the n. */
static inline uint32_t seam_memo_room(const struct seam_memo *m)
{
	return m->next - m->n;
}

/* Whether c is a kept frame, which next is then. hi: of the stack. */
static inline bool seam_memo_meets(struct seam_memo *m,
				   const struct seam_cursor *c, uint64_t hi)
{
	const uint64_t slot = c->sp - 8;
	uint32_t at = m->next;

	while (at < SEAM_MEMO_FRAMES && m->frames[at].ra_slot < slot)
		at++;
	m->next = at;
	if (at == SEAM_MEMO_FRAMES || m->frames[at].ra_slot != slot ||
	    m->frames[at].ra != c->ip + c->exact ||
	    m->frames[SEAM_MEMO_FRAMES - 1].ra_slot >= hi)
		return false;
	return !(m->fps[at].slot & SEAM_MEMO_NEEDS_FP) ||
	       (m->fps[at].fp == c->fp && !c->fp_lost);
}

/* Whether c, where a walk begins, is the first kept frame at another place. */
static inline bool seam_memo_moved(const struct seam_memo *m,
				   const struct seam_cursor *c)
{
	return m->tries_moved && !m->is_written && !m->alone && !c->fp_lost &&
	       m->frames[m->first].ra_slot != c->sp - 8 &&
	       m->frames[m->first].ra == c->ip + c->exact;
}

/* n frames behind the first were at other places, and these were all of the
 * walk or not. If so it is done with keeping: what is kept stays. */
void seam_memo_end_moved(struct seam_memo *m, uint32_t n, bool are_all);

/* The kept ones from next on are of this walk. Keeps what was written together
 * with them. */
void seam_memo_join(struct seam_memo *m);

/* The kept ones up to last, which were followed, are of this walk; those
 * behind it not. */
void seam_memo_part(struct seam_memo *m, uint32_t last);

/* Forgets what was written, and what that was written over. */
static inline void seam_memo_drop(struct seam_memo *m)
{
	if (m->is_written) {
		m->first = m->next;
		m->is_from_top = false;
	}
	m->n = 0;
}

/* Keeps what was written, and nothing else. */
void seam_memo_keep(struct seam_memo *m, bool is_whole);

#endif
