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
};

struct seam_pairs {
	struct seam_check *check;
	struct seam_pair_counts counts[SEAM_PAIR_MODES];
	uint64_t *is; /* the callers' ips at the instruction */
	bool *is_signal; /* the caller was interrupted */
	size_t n_is;
};

/* Return: 0 or -ENOMEM. */
int seam_pairs_init(struct seam_pairs *p, struct seam_check *c);
void seam_pairs_fini(struct seam_pairs *p);
/* One instruction more. Return: an event, or -errno. */
int seam_pairs_step(struct seam_pairs *p);
/* Prints it as TAP. Of 1,000 pairs so many must be whole where the registers'
 * ip is known, and there must be least of them. Return: 0, or 1: something
 * failed. */
int seam_pairs_report(const struct seam_pairs *p, const char *name,
		      uint64_t least, uint64_t whole, int err);

#endif
