// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Which event has an id. Ids come event by event, and a stream may ask between
 * any two of them: to sort all of them for each event would take the square of
 * their number. So they are in sorted runs, each at least twice as long as the
 * next, which are one run again once that pays.
 *
 * Of several events with one id that counts which a bisection of all ids meets
 * first, where equal ones are in the order in which they came: also while
 * there are several runs.
 */
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "perfdata/reader-priv.h"

/* Equal ids come in the order of events, so that this is the order in which
 * they came, whatever qsort does with equals. */
static int by_id(const void *a, const void *b)
{
	const struct pd_id *x = a, *y = b;

	if (x->id != y->id)
		return x->id > y->id ? 1 : -1;
	return (x->event > y->event) - (x->event < y->event);
}

static size_t run_end(const struct pd_ids *ids, size_t run)
{
	return run + 1 < ids->n_runs ? ids->runs[run + 1] : ids->n_sorted;
}

static size_t run_len(const struct pd_ids *ids, size_t run)
{
	return run_end(ids, run) - ids->runs[run];
}

/* The last two runs become one; from the end, so that what comes of it takes
 * the place of what is not needed any more. Without memory it is slower. */
static void merge_last(struct pd_ids *ids)
{
	const size_t begin = ids->runs[ids->n_runs - 2];
	size_t old = ids->runs[ids->n_runs - 1], to = ids->n_sorted;
	size_t left = to - old;
	struct pd_id *later = malloc(left * sizeof(*later)), *p = ids->p;

	ids->n_runs--;
	if (!later) {
		qsort(p + begin, to - begin, sizeof(*p), by_id);
		return;
	}
	memcpy(later, p + old, left * sizeof(*later));
	while (left) {
		bool is_old = old > begin && p[old - 1].id > later[left - 1].id;

		p[--to] = is_old ? p[--old] : later[--left];
	}
	free(later);
}

static void add_run(struct pd_ids *ids)
{
	size_t n = ids->n - ids->n_sorted;

	qsort(ids->p + ids->n_sorted, n, sizeof(*ids->p), by_id);
	ids->runs[ids->n_runs++] = ids->n_sorted;
	ids->n_sorted = ids->n;
	while (ids->n_runs > 1 && run_len(ids, ids->n_runs - 2) <
					  2 * run_len(ids, ids->n_runs - 1))
		merge_last(ids);
	ids->n_asked = 0;
}

/* In a run, the first place of an id that is not below this one. */
static size_t first_from(const struct pd_ids *ids, size_t run, uint64_t id)
{
	const size_t from = ids->runs[run];

	return from + SEAM_SEARCH(i, run_end(ids, run) - from,
				  ids->p[from + i].id < id);
}

static size_t count_in(const struct pd_ids *ids, size_t run, uint64_t id,
		       size_t *ret_first)
{
	*ret_first = first_from(ids, run, id);
	return (id < UINT64_MAX ? first_from(ids, run, id + 1)
				: run_end(ids, run)) -
	       *ret_first;
}

/* Of places 0 to n - 1 the first of lo to hi - 1 that a bisection meets. */
static size_t meet(size_t lo, size_t hi, size_t n)
{
	size_t from = 0, to = n;

	for (;;) {
		size_t mid = (from + to) / 2;

		if (mid < lo)
			from = mid + 1;
		else if (mid >= hi)
			to = mid;
		else
			return mid;
	}
}

/* Where it would be if all runs were one. */
static int find_in_runs(const struct pd_ids *ids, uint64_t id)
{
	size_t below = 0, equal = 0, first, nth;

	for (size_t i = 0; i < ids->n_runs; i++) {
		equal += count_in(ids, i, id, &first);
		below += first - ids->runs[i];
	}
	if (!equal)
		return -1;
	nth = meet(below, below + equal, ids->n) - below;
	for (size_t i = 0;; i++) {
		size_t n = count_in(ids, i, id, &first);

		if (nth < n)
			return (int)ids->p[first + nth].event;
		nth -= n;
	}
}

static int find(const struct pd_ids *ids, uint64_t id)
{
	size_t from = 0, to = ids->n;

	while (from < to) {
		size_t mid = (from + to) / 2;

		if (ids->p[mid].id == id)
			return (int)ids->p[mid].event;
		if (ids->p[mid].id < id)
			from = mid + 1;
		else
			to = mid;
	}
	return -1;
}

int seam_pd_event_by_id(struct seam_pd_reader *r, uint64_t id)
{
	struct pd_ids *ids = &r->ids;

	if (ids->n_sorted < ids->n)
		add_run(ids);
	/* What that costs was spent on asking already. */
	if (ids->n_runs > 1 && ids->n_asked++ >= ids->n)
		while (ids->n_runs > 1)
			merge_last(ids);
	return ids->n_runs > 1 ? find_in_runs(ids, id) : find(ids, id);
}

int seam_pd_ids_grow(struct pd_ids *ids, size_t n)
{
	return seam_grow(&ids->p, ids->n + n, &ids->max, sizeof(*ids->p));
}
