/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The user stacks of a recording by cookie, and what is known of each task
 * to say why one is missing. */
#ifndef SEAM_LIB_STITCH_COOKIE_H
#define SEAM_LIB_STITCH_COOKIE_H

#include <assert.h>

#include "base/spill.h"
#include "stitch/near.h"
#include "stitch/space.h"

struct cookie_entry { /* sorted by cookie, tid, time, record */
	uint64_t cookie;
	uint64_t time_ns;
	uint32_t tid, pid;
	uint64_t record : 48; /* of the reader */
	uint64_t has_tid : 1;
	uint64_t used : 1;
	/* In a window: one with its cookie and thread was used, which is gone;
	 * it came when its samples had left. */
	uint64_t kin_used : 1;
	uint64_t late : 1;
	/* Of the first stack after an exec: what was mapped where it has frames
	 * at its time, and, of one that may be of before that exec, then. Its
	 * samples may lie on the other side of it. */
	uint64_t has_space : 1;
	uint64_t has_before : 1;
	uint64_t n_space : 13, n_before : 13; /* areas, one behind the other, */
	uint64_t areas : 38; /* from there on */
};
static_assert(sizeof(struct cookie_entry) == 40, "DESIGN.md says so");

struct cookie_turn { /* sorted by tid, record */
	uint32_t tid, record, entry;
};

struct cookie_gone { /* entries that serve no sample */
	uint64_t unused, repeated, late, unknown;
	uint64_t pairs; /* with another of cookie and thread, used or not */
};

#define COOKIE_FOUND 64

struct cookie_index {
	struct cookie_entry *v; /* in room */
	size_t n, n_sorted; /* in a window more come, behind these */
	struct seam_spill room;
	struct seam_spill area_room; /* struct space_area, of entries; */
	size_t n_areas, areas_gone; /* those that are there, and were before */
	const struct seam_range **hit; /* of the stack at hand */
	size_t cap_hit;
	struct cookie_gone gone; /* of the window */
	bool is_open; /* more records come */
	bool has_gaps; /* the recording is damaged: some records are not there
			*/
	struct cookie_turn *order; /* one for each of v, in order_room; NULL:
				    * not asked for */
	struct seam_spill order_room;
	struct near near;
	/* Where the last one was found, of CPUs apart: the next is mostly near.
	 */
	size_t found[COOKIE_FOUND];
	bool complete; /* whoever wrote it says which stacks are pending */
	struct seam_idmap tasks; /* struct task, by tid */
};

/* Of threads that have ended: what the index's world calls. */
void seam_cookie_gone(void *index, uint32_t tid);
/* Reads all records once, if any is of use, through a world of their own. */
int seam_cookie_index(struct cookie_index *ix, const struct seam_pd_reader *r,
		      struct world *world, struct seam_stitch_stats *stats);
/* Of a window's records: the next one, which has been applied to the world.
 * late: it came behind later ones. */
int seam_cookie_note(struct cookie_index *ix, struct world *w,
		     const struct seam_pd_rec *rec, size_t i,
		     struct seam_stitch_stats *stats, bool late);
/* What was noted is found from here on. Return: 0 or -ENOMEM. */
int seam_cookie_put_in(struct cookie_index *ix,
		       struct seam_stitch_stats *stats);
/* Records before that place are gone. */
void seam_cookie_drop(struct cookie_index *ix, size_t record);
/* Whether the sample's record is there for sure: none that comes can be nearer.
 */
bool seam_cookie_settled(struct cookie_index *ix,
			 const struct seam_pd_rec *sample, size_t record);
/* What was mapped at the entry's time, and before that, where that is known; of
 * the world, whose mappings have the same numbers as the index's. Both are the
 * caller's. Return: 0 or -ENOMEM. */
int seam_cookie_spaces(const struct cookie_index *ix,
		       const struct cookie_entry *e, struct world *w,
		       struct space *ret[static 2]);
void seam_cookie_fini(struct cookie_index *ix);
/* record: the sample's place in the reader. Counts how its record was found, or
 * not: *ret is NULL then. Return: 0 or -ENOMEM. */
int seam_cookie_find(struct cookie_index *ix, uint64_t cookie,
		     const struct seam_pd_rec *sample, size_t record,
		     struct seam_stitch_stats *stats,
		     struct cookie_entry **ret);
/* Whether a is nearer by time than b. Where records have no time, all have the
 * same: their place decides. */
bool seam_cookie_nearer(const struct cookie_entry *a,
			const struct cookie_entry *b,
			const struct cookie_entry *to);
/* By the order of records alone. Return: 0 or -ENOMEM. */
int seam_cookie_order(struct cookie_index *ix);
struct cookie_entry *seam_cookie_next(const struct cookie_index *ix,
				      const struct seam_pd_rec *sample,
				      size_t record);
/* Tells what is known of the stacks that serve nobody. lost: samples were, so
 * that theirs may be among them. */
void seam_cookie_unused(const struct cookie_index *ix, bool lost,
			struct seam_stitch_stats *stats);
/* Whether both are of one cookie and thread. */
static inline bool seam_cookie_same(const struct cookie_entry *a,
				    const struct cookie_entry *b)
{
	return a->cookie == b->cookie && a->tid == b->tid;
}
static inline int seam_cookie_compare(const struct cookie_entry *a,
				      const struct cookie_entry *b)
{
	if (a->cookie != b->cookie)
		return a->cookie < b->cookie ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->record > b->record) - (a->record < b->record);
}
/* The order of entries, for qsort. */
int seam_cookie_by_cookie(const void *a, const void *b);
/* Why there is none: the task never came back from the entry that the
 * cookie names (SEAM_PENDING), or it did (SEAM_LOST). Guessed by what came of
 * the task later, unless the recording says that nothing more was to come. Of a
 * window that passed it may be that nothing tells (SEAM_WINDOW); of a damaged
 * recording, that it is among what is not there any more (SEAM_LOST). */
int seam_cookie_missing(const struct cookie_index *ix, uint64_t cookie,
			const struct seam_pd_rec *sample);

/* Whether a sample's chain says that the user half comes in a record. */
bool seam_chain_deferred(struct seam_pd_words chain);
/* The cookie at the end of a sample's chain, 0 if it has none. */
uint64_t seam_chain_cookie(struct seam_pd_words chain);

#endif
