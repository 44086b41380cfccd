/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SEAM_LIB_OFFLINE_ENTERED_H
#define SEAM_LIB_OFFLINE_ENTERED_H

#include "unwind/dump.h"

/* As of a struct seam_dump. */
struct seam_entered {
	int (*find)(void *ctx, uint64_t avma, struct seam_mapping *ret);
	size_t (*code)(void *ctx, uint64_t avma, enum seam_dump_when when,
		       void *to, size_t size);
	void *ctx;
};

/*
 * Whether that return address cannot be the leaf's: it is behind no call, or
 * behind one of another function, which leads nowhere else. leaf_avma: as it is
 * looked up. False where that is not known.
 */
bool seam_entered_otherwise(const struct seam_entered *e, uint64_t leaf_avma,
			    uint64_t ra_avma);

#endif
