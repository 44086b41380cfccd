// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/near.h"

#include <errno.h>

#include "base/search.h"
#include "stitch/cookie.h"

/* Records with one cookie that are looked at one by one. */
#define MAX_EQUAL 64

bool seam_near_has(const struct cookie_index *ix, size_t first)
{
	return ix->n > MAX_EQUAL && first < ix->n - MAX_EQUAL &&
	       ix->v[first + MAX_EQUAL].cookie == ix->v[first].cookie;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_near(const void *a, const void *b)
{
	const struct near_entry *x = a, *y = b;
	int c = compare(x->cookie, y->cookie);

	c = c ? c : compare(x->group, y->group);
	c = c ? c : compare(x->time_ns, y->time_ns);
	return c ? c : compare(x->record, y->record);
}

/* No pid has the number of nobody. */
static uint64_t group_of(const struct cookie_entry *e, bool is_all)
{
	if (is_all)
		return 0;
	return e->has_tid ? e->pid : UINT64_MAX;
}

static int add(struct near *near, bool is_all, const struct cookie_index *ix,
	       size_t entry)
{
	const struct cookie_entry *e = &ix->v[entry];
	size_t n = near->n[is_all];
	struct near_entry *v;

	if (seam_spill_grow(&near->room[is_all], n + 1, sizeof(*v)))
		return -ENOMEM;
	v = near->room[is_all].p;
	v[n] = (struct near_entry){
		.cookie = e->cookie,
		.group = group_of(e, is_all),
		.time_ns = e->time_ns,
		.record = e->record,
		.entry = entry,
	};
	near->n[is_all]++;
	return 0;
}

static int make(struct cookie_index *ix, bool is_all)
{
	struct near *near = &ix->near;
	size_t end;
	int rc = 0;

	near->n[is_all] = 0;
	for (size_t at = 0; at < ix->n; at = end) {
		bool many = seam_near_has(ix, at);

		for (end = at;
		     end < ix->n && ix->v[end].cookie == ix->v[at].cookie;
		     end++)
			if (many && !rc)
				rc = add(near, is_all, ix, end);
	}
	if (!rc)
		rc = seam_spill_sort(&near->room[is_all], near->n[is_all],
				     sizeof(struct near_entry), by_near);
	near->is_made[is_all] = !rc;
	return rc;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

bool seam_cookie_nearer(const struct cookie_entry *a,
			const struct cookie_entry *b,
			const struct cookie_entry *to)
{
	uint64_t da = distance(a->time_ns, to->time_ns);
	uint64_t db = distance(b->time_ns, to->time_ns);

	if (da != db)
		return da < db;
	return distance(a->record, to->record) <
	       distance(b->record, to->record);
}

int seam_near_find(struct cookie_index *ix, const struct cookie_entry *key,
		   enum whose whose, struct cookie_entry **ret)
{
	bool is_all = whose == OF_ANY;
	const struct near_entry want = {
		.cookie = key->cookie,
		.group = is_all		      ? 0
			 : whose == OF_NOBODY ? UINT64_MAX
					      : key->pid,
		.time_ns = key->time_ns,
		.record = key->record,
	};
	int rc = ix->near.is_made[is_all] ? 0 : make(ix, is_all);
	const struct near_entry *v = ix->near.room[is_all].p;
	struct cookie_entry *after = NULL, *before = NULL;
	size_t i, n = ix->near.n[is_all];

	if (rc)
		return rc;
	i = SEAM_SEARCH(j, n, by_near(&v[j], &want) < 0);
	if (i < n && v[i].cookie == want.cookie && v[i].group == want.group)
		after = &ix->v[v[i].entry];
	if (i && v[i - 1].cookie == want.cookie && v[i - 1].group == want.group)
		before = &ix->v[v[i - 1].entry];
	if (after && before)
		*ret = seam_cookie_nearer(before, after, key) ? before : after;
	else
		*ret = after ? after : before;
	return 0;
}

void seam_near_forget(struct near *near)
{
	for (int i = 0; i < 2; i++) {
		seam_spill_fini(&near->room[i]);
		near->n[i] = 0;
		near->is_made[i] = false;
	}
}
