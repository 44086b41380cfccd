/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What a system call is about to take from the caller's addresses, if the
 * kernel does as it is asked. Calls that it refuses for their arguments alone
 * take nothing.
 */
#ifndef SEAM_CORE_UNMAP_H
#define SEAM_CORE_UNMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/env.h"

enum seam_unmap_call {
	SEAM_UNMAP_NONE,
	SEAM_UNMAP_MUNMAP,
	SEAM_UNMAP_MMAP,
	SEAM_UNMAP_MREMAP,
	SEAM_UNMAP_OLD_MMAP, /* its arguments are in memory, 32 bits each */
};

/* Both of one call: mremap may take the old place and a new one. Each ends
 * above its start; or is empty, both 0. */
struct seam_unmapped {
	uint64_t start, end;
	uint64_t start2, end2;
};

/* By a call's number. */
static inline enum seam_unmap_call seam_unmap_call(uint64_t nr, bool is_32)
{
	if (is_32)
		return nr == 91	   ? SEAM_UNMAP_MUNMAP
		       : nr == 192 ? SEAM_UNMAP_MMAP
		       : nr == 163 ? SEAM_UNMAP_MREMAP
		       : nr == 90  ? SEAM_UNMAP_OLD_MMAP
				   : SEAM_UNMAP_NONE;
	/* Those of the x32 ABI have a bit more. */
	nr &= ~0x40000000ULL;
	return nr == 11	  ? SEAM_UNMAP_MUNMAP
	       : nr == 9  ? SEAM_UNMAP_MMAP
	       : nr == 25 ? SEAM_UNMAP_MREMAP
			  : SEAM_UNMAP_NONE;
}

#define SEAM_UNMAP_PAGE 4096ULL
#define SEAM_UNMAP_FIXED 0x10 /* MAP_FIXED */
#define SEAM_UNMAP_NOREPLACE 0x100000 /* MAP_FIXED_NOREPLACE */
#define SEAM_REMAP_MAYMOVE 1 /* MREMAP_MAYMOVE */
#define SEAM_REMAP_FIXED 2 /* MREMAP_FIXED */

/* The end of whole pages; 0: no such range. */
static inline uint64_t seam_unmap_end(uint64_t start, uint64_t size)
{
	uint64_t pages = (size + SEAM_UNMAP_PAGE - 1) & ~(SEAM_UNMAP_PAGE - 1);

	if (start & (SEAM_UNMAP_PAGE - 1) || !pages || start + pages < start)
		return 0;
	return start + pages;
}

/*
 * args: the first five. Where the kernel may choose to move a mapping or not,
 * it is taken to move. Old mappings that are only copied (old size 0) stay.
 */
SEAM_INLINE struct seam_unmapped seam_unmap(enum seam_unmap_call call,
					    const uint64_t args[5])
{
	struct seam_unmapped ret = {0, 0, 0, 0};
	uint64_t flags = args[3], end;
	bool moves = flags & SEAM_REMAP_MAYMOVE &&
		     (flags != SEAM_REMAP_MAYMOVE || args[2] > args[1]);

	if (call == SEAM_UNMAP_MUNMAP ||
	    (call == SEAM_UNMAP_MMAP && flags & SEAM_UNMAP_FIXED &&
	     !(flags & SEAM_UNMAP_NOREPLACE))) {
		end = seam_unmap_end(args[0], args[1]);
		ret.start = end ? args[0] : 0;
		ret.end = end;
	}
	if (call != SEAM_UNMAP_MREMAP || !args[2] ||
	    (flags & SEAM_REMAP_FIXED && !moves))
		return ret;
	end = seam_unmap_end(args[0], args[1]);
	if (end && moves) {
		ret.start = args[0];
		ret.end = end;
	} else if (end && args[2] < args[1]) {
		/* It becomes smaller where it is. */
		ret.start = seam_unmap_end(args[0], args[2]);
		ret.end = ret.start && ret.start < end ? end : 0;
		ret.start = ret.end ? ret.start : 0;
	}
	if (moves && flags & SEAM_REMAP_FIXED) {
		ret.end2 = seam_unmap_end(args[4], args[2]);
		ret.start2 = ret.end2 ? args[4] : 0;
	}
	return ret;
}

#endif
