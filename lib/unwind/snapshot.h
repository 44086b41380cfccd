/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The rules of all code that is loaded in this process. A snapshot never
 * changes but for its cache; a new one takes its place, and the old one is
 * freed when nobody reads it any more. Who reads allocates nothing and waits
 * for nobody:
 *
 *	struct seam_reading reading = seam_snapshot_read();
 *	...reading.snapshot...
 *	seam_snapshot_done(&reading);
 */
#ifndef SEAM_LIB_UNWIND_SNAPSHOT_H
#define SEAM_LIB_UNWIND_SNAPSHOT_H

#include "unwind/memo.h"
#include "unwind/object.h"

/*
 * What was found for return addresses, by their lower bits. Each word is whole
 * by itself, so that threads and signals share them without a lock: a rule is
 * packed beside the upper bits of its address; and the address that was found
 * on the stack the last time is a guess. They lie apart for the sake of an
 * addressing mode, see backtrace.c.
 */
#define SEAM_NODE_BITS 12
#define SEAM_NODES (1u << SEAM_NODE_BITS)
struct seam_nodes {
	uint64_t rules[SEAM_NODES]; /* 0: none */
	uint64_t callers[SEAM_NODES]; /* never 0 */
};

struct seam_snapshot {
	struct seam_nodes nodes;
	uint64_t serial; /* no other has had it */
	struct seam_snapshot *next; /* retired before this one */
	uint64_t busy; /* retired: stripes that may still read it */
	bool is_kept; /* for good: it may be read by who is not counted */
	unsigned long long adds, subs; /* as dl_iterate_phdr counts */
	struct seam_object **objects;
	size_t n_objects, max_objects;
	struct seam_code *codes; /* sorted, disjoint */
	size_t n_codes;
};

struct seam_reading {
	struct seam_snapshot *snapshot; /* NULL: there is none yet */
	unsigned int *stripe;
	struct seam_memo *memo; /* NULL: another reader may be using it */
};

struct seam_reading seam_snapshot_read(void);
void seam_snapshot_done(const struct seam_reading *reading);

/*
 * Looks what is loaded, and makes a new snapshot if that has changed. Takes
 * locks and allocates. wait: for another thread that is at it; else -EBUSY.
 * Return: 1 if there is a new one; 0; -ENOMEM or -EBUSY: all is as it was.
 */
int seam_snapshot_refresh(bool wait);

#endif
