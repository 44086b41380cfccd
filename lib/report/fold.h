/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Counts equal lines of text, and gives them in the order of strcmp. */
#ifndef SEAM_LIB_REPORT_FOLD_H
#define SEAM_LIB_REPORT_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "base/index.h"

struct seam_fold_line {
	char *text;
	uint64_t count;
};

struct seam_fold {
	struct seam_fold_line *v;
	size_t n, cap;
	struct seam_index index; /* of v, until it is sorted */
};

int seam_fold_add(struct seam_fold *f, const char *text, uint64_t count);
/* Afterwards nothing can be added. */
void seam_fold_sort(struct seam_fold *f);
void seam_fold_fini(struct seam_fold *f);

#endif
