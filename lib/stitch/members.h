/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The events that one sample is of: its own, or those of its group that have
 * counted since the sample before. */
#ifndef SEAM_LIB_STITCH_MEMBERS_H
#define SEAM_LIB_STITCH_MEMBERS_H

#include "base/idmap.h"
#include "stitch/stitch.h"

struct members {
	struct seam_idmap tasks; /* counts so far: by tid, then by id */
	struct seam_idmap *counts; /* of the sample's task */
	size_t at, n;
	bool undivided; /* all samples are plain: */
	bool plain; /* the sample is of its own event, with its own period */
	bool moved;
};

/* attr: of the sample's own event. Return: 0 or -ENOMEM. */
int seam_members_begin(struct members *m, const struct seam_pd_attr *attr,
		       const struct seam_pd_rec *sample);
/* Gives the sample its next event, id and period. Return: 1, 0 if there is
 * none left, -ENOMEM. */
int seam_members_next(struct members *m, struct seam_pd_reader *r,
		      struct seam_pd_rec *sample,
		      struct seam_stitch_stats *stats);
/* No sample of that thread is awaited any more: another one may have its
 * number.
 */
void seam_members_forget(struct members *m, uint32_t tid);
void seam_members_fini(struct members *m);

#endif
