/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The segments of a file that are mapped as code. */
#ifndef SEAM_LIB_TABLE_SEGMENTS_H
#define SEAM_LIB_TABLE_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"

struct seam_segments {
	struct seam_elf_segment *v; /* executable, in the file, by address */
	size_t n;
	const struct seam_elf_segment *last; /* found */
};

/* Return: 0 or -ENOMEM. What is there then is for seam_segments_fini. */
int seam_segments_init(struct seam_segments *ss, const struct seam_elf *elf);
void seam_segments_fini(struct seam_segments *ss);

/* Among all of them; see seam_segments_find. */
const struct seam_elf_segment *
seam_segments_search(struct seam_segments *ss, uint64_t start, uint64_t end);

static inline bool seam_segment_holds(const struct seam_elf_segment *s,
				      uint64_t start, uint64_t end)
{
	return start >= s->svma && start - s->svma < s->filesz &&
	       end - start <= s->filesz - (start - s->svma);
}

/* The segment that holds [start, end), whole, which is .last then. NULL: none,
 * and .last stays. */
static inline const struct seam_elf_segment *
seam_segments_find(struct seam_segments *ss, uint64_t start, uint64_t end)
{
	if (ss->last && seam_segment_holds(ss->last, start, end))
		return ss->last;
	return seam_segments_search(ss, start, end);
}

#endif
