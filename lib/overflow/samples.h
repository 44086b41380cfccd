/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The samples of one counter, in the kernel's ring for it. */
#ifndef SEAM_LIB_OVERFLOW_SAMPLES_H
#define SEAM_LIB_OVERFLOW_SAMPLES_H

#include <linux/perf_event.h>

#include "seam/overflow.h"

struct seam_samples {
	struct perf_event_mmap_page *page; /* NULL: there is no ring */
	uint64_t lost; /* not told of yet */
};

/* Lets the event sample what a struct seam_overflow_sample holds. */
void seam_samples_ask(struct perf_event_attr *attr);
/* Return: 0 or -errno. */
int seam_samples_map(struct seam_samples *s, int fd);
void seam_samples_unmap(struct seam_samples *s);
/* As seam_overflow_read. */
long seam_samples_read(struct seam_samples *s, seam_overflow_fn fn, void *ctx,
		       uint64_t *ret_lost);

#endif
