/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The samples of a recording that hold registers and a copy of the stack, as
 * perf record --call-graph dwarf takes them, unwound ahead of who reads them:
 * a window of samples at a time, on all processors, while the window before is
 * being used. It follows what is mapped by itself, since it is ahead.
 */
#ifndef SEAM_LIB_STITCH_COPIES_H
#define SEAM_LIB_STITCH_COPIES_H

#include "offline/unwind.h"
#include "stitch/space.h"

struct copies;

/* Whether the event's samples have what unwinding needs. */
bool seam_copies_has(const struct seam_pd_attr *attr);

/* Whether they are of another architecture: such copies are not unwound. */
bool seam_copies_foreign(const struct seam_pd_reader *r);

/* kallsyms: of the recorded kernel; NULL: none was given. */
int seam_copies_new(const struct seam_pd_reader *r, const char *kallsyms,
		    struct copies **ret);
struct copies *seam_copies_free(struct copies *c); /* NULL is fine */

/* Of the sample at that place, which comes after those asked for before.
 * Return: 0: *ret is valid until the next call; -errno. */
int seam_copies_get(struct copies *c, size_t place,
		    const struct seam_offline_stack **ret);

/* Counts what was got last in stats, if it was a copy's, and what size of
 * copies would do. */
int seam_copies_count(struct copies *c, uint32_t tid,
		      const struct seam_offline_stack *stack,
		      struct seam_stitch_stats *stats);
/* No sample of that thread is awaited any more. */
void seam_copies_forget(struct copies *c, uint32_t tid);
/* Once all are counted. */
void seam_copies_total(const struct copies *c, struct seam_stitch_stats *stats);

/* See seam_stitch_lacking. */
const char *seam_copies_lacking(const struct copies *c, size_t *at,
				const char **ret_path, uint64_t *ret_stacks);

#endif
