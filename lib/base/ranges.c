// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

uint64_t seam_range_end(uint64_t start, uint64_t len)
{
	return len < UINT64_MAX - start ? start + len : UINT64_MAX;
}

/* The first range that ends behind addr. */
static size_t first_behind(const struct seam_ranges *rs, uint64_t addr)
{
	return SEAM_SEARCH(i, rs->n, rs->v[i].end <= addr);
}

struct seam_range *seam_ranges_find(const struct seam_ranges *rs, uint64_t addr)
{
	size_t i = first_behind(rs, addr);

	return i < rs->n && rs->v[i].start <= addr ? &rs->v[i] : NULL;
}

bool seam_ranges_any(const struct seam_ranges *rs, uint64_t start, uint64_t end)
{
	size_t i = first_behind(rs, start);

	return i < rs->n && rs->v[i].start < end;
}

static void *copy_value(const struct seam_range *range,
			const struct seam_range_ops *ops)
{
	return ops ? ops->copy(range->value) : range->value;
}

static void release(const struct seam_range *v, size_t n,
		    const struct seam_range_ops *ops)
{
	for (size_t i = 0; ops && i < n; i++)
		ops->release(v[i].value);
}

/* Makes an end of the i-th range at addr, and another one begin there. */
static int split(struct seam_ranges *rs, size_t i, uint64_t addr,
		 const struct seam_range_ops *ops)
{
	void *value = copy_value(&rs->v[i], ops);

	if (!value)
		return -ENOMEM;
	memmove(&rs->v[i + 1], &rs->v[i], (rs->n - i) * sizeof(*rs->v));
	rs->n++;
	rs->v[i].end = addr;
	rs->v[i + 1].start = addr;
	rs->v[i + 1].value = value;
	return 0;
}

int seam_ranges_put(struct seam_ranges *rs, const struct seam_range *range,
		    const struct seam_range_ops *ops)
{
	size_t from, to;

	if (range->start >= range->end)
		return -EINVAL;
	if (seam_grow(&rs->v, rs->n + SEAM_RANGES_PUT, &rs->cap,
		      sizeof(*rs->v)))
		return -ENOMEM;
	from = first_behind(rs, range->start);
	if (from < rs->n && rs->v[from].start < range->start) {
		if (rs->v[from].end > range->end &&
		    split(rs, from, range->end, ops))
			return -ENOMEM;
		rs->v[from++].end = range->start;
	}
	for (to = from; to < rs->n && rs->v[to].end <= range->end;)
		to++;
	if (to < rs->n && rs->v[to].start < range->end)
		rs->v[to].start = range->end;
	release(&rs->v[from], to - from, ops);
	memmove(&rs->v[from + 1], &rs->v[to], (rs->n - to) * sizeof(*rs->v));
	rs->n = rs->n - (to - from) + 1;
	rs->v[from] = *range;
	return 0;
}

int seam_ranges_copy(struct seam_ranges *ret, const struct seam_ranges *from,
		     size_t room, const struct seam_range_ops *ops)
{
	struct seam_ranges rs = {.cap = from->n + room};

	if (!rs.cap) {
		*ret = rs;
		return 0;
	}
	rs.v = malloc(rs.cap * sizeof(*rs.v));
	if (!rs.v)
		return -ENOMEM;
	for (; rs.n < from->n; rs.n++) {
		rs.v[rs.n] = from->v[rs.n];
		rs.v[rs.n].value = copy_value(&from->v[rs.n], ops);
		if (!rs.v[rs.n].value) {
			seam_ranges_fini(&rs, ops);
			return -ENOMEM;
		}
	}
	*ret = rs;
	return 0;
}

void seam_ranges_fini(struct seam_ranges *rs, const struct seam_range_ops *ops)
{
	release(rs->v, rs->n, ops);
	free(rs->v);
	*rs = (struct seam_ranges){0};
}
