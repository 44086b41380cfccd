// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pager/victims.h"

#include <errno.h>
#include <stdlib.h>

struct use {
	uint64_t used_ns;
	size_t at;
};

static int by_use(const void *va, const void *vb)
{
	const struct use *a = va, *b = vb;

	if (a->used_ns != b->used_ns)
		return a->used_ns < b->used_ns ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

int seam_victims(size_t n, seam_used_fn *used, void *ctx, size_t count,
		 size_t *ret)
{
	struct use *uses = calloc(n ? n : 1, sizeof(*uses));

	if (!uses)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		uses[i] = (struct use){used(ctx, i), i};
	qsort(uses, n, sizeof(*uses), by_use);
	if (count > n)
		count = n;
	for (size_t i = 0; i < count; i++)
		ret[i] = uses[i].at;
	free(uses);
	return (int)count;
}
