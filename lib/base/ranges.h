/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What lies where in an address space: ranges with a value each, by address,
 * of which no two overlap. A new one takes the place of what it covers, as
 * mmap does; one that it cuts in the middle keeps both its ends.
 */
#ifndef SEAM_LIB_BASE_RANGES_H
#define SEAM_LIB_BASE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seam_range {
	uint64_t start, end;
	void *value; /* not NULL; whatever is left of a range keeps it */
};

struct seam_ranges {
	struct seam_range *v;
	size_t n, cap;
};

/* How values are owned: each range has its own. NULL for all that takes ops:
 * they are the caller's, and two ends of one range share theirs. */
struct seam_range_ops {
	void *(*copy)(const void *value); /* NULL: no memory */
	void (*release)(void *value);
};

/* A putting needs room for so many ranges at most. */
#define SEAM_RANGES_PUT 2

/* The end of len bytes from start. What runs past the top of the address
 * space ends there. */
uint64_t seam_range_end(uint64_t start, uint64_t len);

/*
 * Takes over the value, unless it fails; then nothing has changed.
 * Return: 0; -ENOMEM; -EINVAL: the range is empty.
 */
int seam_ranges_put(struct seam_ranges *rs, const struct seam_range *range,
		    const struct seam_range_ops *ops);
/* NULL: nothing lies there. */
struct seam_range *seam_ranges_find(const struct seam_ranges *rs,
				    uint64_t addr);
/* Whether anything lies between start and end, which is behind start. */
bool seam_ranges_any(const struct seam_ranges *rs, uint64_t start,
		     uint64_t end);
/* Makes *ret, which is overwritten, a copy with room for so many more.
 * Return: 0, or -ENOMEM and *ret as it was. */
int seam_ranges_copy(struct seam_ranges *ret, const struct seam_ranges *from,
		     size_t room, const struct seam_range_ops *ops);
/* Leaves rs empty. */
void seam_ranges_fini(struct seam_ranges *rs, const struct seam_range_ops *ops);

#endif
