/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Precise events as readers of recordings unwind them: by tables alone where
 * they can (offline/precise.h), which has to come to the very stack that full
 * CFI leads to.
 */
#ifndef SEAM_TESTS_TRUTH_PRECISE_H
#define SEAM_TESTS_TRUTH_PRECISE_H

#include "offline/precise.h"
#include "offline/steps.h"
#include "truth/space.h"

struct seam_precise {
	struct seam_offline o;
	struct seam_offline_steps steps;
	struct seam_offline_stack stack;
	uint64_t pairs, by_tables, differ;
};

/* What full CFI came to. */
struct seam_precise_want {
	const uint64_t *ips;
	size_t n;
	int end;
	const struct seam_skid_outcome *skid;
};

/* Return: 0 or -errno. */
int seam_precise_init(struct seam_precise *p);
void seam_precise_fini(struct seam_precise *p);
/* ip: the sample's. dump: behind the instruction. */
void seam_precise_compare(struct seam_precise *p, struct seam_space *space,
			  uint64_t ip, const struct seam_dump *dump,
			  const struct seam_precise_want *want);

#endif
