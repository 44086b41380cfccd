/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Texts and build-ids of records that go, each of them once. */
#ifndef SEAM_LIB_STITCH_NAMES_H
#define SEAM_LIB_STITCH_NAMES_H

#include "base/index.h"
#include "perfdata/reader.h"

struct names {
	struct seam_index index;
	struct name **v;
	size_t n, cap;
};

/* What the record points to, in case that a mapping or a task is called so,
 * is of the names instead. Return: 0 or -errno. */
int seam_names_keep(struct names *names, struct seam_pd_rec *rec);
void seam_names_fini(struct names *names);

#endif
