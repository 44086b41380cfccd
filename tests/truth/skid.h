/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Precise events without the hardware: each instruction that a stepped program
 * runs gives its ip, and the registers and the stack behind it, as such an
 * event would. What is unwound from these is compared with the stack that was
 * true at the ip. Only what perf stores is read: from the rsp behind it on.
 */
#ifndef SEAM_TESTS_TRUTH_SKID_H
#define SEAM_TESTS_TRUTH_SKID_H

#include "core/err.h"
#include "truth/check.h"
#include "truth/precise.h"
#include "unwind/skid.h"

/* Whether the registers' own ip came with them: see unwind/skid.h. */
enum seam_pair_mode { SEAM_PAIR_KNOWN, SEAM_PAIR_LOST, SEAM_PAIR_MODES };

struct seam_pair_counts {
	uint64_t pairs;
	uint64_t right; /* all of the stack */
	uint64_t cut; /* right, as far as another stack */
	/* Right as far as they go, which ends for a reason of its own. */
	uint64_t named[SEAM_END_MAX];
	uint64_t known; /* known-bad.def says why not */
	uint64_t wrong; /* nothing excuses it */
	struct seam_skid_counts skid;
	/* Of the pairs those whose leaf's return address lies in the copy:
	 * what is needed is there. */
	uint64_t there, there_right;
	/* By what the instruction does. */
	uint64_t pairs_by[SEAM_SKID_KINDS], right_by[SEAM_SKID_KINDS];
};

/* What is asked of them, of 1,000 pairs; and which kinds of instruction. */
struct seam_pairs_want {
	uint64_t least; /* pairs */
	uint64_t whole; /* whole and true, where the registers' ip is known */
	/* The same where it is lost, of those that need nothing below rsp. */
	uint64_t there;
	const char *kinds; /* names, by commas; NULL: none */
};

struct seam_pairs {
	struct seam_check *check;
	struct seam_pair_counts counts[SEAM_PAIR_MODES];
	struct seam_precise precise;
	uint64_t *is; /* the callers' ips at the instruction */
	bool *is_signal; /* the caller was interrupted */
	size_t n_is;
	uint64_t
		slot; /* where the leaf's return address lies; 0: it has none */
	enum seam_skid_kind kind; /* of the instruction */
};

/* Return: 0 or -ENOMEM. */
int seam_pairs_init(struct seam_pairs *p, struct seam_check *c);
void seam_pairs_fini(struct seam_pairs *p);
/* One instruction more. Return: an event, or -errno. */
int seam_pairs_step(struct seam_pairs *p);
/* Prints it as TAP. Return: 0, or 1: something failed. */
int seam_pairs_report(const struct seam_pairs *p, const char *name,
		      const struct seam_pairs_want *want, int err);

#endif
