/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Sideband on its way to the file, kept for one reading of the session.
 *
 * Readers resolve a task's stacks with what is mapped at their time. The
 * kernel says EXIT, and COMM and MMAP2 of an exec, while the task is still
 * in that exit or exec; samples that come later in it have the stack of the
 * program that was. Such records are stamped behind the last of them; an EXIT
 * waits for it longer than one reading, and so does what follows it.
 */
#ifndef SEAM_LIB_RECORD_SIDEQUEUE_H
#define SEAM_LIB_RECORD_SIDEQUEUE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seam_sidequeue {
	uint8_t *bytes; /* records, one after the other */
	size_t used, room;
	size_t old; /* bytes of them that were there at the last reading */
};

int seam_sidequeue_add(struct seam_sidequeue *q,
		       const struct perf_event_header *record);
/*
 * Gives the records of earlier readings to write, but for exits that may yet
 * last, and makes those of this one old. tail_of says when the exec or exit
 * that a thread was in at a time ended, as far as samples tell; 0: it was in
 * none, or there were no samples after that time.
 */
struct seam_sidequeue_ops {
	uint64_t (*tail_of)(void *ctx, uint32_t tid, uint64_t time_ns,
			    bool exits);
	int (*write)(void *ctx, const struct perf_event_header *record);
	void *ctx;
};
int seam_sidequeue_turn(struct seam_sidequeue *q, uint64_t now_ns,
			const struct seam_sidequeue_ops *ops);
/* Gives all there are to write: no more samples come. */
int seam_sidequeue_end(struct seam_sidequeue *q,
		       const struct seam_sidequeue_ops *ops);
void seam_sidequeue_fini(struct seam_sidequeue *q);

#endif
