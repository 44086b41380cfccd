/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What there is of one entry, while it is open and after: when its samples
 * were, how many have its stack or wait for it, and the stack until it is
 * written. Errors are noted in struct seam_entries.
 */
#ifndef SEAM_LIB_RECORD_STAY_H
#define SEAM_LIB_RECORD_STAY_H

#include "record/entries.h"

/* A task that was quiet for so long is forgotten; it may be gone. The session
 * forgets sooner which cookies it has told the stack of. */
#define SEAM_STAY_FORGET_NS 20000000000ULL

/*
 * The tids that an entry's samples have: the stack's own, or the one that an
 * exec gave the thread, or both. Readers know a stack by tid and cookie, so
 * it is written under each, behind its samples: from then on the own tid may
 * be another thread's.
 */
struct seam_stay_names {
	uint32_t other; /* 0: none */
	uint64_t own_ns; /* of the last sample under the own; 0: none */
};

/* Samples, all and of each event: each event shows as much of their stack as
 * it wants. */
struct seam_tally {
	uint64_t n;
	uint32_t by_event[SEAM_CLIENT_MAX_EVENTS];
};

struct seam_stay {
	/* Of the samples, by their time: one that interrupts another is taken
	 * later, but comes first. last_ns: or of the stack. */
	uint64_t first_ns, last_ns;
	uint64_t alive_ns; /* when its task was last seen, of one that sleeps */
	uint64_t settled_ns; /* the first time since it is over; 0: not yet */
	struct seam_tally waiting; /* samples without a stack yet */
	struct seam_tally served; /* samples that have one */
	/* Samples that were told that theirs is lost, and are counted so. Of
	 * one entry more may be taken, at each event one: readers join those
	 * that are lost with the one that came. */
	struct seam_tally lost;
	bool due; /* the sample that its stack was taken for has not come */
	struct seam_stay_names names;
	bool has_stack, written;
	bool tail; /* the stack was taken at exec or exit */
	bool asleep; /* or as the task went to sleep: the sample comes later */
	struct seam_pd_stack stack;
	uint64_t *ips; /* and behind them their methods, if said */
};

/* Moves a time on, never back. */
static inline void seam_reach(uint64_t *ns, uint64_t to_ns)
{
	if (to_ns > *ns)
		*ns = to_ns;
}

static inline void seam_entries_note(struct seam_entries *es, int err)
{
	if (err && !es->err)
		es->err = err;
}

static inline bool seam_stay_has_samples(const struct seam_stay *s)
{
	return s->waiting.n || s->served.n;
}

/* A sample of the entry. */
void seam_stay_add(struct seam_entries *es, struct seam_stay *s,
		   const struct seam_sample *sample);
/* Holds a stack for its samples. Return: 0 or -ENOMEM. */
int seam_stay_hold(struct seam_entries *es, struct seam_stay *s,
		   const struct seam_user_stack *stack);
/* It is lost to those that wait for it. */
void seam_stay_lose(struct seam_entries *es, struct seam_stay *s);
/* Writes what is held behind the last sample. */
void seam_stay_write(struct seam_entries *es, struct seam_stay *s);
/* If there is no sample that it might have to be written again for. */
void seam_stay_settle(struct seam_entries *es, struct seam_stay *s);
/* How long samples may be behind their stack. */
uint64_t seam_stay_kept_ns(const struct seam_stay *s);
/* No more samples come to it: those that have its stack are counted. */
void seam_stay_over(struct seam_entries *es, struct seam_stay *s);
/* Keeps a stay by its cookie in a map, and takes it from where it was. */
bool seam_stay_keep(struct seam_entries *es, struct seam_idmap *map,
		    uint64_t cookie, struct seam_stay *from);
/* One that was kept. */
void seam_stay_free(void *stay);

#endif
