/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A pipe's recording that is read while it is written. The reader has those of
 * its records that are in the order of time for good: where the stream has
 * rounds, after one ends those that are no later than the one before it went;
 * where it has none yet, those that the newest record is the window behind of.
 * Records that were used are dropped, so that what is held is bounded by the
 * window and not by the stream.
 *
 *	if (seam_pd_open_stream(&opts, &r, &err) == 0 && seam_pd_is_stream(r))
 *		do {
 *			for (; i < seam_pd_n_records(r); i++)
 *				seam_pd_record(r, i, &rec);
 *			seam_pd_stream_drop(r, i);
 *		} while (seam_pd_stream_more(r) > 0);
 *
 * Texts and build-ids of a record go with it.
 */
#ifndef SEAM_LIB_PERFDATA_STREAM_H
#define SEAM_LIB_PERFDATA_STREAM_H

#include "perfdata/reader.h"

struct seam_pd_stream_opts {
	int fd;
	uint64_t window_ns;
};

/* Bytes that are held, whatever the window: beyond them the older half goes.
 * For tests to change. */
extern size_t seam_pd_stream_max;

/* What cannot be read as it comes is read to its end, as seam_pd_open() does:
 * files, and recordings in their form, and those with copies of stacks.
 * Return: as seam_pd_open(). */
int seam_pd_open_stream(const struct seam_pd_stream_opts *opts,
			struct seam_pd_reader **ret,
			struct seam_errinfo *reterr);
bool seam_pd_is_stream(const struct seam_pd_reader *r);
uint64_t seam_pd_stream_window(const struct seam_pd_reader *r);
/* fn is called before the stream is waited for. */
void seam_pd_stream_idle(struct seam_pd_reader *r, void (*fn)(void *ctx),
			 void *ctx);
/* Reads until more records are in order.
 * Return: SEAM_PD_MORE or SEAM_PD_FULL, or 0: there are no more; or -errno. */
enum { SEAM_PD_MORE = 1, SEAM_PD_FULL = 2 };
int seam_pd_stream_more(struct seam_pd_reader *r);
/* All of it was read. */
bool seam_pd_stream_is_done(const struct seam_pd_reader *r);
/* The time up to which all records are there. */
uint64_t seam_pd_stream_reached(const struct seam_pd_reader *r);
/* Records before place i are asked for no more. */
void seam_pd_stream_drop(struct seam_pd_reader *r, size_t i);

#endif
