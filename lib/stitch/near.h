/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Cookies that very many records have, more than are worth looking at one by
 * one: these records once more, in the order of time. Made when a sample first
 * asks for one, since hardly a recording has such a cookie.
 */
#ifndef SEAM_LIB_STITCH_NEAR_H
#define SEAM_LIB_STITCH_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/spill.h"

struct cookie_index;
struct cookie_entry;

/* Of a cookie's records, which come into question. */
enum whose {
	OF_PROCESS, /* those of the sample's */
	OF_NOBODY, /* those that do not say whose they are */
	OF_ANY,
};

struct near_entry { /* sorted by cookie, group, time, record */
	uint64_t cookie, group, time_ns, record;
	size_t entry; /* of the index */
};

struct near {
	/* [0]: a group is a process, or nobody; [1]: there is one group. */
	struct seam_spill room[2];
	size_t n[2];
	bool is_made[2];
};

/* Whether a cookie, whose first entry is at that place, has so many. */
bool seam_near_has(const struct cookie_index *ix, size_t first);
/* The nearest one to key, if there is any. Return: 0 or -ENOMEM. */
int seam_near_find(struct cookie_index *ix, const struct cookie_entry *key,
		   enum whose whose, struct cookie_entry **ret);
/* The index has changed. */
void seam_near_forget(struct near *near);

#endif
