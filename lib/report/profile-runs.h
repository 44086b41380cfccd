/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A profile's tree in parts. When a part is full it becomes a run, its nodes in
 * the order in which a walk meets them, siblings by row, in a file
 * (base/spill.h); the runs are merged at the end.
 */
#ifndef SEAM_LIB_REPORT_PROFILE_RUNS_H
#define SEAM_LIB_REPORT_PROFILE_RUNS_H

#include "report/profile.h"

/* Of the nodes that there are, which all go but for the root.
 * Return: 0 or -ENOMEM. */
int seam_profile_make_run(struct seam_profile *p);
/* The runs' tree: nodes of that weight, and above. Return: 0; -ENOMEM;
 * -EOVERFLOW: they are too many. */
int seam_profile_merge(struct seam_profile *p, uint64_t least);
/* profile.c: the siblings of each node in this order; arg: the profile.
 * Return: 0 or -ENOMEM. */
int seam_profile_order(struct seam_profile *p,
		       int (*compare)(const void *, const void *, void *));

#endif
