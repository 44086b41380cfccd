/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The entries of a recording: joins samples and user stacks by cookie, says
 * when each stack is to be written, and counts what became of each sample.
 *
 * A user stack is held until its entry is over, because readers hand out a
 * task's waiting samples at that task's next stack: the record is stamped
 * after the entry's last sample (late ones, of exec and exit too), not before
 * it was taken, and before the task's next one. A stack that the library
 * unwinds may come later still: samples of an entry that is over without one
 * wait for it as orphans. And in an exec or exit the last samples may come when
 * another task has the tid, and entries of its own; and where a stack is taken
 * at the event, who interrupts what comes behind it is in the next entry: such
 * stacks are kept for a while by their cookie.
 */
#ifndef SEAM_LIB_RECORD_ENTRIES_H
#define SEAM_LIB_RECORD_ENTRIES_H

#include "base/idmap.h"
#include "perfdata/writer.h"
#include "record/summary.h"
#include "seam/tracer.h"

struct seam_entries {
	/* Set by whoever makes it; the rest is 0 then. */
	struct seam_summary *sum; /* end, stacks, unused, max_served */
	uint64_t id; /* of the event that stacks belong to */
	int (*write)(void *ctx, const struct seam_pd_stack *stack);
	void *ctx;
	bool at_once; /* stacks are taken at their events */

	/* Of each event, as its samples say: frames of a user stack. */
	uint32_t max_frames[SEAM_CLIENT_MAX_EVENTS];
	struct seam_idmap tasks; /* the last entry of each, by tid */
	/* Entries that are over, by cookie: their stacks are awaited; */
	struct seam_idmap orphans;
	/* their stacks are there: of an exec or exit, or nobody's so far */
	struct seam_idmap told;
	uint64_t now_ns;
	int err; /* the first: -ENOMEM or of write */
};

/* A sample with a cookie. Return: 0 or -ENOMEM. */
int seam_entries_sample(struct seam_entries *es,
			const struct seam_sample *sample);
/* Whether that is of an entry which has one already that is no later. */
bool seam_entries_has(const struct seam_entries *es,
		      const struct seam_sample *sample);
void seam_entries_stack(struct seam_entries *es,
			const struct seam_user_stack *stack);
/* Writes the stacks whose entry is surely over, and forgets what is long ago,
 * so that a file which ends here is whole. */
void seam_entries_settle(struct seam_entries *es, uint64_t now_ns);
/* No more comes; the stacks that are lost were said to be. */
void seam_entries_end(struct seam_entries *es);
/* Whether stacks are awaited of entries that are over. */
bool seam_entries_await(const struct seam_entries *es);
/*
 * When the exec or exit that a thread was in at a time ended, as far as
 * samples tell; 0: it was in none. exits: it ended then, by which another's
 * exec may have got its tid; to readers the tid lives on.
 */
uint64_t seam_entries_tail(const struct seam_entries *es, uint32_t tid,
			   uint64_t time_ns, bool exits);
void seam_entries_fini(struct seam_entries *es);

#endif
