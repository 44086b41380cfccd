// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A stable merge sort of the index by time. Recordings are long runs in
 * order, one after the other, so runs are found first and then merged. */
#include <errno.h>
#include <stdlib.h>

#include "perfdata/reader-priv.h"

static size_t run_end(const struct pd_index *v, size_t from, size_t n)
{
	size_t i = from + 1;

	while (i < n && v[i - 1].time_ns <= v[i].time_ns)
		i++;
	return i < n ? i : n;
}

static void merge(const struct pd_index *a, size_t na, const struct pd_index *b,
		  size_t nb, struct pd_index *out)
{
	while (na && nb) {
		if (b->time_ns < a->time_ns) {
			*out++ = *b++;
			nb--;
		} else {
			*out++ = *a++;
			na--;
		}
	}
	if (na)
		memcpy(out, a, na * sizeof(*a));
	if (nb)
		memcpy(out, b, nb * sizeof(*b));
}

/* Merges runs two by two from v to out. Return: how many are left. */
static size_t pass(const struct pd_index *v, struct pd_index *out, size_t n)
{
	size_t runs = 0;

	for (size_t at = 0; at < n; runs++) {
		size_t mid = run_end(v, at, n);
		size_t end = mid < n ? run_end(v, mid, n) : n;

		merge(v + at, mid - at, v + mid, end - mid, out + at);
		at = end;
	}
	return runs;
}

int seam_pd_sort_index(struct seam_spill *room, size_t n)
{
	struct seam_spill other = {0};
	size_t runs;

	if (!n || run_end(room->p, 0, n) == n)
		return 0;
	if (seam_spill_grow(&other, n, sizeof(struct pd_index)))
		return -ENOMEM;
	do { /* the number of runs halves each time */
		struct seam_spill tmp = *room;

		runs = pass(room->p, other.p, n);
		*room = other;
		other = tmp;
	} while (runs > 1);
	seam_spill_fini(&other);
	return 0;
}

int seam_pd_sort(struct seam_pd_reader *r)
{
	int rc = seam_pd_sort_index(&r->index_room, r->n_index);

	r->index = r->index_room.p;
	return rc;
}
