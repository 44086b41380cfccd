// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A stable sort of the index by time. Recordings of ours are short runs in
 * order, each of which begins little before the end of the last one; those of
 * perf's threads are a few long ones. So runs are put in where they belong, and
 * where they do not belong near, merged. */
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

#define RUN_MAX 2048 /* items that are put in at once */
#define MOVES 16 /* for each item, on average */

/* The run of n items at v[at], among those before it, which are in order.
 * Return: how many of these gave way. */
static size_t put_in(struct pd_index *v, size_t at, size_t n)
{
	struct pd_index run[RUN_MAX];
	size_t i = at;

	memcpy(run, v + at, n * sizeof(*v));
	while (n) {
		if (i && v[i - 1].time_ns > run[n - 1].time_ns) {
			v[i + n - 1] = v[i - 1];
			i--;
		} else {
			v[i + n - 1] = run[n - 1];
			n--;
		}
	}
	return at - i;
}

/* As long as they move by little. Afterwards the first are in order. */
static void put_runs_in(struct pd_index *v, size_t n)
{
	size_t left = n * MOVES, end;

	for (size_t at = run_end(v, 0, n); at < n; at = end) {
		size_t most = n - at < RUN_MAX ? n : at + RUN_MAX, moved;

		end = run_end(v, at, most);
		moved = put_in(v, at, end - at);
		if (moved > left)
			return;
		left -= moved;
	}
}

int seam_pd_sort_index(struct seam_spill *room, size_t n)
{
	struct seam_spill other = {0};
	size_t runs;

	if (!n)
		return 0;
	put_runs_in(room->p, n);
	if (run_end(room->p, 0, n) == n)
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
