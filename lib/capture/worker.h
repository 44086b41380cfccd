/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The thread that does what takes long: makes tables, opens files, unwinds
 * stack copies. Meanwhile the session goes on to empty the rings, so that a
 * large library that is met for the first time costs nobody's samples.
 *
 * It is given rounds: the copies and table requests of one reading, with the
 * sideband up to then. It works through them in order, each copy with what
 * was mapped at its time. The processes, their images and the tables are the
 * worker's alone between start and stop. Requests for tables of files it reads
 * by itself, too, before all else, whether or not anybody reads the session.
 */
#ifndef SEAM_LIB_CAPTURE_WORKER_H
#define SEAM_LIB_CAPTURE_WORKER_H

#include "capture/round.h"
#include "event/sideband.h"
#include "pager/tables.h"
#include "process/copier.h"
#include "process/held.h"
#include "process/process.h"

struct seam_worker;

/* What it has done so far. */
struct seam_worker_stats {
	uint64_t frames, unwind_ns; /* of copies */
	struct seam_dump_counts dump;
	struct seam_images_stats images;
	struct seam_jit_stats made;
	uint64_t files_stuck; /* see fetch.h */
	/* Copies that there was no memory to unwind; of these, stacks that
	 * seam_worker_take does not even name as lost. */
	uint64_t lost, untold;
	uint64_t malformed; /* records that are none */
	/* There was no memory for them. */
	uint64_t lost_made, lost_sideband;
};

/* All stays the caller's and must outlive the worker. methods: enum
 * seam_unwind_how. tables may be NULL: then it is given no requests for
 * them. */
int seam_worker_start(struct seam_processes *processes,
		      struct seam_tables *tables, uint32_t methods,
		      uint32_t max_frames, struct seam_worker **ret);
/* Finishes what it was given, then ends. NULL is fine. Return: NULL. */
struct seam_worker *seam_worker_stop(struct seam_worker *w);

/*
 * Gives a round: takes the bytes of copies and the files held for its
 * requests, both empty afterwards, and reads side. Return: 0; -ENOMEM;
 * -ENOBUFS: too much waits, of copies nothing is taken.
 */
int seam_worker_give(struct seam_worker *w, struct seam_batch *copies,
		     struct seam_held *held,
		     const struct seam_worker_side *side);
/* What processes said of their code until then may be lost: nothing of before
 * is believed. Takes no memory. */
void seam_worker_untold(struct seam_worker *w, uint64_t time_ns);
/* How many files wait to be read, of all rounds. */
size_t seam_worker_held(struct seam_worker *w);

/*
 * What has been unwound since the last call, or was lost: with the end code
 * SEAM_LOST, and without .ips. The caller frees each .ips and
 * *ret, which is NULL if there is none. Return: how many, or the first error
 * that the worker met, once.
 */
long seam_worker_take(struct seam_worker *w, struct seam_unwound **ret);
/* As of the last round; all 0 if w is NULL. */
void seam_worker_stats(struct seam_worker *w, struct seam_worker_stats *ret);
/* Until all rounds that were given are done. */
void seam_worker_wait(struct seam_worker *w);

#endif
