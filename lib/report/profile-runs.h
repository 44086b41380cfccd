/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A profile's tree in parts. When a part is full it becomes a run, its nodes in
 * the order in which a walk meets them, siblings by row, in a file
 * (base/spill.h). The runs are merged into one such walk at the end. Each node
 * comes with what all that is below it weighs, as the runs have that.
 */
#ifndef SEAM_LIB_REPORT_PROFILE_RUNS_H
#define SEAM_LIB_REPORT_PROFILE_RUNS_H

#include "report/profile.h"

/* Of the nodes that there are, which all go but for the root.
 * Return: 0 or -ENOMEM. */
int seam_profile_make_run(struct seam_profile *p);
/* The nodes of all runs, one at least, that weigh so much: parents first.
 * Return: 0; -ENOMEM; -EOVERFLOW: they are too many; what take returned if not
 * 0. */
int seam_profile_merge(const struct seam_profile *p, uint64_t least,
		       seam_profile_take *take, void *ctx);
/* They are the tree's nodes then, and there are no runs any more.
 * Return: as above. */
int seam_profile_join(struct seam_profile *p, uint64_t least);

/* profile.c: the siblings of each node in this order; arg: the profile.
 * Return: 0 or -ENOMEM. */
int seam_profile_order(struct seam_profile *p,
		       int (*order)(const void *, const void *, void *));

#endif
