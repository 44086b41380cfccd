// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/segments.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/search.h"

static int by_svma(const void *va, const void *vb)
{
	const struct seam_elf_segment *a = va, *b = vb;

	return a->svma < b->svma ? -1 : a->svma > b->svma;
}

int seam_segments_init(struct seam_segments *ss, const struct seam_elf *elf)
{
	const struct seam_elf_segment *all;
	size_t count, size;

	*ss = (struct seam_segments){0};
	seam_elf_bytes(elf, &size);
	all = seam_elf_segments(elf, &count);
	if (!count)
		return 0;
	ss->v = reallocarray(NULL, count, sizeof(*all));
	if (!ss->v)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct seam_elf_segment s = all[i];

		if (!(s.flags & PF_X) || s.off >= size)
			continue;
		if (s.filesz > size - s.off)
			s.filesz = size - s.off;
		ss->v[ss->n++] = s;
	}
	if (ss->n)
		qsort(ss->v, ss->n, sizeof(*all), by_svma);
	return 0;
}

void seam_segments_fini(struct seam_segments *ss)
{
	free(ss->v);
}

/* They do not overlap: loaders have them in order. */
const struct seam_elf_segment *
seam_segments_search(struct seam_segments *ss, uint64_t start, uint64_t end)
{
	size_t i = SEAM_SEARCH(k, ss->n, ss->v[k].svma <= start);

	if (!i || !seam_segment_holds(&ss->v[i - 1], start, end))
		return NULL;
	ss->last = &ss->v[i - 1];
	return ss->last;
}
