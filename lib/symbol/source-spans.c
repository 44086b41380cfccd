// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Ranges that nest. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "symbol/source-private.h"

int seam_spans_add(struct seam_spans *spans, uint64_t low, uint64_t high,
		   uint32_t item)
{
	if (spans->n >= SEAM_NO_SPAN ||
	    seam_grow(&spans->v, spans->n + 1, &spans->cap, sizeof(*spans->v)))
		return -ENOMEM;
	spans->v[spans->n++] =
		(struct seam_span){.low = low, .high = high, .item = item};
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* What holds another one comes before it. */
static int by_low(const void *a, const void *b)
{
	const struct seam_span *x = a, *y = b;
	int c = compare(x->low, y->low);

	c = c ? c : compare(y->high, x->high);
	return c ? c : compare(x->item, y->item);
}

void seam_spans_finish(struct seam_spans *spans)
{
	struct seam_span *v = spans->v;

	if (spans->n)
		qsort(v, spans->n, sizeof(*v), by_low);
	for (uint32_t i = 0; i < spans->n; i++) {
		uint32_t j = i ? i - 1 : SEAM_NO_SPAN;

		while (j != SEAM_NO_SPAN && v[j].high <= v[i].high)
			j = v[j].up;
		v[i].up = j;
	}
}

uint32_t seam_spans_before(const struct seam_spans *spans, uint64_t addr)
{
	size_t low = 0, high = spans->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (spans->v[mid].low <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? (uint32_t)low - 1 : SEAM_NO_SPAN;
}
