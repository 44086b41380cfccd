/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside the stitcher: stitch.c goes from sample to sample, halves.c has what
 * each one's stack is. */
#ifndef SEAM_LIB_STITCH_STITCH_PRIV_H
#define SEAM_LIB_STITCH_STITCH_PRIV_H

#include "core/uapi.h"
#include "stitch/cookie.h"
#include "stitch/copies.h"
#include "stitch/members.h"
#include "stitch/stitch.h"
#include "stitch/window.h"

#define SEAM_MISC_CPUMODE 0x7

struct seam_stitch {
	struct seam_pd_reader *r;
	size_t at; /* the next record */
	struct members members; /* of the sample that was read last */
	struct seam_stitched out; /* it, but for the member */
	struct world world; /* at the time of the next record */
	struct world ahead; /* the index's, at the end */
	struct cookie_index cookies;
	struct window window; /* of a stream */
	struct copies *copies; /* NULL: none has come yet */
	const char *kallsyms; /* borrowed; NULL: none was given */
	enum seam_join rule;
	struct seam_stitch_stats stats;
	struct seam_pd_rec rec;
	struct seam_frame *frames;
	size_t n, cap;
	struct space_near near[2]; /* of a sample: user, kernel */
	/* Of samples of threads that have no name, each for SEAM_STITCH_KEPT.
	 */
	struct fallback {
		char name[13]; /* ":-2147483648" */
	} * fallbacks;
};

/* Of the sample that was read last. */
static inline const struct seam_pd_attr *
seam_stitch_event(const struct seam_stitch *s)
{
	return seam_pd_event(s->r, (size_t)s->rec.event);
}

/*
 * halves.c: the frames, s->frames, of the sample that was read last, of process
 * p, or NULL, and its thread of that name, or NULL: those that came with it,
 * and its user half. Return: 0, and *out says what they are; -errno.
 */
int seam_stitch_halves(struct seam_stitch *s, const struct process *p,
		       const char *comm, struct seam_stitched *out);

#endif
