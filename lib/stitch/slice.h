/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Samples of a stitcher, some at a time, to be used by another thread than the
 * one that reads on. */
#ifndef SEAM_LIB_STITCH_SLICE_H
#define SEAM_LIB_STITCH_SLICE_H

#include "stitch/stitch.h"

#define SEAM_SLICE 256 /* samples, */
#define SEAM_SLICE_FRAMES 16384 /* or as many with that many frames */

struct seam_slice {
	size_t n, n_frames, cap_frames;
	struct seam_frame *frames;
	size_t frames_at[SEAM_SLICE];
	struct seam_pd_rec recs[SEAM_SLICE];
	struct seam_stitched v[SEAM_SLICE]; /* n of them */
};

/* With the next samples, at most max of them, in place of those that it had.
 * What they point to is valid as long as the slice and the stitcher. Return: as
 * seam_stitch_next() did last: 1: there may be more; 0, -errno: there are none
 * but these. */
int seam_slice_fill(struct seam_slice *b, struct seam_stitch *s, size_t max);
void seam_slice_fini(struct seam_slice *b);

#endif
