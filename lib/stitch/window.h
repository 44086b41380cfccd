/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A recording that comes by a pipe is joined while it comes. A sample waits
 * until a record of its stack is there and none can come that is nearer, or
 * until all records of the window behind it are. What lies a window before
 * the sample at hand is let go.
 */
#ifndef SEAM_LIB_STITCH_WINDOW_H
#define SEAM_LIB_STITCH_WINDOW_H

#include "stitch/cookie.h"
#include "stitch/names.h"

struct window {
	struct seam_pd_reader *r; /* NULL: all is there from the start */
	struct cookie_index *cookies;
	struct world *world, *ahead; /* of samples; of the index */
	struct seam_stitch_stats *stats;
	struct names names; /* what both worlds have of records */
	size_t indexed, kept; /* records: up to where, and from where on */
	size_t forced; /* samples before leave, whatever they wait for */
	uint64_t newest_ns;
	bool is_over;
};

/* Return: 1: the record at that place may be used; 0: there is none; -errno. */
int seam_window_ready(struct window *w, size_t at);
void seam_window_fini(struct window *w);

#endif
