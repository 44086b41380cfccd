/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The samples of a stitcher, read by a thread that is a little ahead of who
 * names and prints them:
 *
 *	struct seam_ahead *a;
 *	if (seam_ahead_new(stitch, &a) == 0)
 *		while (seam_ahead_next(a, &out) > 0)
 *			...
 *	seam_ahead_free(a);
 *
 * From new() on the stitcher and its reader are the thread's until next() has
 * returned 0 or an error, or free().
 */
#ifndef SEAM_LIB_STITCH_AHEAD_H
#define SEAM_LIB_STITCH_AHEAD_H

#include "stitch/stitch.h"

struct seam_ahead;

/* Return: 0; -ENOMEM, -EAGAIN: there is no thread to be had, and the stitcher
 * is as it was. */
int seam_ahead_new(struct seam_stitch *s, struct seam_ahead **ret);
/* NULL is fine. Return: NULL. */
struct seam_ahead *seam_ahead_free(struct seam_ahead *a);
/* As seam_stitch_next(): what it delivers is valid until the next call. */
int seam_ahead_next(struct seam_ahead *a, struct seam_stitched *ret);

#endif
