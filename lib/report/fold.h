/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Counts equal lines of text, and gives them in the order of strcmp. Those that
 * do not fit in some megabytes of memory wait in a file, in runs that are in
 * order, and are merged in the end:
 *
 *	while (...)
 *		seam_fold_add(&f, text, 1);
 *	for (seam_fold_begin(&f); seam_fold_next(&f, &line);)
 *		...
 *	seam_fold_fini(&f);
 */
#ifndef SEAM_LIB_REPORT_FOLD_H
#define SEAM_LIB_REPORT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/spill.h"

struct seam_fold_line {
	const char *text; /* where it is; it moves as others are added */
	uint64_t count;
};

/* Bytes of lines in memory. For tests to change. */
extern size_t seam_fold_most;

struct seam_fold {
	char *text; /* of the lines in memory, one behind the other */
	size_t len, cap;
	struct seam_fold_kept {
		size_t at; /* in text */
		uint64_t count;
	} * v;
	size_t n, cap_v;
	struct seam_index index; /* of v */
	struct seam_spill room; /* of runs */
	size_t used; /* of that */
	struct seam_fold_run {
		size_t at, end; /* in room: what is left of it */
	} * runs; /* from seam_fold_begin on a heap, by their first lines */
	size_t n_runs, cap_runs;
	size_t given; /* bytes, since room was let go */
};

/* Return: 0; -ENOMEM; -EOVERFLOW. */
int seam_fold_add(struct seam_fold *f, const char *text, uint64_t count);
/* Afterwards nothing can be added. Return: 0 or -ENOMEM. */
int seam_fold_begin(struct seam_fold *f);
/* The next line, valid until the one behind it. Return: false: no more. */
bool seam_fold_next(struct seam_fold *f, struct seam_fold_line *ret);
void seam_fold_fini(struct seam_fold *f);

#endif
