/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SEAM_LIB_OFFLINE_ENTERED_H
#define SEAM_LIB_OFFLINE_ENTERED_H

#include "elf/links.h"
#include "unwind/dump.h"

/* A mapping of code. */
struct seam_entered_area {
	uint64_t start, end;
	uint64_t off; /* of its first byte in the file */
	void *file; /* NULL: none that has functions for others */
};

/* The first three as of a struct seam_dump. */
struct seam_entered {
	int (*find)(void *ctx, uint64_t avma, struct seam_mapping *ret);
	size_t (*code)(void *ctx, uint64_t avma, enum seam_dump_when when,
		       void *to, size_t size);
	void *ctx;
	/* The i-th of the process. Return: false: there are no more. NULL, as
	 * links: what calls by slots lead to is not known. */
	bool (*area)(void *ctx, size_t i, struct seam_entered_area *ret);
	/* Return: NULL: it is not known. */
	const struct seam_links *(*links)(void *ctx, void *file);
};

/*
 * Whether that return address cannot be the leaf's: it is behind no call, or
 * behind one of another function, which leads nowhere else. leaf_avma: as it is
 * looked up. False where that is not known. *ret_by_maps: it is said of these
 * mappings, and not of that pair of addresses anywhere.
 */
bool seam_entered_otherwise(const struct seam_entered *e, uint64_t leaf_avma,
			    uint64_t ra_avma, bool *ret_by_maps);

#endif
