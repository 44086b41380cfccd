/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Inside the index of cookies: what was mapped where its stacks have frames, as
 * plain data. Spaces would be kept for each process that the recording has. */
#ifndef SEAM_LIB_STITCH_COOKIE_AREAS_H
#define SEAM_LIB_STITCH_COOKIE_AREAS_H

#include "stitch/cookie.h"

/* Of the first stack after an exec, which is the last entry. Return: 0 or
 * -ENOMEM. */
int seam_cookie_keep(struct cookie_index *ix, struct cookie_entry *e,
		     const struct process *p,
		     const struct seam_pd_rec_stack *stack);
/* Entries have been dropped. */
void seam_cookie_drop_areas(struct cookie_index *ix);

#endif
