/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * How far a BPF ring has been written and read. Its records come out in the
 * order in which their places were taken: who is preempted before it has filled
 * its own, or whose virtual CPU is taken away, holds up all behind it. They are
 * there, and a reading that finds no more has not got them.
 */
#ifndef SEAM_LIB_KERNEL_RING_VIEW_H
#define SEAM_LIB_KERNEL_RING_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* All 0: of no ring, of which all has been read. */
struct seam_ring_view {
	const uint64_t *taken, *put; /* in bytes, ever */
};

/* Return: 0, -errno. */
int seam_ring_view_open(struct seam_ring_view *v, int ring_fd);
void seam_ring_view_close(struct seam_ring_view *v);
/* Up to where places are taken now. */
uint64_t seam_ring_put(const struct seam_ring_view *v);
/* Whether all up to there has been read. */
bool seam_ring_taken(const struct seam_ring_view *v, uint64_t put);

#endif
