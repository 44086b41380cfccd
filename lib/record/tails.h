/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The execs and exits whose stack was taken of who has one tid, from when to
 * when, as far as samples tell: what the kernel says of them belongs behind.
 */
#ifndef SEAM_LIB_RECORD_TAILS_H
#define SEAM_LIB_RECORD_TAILS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: none. */
struct seam_tails {
	struct seam_tail *last; /* max of n */
	uint32_t n, max;
};

/* moved: of a thread that had another tid when it began. Return: 0 or -ENOMEM.
 */
int seam_tails_begin(struct seam_tails *ts, uint64_t time_ns, bool moved);
/* A sample of the one that began last. */
void seam_tails_end(struct seam_tails *ts, uint64_t time_ns);
/* A late one, of one that began before it and has not moved. */
void seam_tails_late(struct seam_tails *ts, uint64_t time_ns);
/* When that ended which a time is in, 0: it is in none. exits: who had the tid
 * then ended, by which another's exec may have got it. */
uint64_t seam_tails_at(const struct seam_tails *ts, uint64_t time_ns,
		       bool exits);
void seam_tails_fini(struct seam_tails *ts);

#endif
