/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A stack's frames from the root on, with their text, as they were printed
 * last: a thread's next stack has most of them in common with it, and their
 * text is then taken at once. Frames are counted from the root, so that what is
 * in common stays where it is.
 */
#ifndef SEAM_LIB_REPORT_TAIL_H
#define SEAM_LIB_REPORT_TAIL_H

#include "report/strbuf.h"
#include "stitch/stitch.h"

#define SEAM_TAIL_FRAMES 256 /* of a deeper stack nothing is kept */
#define SEAM_TAIL_TEXT 32768

struct seam_tail_frame {
	uint64_t ip;
	uint64_t map; /* its id; 0: none */
	uint32_t len; /* of its text and of all from there to the root */
	bool kernel, exact;
	uint8_t method;
	uint8_t flags; /* what it was printed with */
};

struct seam_tail {
	unsigned of; /* what all its text was printed with */
	size_t n; /* frames: the last so many of v have them */
	struct seam_tail_frame v[SEAM_TAIL_FRAMES];
	char text[SEAM_TAIL_TEXT]; /* to its end */
};

/* What is new, from the leaf on: n frames of the stack. Frame i's text begins
 * at begin[i], and was printed with flags[i]. */
struct seam_tail_new {
	const struct seam_frame *frames;
	size_t n;
	const size_t *begin;
	const uint8_t *flags;
};

/* Return: how many frames are the same, from the root on. */
size_t seam_tail_common(const struct seam_tail *tail, unsigned of,
			const struct seam_frame *f, size_t n);
/* The flags of the frame that has so many, itself among them, to the root. */
static inline uint8_t seam_tail_flags(const struct seam_tail *tail, size_t k)
{
	return tail->v[SEAM_TAIL_FRAMES - k].flags;
}
/* Appends the last k frames' text. */
void seam_tail_print(const struct seam_tail *tail, size_t k,
		     struct seam_strbuf *b);
/* Keeps the last k frames, and in place of all others those that are new, whose
 * text ends at end of b. */
void seam_tail_keep(struct seam_tail *tail, size_t k,
		    const struct seam_tail_new *add, unsigned of,
		    const struct seam_strbuf *b, size_t end);

#endif
