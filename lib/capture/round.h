/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the worker is given of one reading (worker.h). */
#ifndef SEAM_LIB_CAPTURE_ROUND_H
#define SEAM_LIB_CAPTURE_ROUND_H

#include "base/idmap.h"
#include "capture/batch.h"
#include "event/sideband.h"
#include "process/held.h"

/* The sideband of a round. Copies of before until_ns are in this round or one
 * before it; of later ones, some may come in the next. */
struct seam_worker_side {
	const struct seam_side_record *records;
	size_t n;
	uint64_t until_ns;
};

/* Records by time, each behind its time: size bytes. */
struct seam_side {
	uint8_t *bytes; /* allocated, or NULL */
	size_t size;
};

/* The record at an offset, and its time. */
const struct perf_event_header *seam_side_at(const struct seam_side *side,
					     size_t at, uint64_t *ret_time_ns);
/* How many records it has. */
uint64_t seam_side_count(const struct seam_side *side);
/* Of both by time, of one time those of a first: *ret.bytes is new. Return: 0;
 * -ENOMEM: all is as it was. */
int seam_side_merge(const struct seam_side *a, const struct seam_side *b,
		    struct seam_side *ret);

struct seam_round {
	struct seam_round *next;
	struct seam_batch copies;
	struct seam_held held; /* files of the requests among the copies */
	struct seam_idmap untold; /* processes; see seam_round_untold */
	uint64_t untold_ns; /* the last of what is lost */
	uint64_t all_untold_ns; /* the same, of any process; 0: nothing is */
	struct seam_side side;
	uint64_t until_ns; /* see there */
};

/* Its sideband is a copy; it has no copies of stacks yet. Return: NULL: there
 * is no memory. */
struct seam_round *seam_round_new(const struct seam_worker_side *side);
/* Whether a record says that made code may be gone. */
bool seam_round_ends_tables(const struct seam_wire *rec, size_t size);
/* Notes the processes whose tables of made code may be of none any more, since
 * what they said of it is among these records, which are not taken. Return: 0
 * or -ENOMEM. */
int seam_round_untold(struct seam_round *r, const struct seam_batch *copies);
void seam_round_free(struct seam_round *r);

#endif
