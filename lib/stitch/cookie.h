/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The user stacks of a recording by cookie, and what is known of each task
 * to say why one is missing. */
#ifndef SEAM_LIB_STITCH_COOKIE_H
#define SEAM_LIB_STITCH_COOKIE_H

#include "base/spill.h"
#include "stitch/space.h"

struct cookie_entry { /* sorted by cookie, tid, time, record */
	uint64_t cookie;
	uint64_t time_ns;
	uint32_t tid, pid;
	uint32_t record; /* of the reader */
	bool has_tid, used;
	/* Of the first stack after an exec: what was mapped at its time, and
	 * before that exec. Its samples may lie on the other side of it. */
	struct space *space, *before;
};

struct cookie_turn { /* sorted by tid, record */
	uint32_t tid, record, entry;
};

struct cookie_index {
	struct cookie_entry *v; /* in room */
	size_t n;
	struct seam_spill room;
	struct cookie_turn *order; /* one for each of v, in order_room; NULL:
				    * not asked for */
	struct seam_spill order_room;
	bool complete; /* whoever wrote it says which stacks are pending */
	struct seam_idmap tasks; /* struct task, by tid */
};

/* Reads all records once, if any is of use, through a world of their own whose
 * mappings the stacks keep: it must outlive the index. */
int seam_cookie_index(struct cookie_index *ix, const struct seam_pd_reader *r,
		      struct world *world, struct seam_stitch_stats *stats);
void seam_cookie_fini(struct cookie_index *ix);
/* record: the sample's place in the reader. Counts how it was found, or not.
 * Return: NULL: there is none. */
struct cookie_entry *seam_cookie_find(const struct cookie_index *ix,
				      uint64_t cookie,
				      const struct seam_pd_rec *sample,
				      size_t record,
				      struct seam_stitch_stats *stats);
/* By the order of records alone. Return: 0 or -ENOMEM. */
int seam_cookie_order(struct cookie_index *ix);
struct cookie_entry *seam_cookie_next(const struct cookie_index *ix,
				      const struct seam_pd_rec *sample,
				      size_t record);
/* Tells what is known of the stacks that serve nobody. lost: samples were, so
 * that theirs may be among them. */
void seam_cookie_unused(const struct cookie_index *ix, bool lost,
			struct seam_stitch_stats *stats);
/* The order of entries, for qsort. */
int seam_cookie_by_cookie(const void *a, const void *b);
/* Why there is none: the task never came back from the entry that the
 * cookie names (SEAM_PENDING), or it did (SEAM_LOST). Guessed by what came of
 * the task later, unless the recording says that nothing more was to come. */
int seam_cookie_missing(const struct cookie_index *ix, uint64_t cookie,
			const struct seam_pd_rec *sample);

/* Whether a sample's chain says that the user half comes in a record. */
bool seam_chain_deferred(struct seam_pd_words chain);
/* The cookie at the end of a sample's chain, 0 if it has none. */
uint64_t seam_chain_cookie(struct seam_pd_words chain);

#endif
