/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The processes whose records a client gets: those it named, and what they
 * start if that is wanted, until they end. */
#ifndef SEAM_LIB_PROCESS_FOLLOWED_H
#define SEAM_LIB_PROCESS_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idmap.h"

struct perf_event_header;

struct seam_followed {
	struct seam_idmap by_pid;
	bool alone; /* what they start is not theirs */
	uint64_t looked_ns; /* when the dead were last looked for */
};

/* Return: 0 or -ENOMEM. */
int seam_followed_add(struct seam_followed *f, uint32_t pid);
/* Whether a record is of one of them; a FORK or EXIT changes who they are.
 * Return: 1, 0 or -ENOMEM. */
int seam_followed_record(struct seam_followed *f, uint64_t time_ns,
			 const struct perf_event_header *record);
/* Whether a record says that this thread of that process ended. */
bool seam_followed_exited(const struct perf_event_header *record, uint32_t pid,
			  uint32_t tid);
/* Lets go of those that ended SEAM_KEEP_DEAD_NS ago; their records are in. */
void seam_followed_forget(struct seam_followed *f, uint64_t now_ns);
void seam_followed_fini(struct seam_followed *f);

#endif
