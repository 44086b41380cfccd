// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Which record is a sample's: by cookie, or by the order of records. */
#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "stitch/cookie-areas.h"
#include "stitch/cookie.h"

#define REACH 32 /* entries */

static size_t search(const struct cookie_index *ix,
		     const struct cookie_entry *key, size_t from, size_t end)
{
	const struct cookie_entry *v = ix->v + from;

	return from +
	       SEAM_SEARCH(i, end - from, seam_cookie_compare(&v[i], key) < 0);
}

static bool is_bound(const struct cookie_index *ix,
		     const struct cookie_entry *key, size_t i)
{
	return (!i || seam_cookie_compare(&ix->v[i - 1], key) < 0) &&
	       (i == ix->n || seam_cookie_compare(&ix->v[i], key) >= 0);
}

/* The first that is not before the key. Samples come in the order of time, and
 * so do cookies, nearly: it is mostly the last one's or the next, and else
 * looked for around these, which are in some cache, and among all only if it is
 * not there. */
static size_t lower_bound(struct cookie_index *ix,
			  const struct cookie_entry *key)
{
	size_t *found = &ix->found[key->cookie % COOKIE_FOUND];
	size_t at = *found < ix->n ? *found : ix->n;
	size_t from = at > REACH ? at - REACH : 0;
	size_t end = ix->n - at > REACH ? at + REACH : ix->n;

	for (size_t i = at; i < at + 2 && i <= ix->n; i++)
		if (is_bound(ix, key, i))
			return *found = i;
	if (from && seam_cookie_compare(&ix->v[from - 1], key) >= 0)
		from = 0;
	else if (end < ix->n && seam_cookie_compare(&ix->v[end], key) < 0)
		end = ix->n;
	*found = search(ix, key, from, end);
	return *found;
}

/* Whether any has the cookie of the key, which belongs at i. */
static bool has_cookie(const struct cookie_index *ix,
		       const struct cookie_entry *key, size_t i)
{
	return (i && ix->v[i - 1].cookie == key->cookie) ||
	       (i < ix->n && ix->v[i].cookie == key->cookie);
}

/* Of those of cookie and thread the nearest: the one behind, or before. i is
 * where the key belongs. */
static struct cookie_entry *of_thread(struct cookie_index *ix,
				      const struct cookie_entry *key, size_t i,
				      bool *ret_several)
{
	struct cookie_entry *after = NULL, *before = NULL;

	if (i < ix->n && seam_cookie_same(&ix->v[i], key))
		after = &ix->v[i];
	if (i && seam_cookie_same(&ix->v[i - 1], key))
		before = &ix->v[i - 1];
	*ret_several =
		after && (before || (i + 1 < ix->n &&
				     seam_cookie_same(&ix->v[i + 1], key)));
	if (before && !after && i > 1)
		*ret_several = seam_cookie_same(&ix->v[i - 2], key);
	if (after && before)
		return seam_cookie_nearer(before, after, key) ? before : after;
	return after ? after : before;
}

/* An exec gives a thread another tid, in the middle of an entry; and what
 * does not say whose it is has the cookie alone. */
static int of_cookie(struct cookie_index *ix, const struct cookie_entry *key,
		     enum whose whose, struct cookie_entry **ret,
		     bool *ret_other)
{
	const struct cookie_entry first = {.cookie = key->cookie};
	size_t i = lower_bound(ix, &first);

	*ret = NULL;
	if (seam_near_has(ix, i)) {
		*ret_other = true;
		return seam_near_find(ix, key, whose, ret);
	}
	for (; i < ix->n && ix->v[i].cookie == key->cookie; i++) {
		struct cookie_entry *e = &ix->v[i];

		*ret_other = true;
		if (whose == OF_PROCESS && (!e->has_tid || e->pid != key->pid))
			continue;
		if (whose == OF_NOBODY && e->has_tid)
			continue;
		if (!*ret || seam_cookie_nearer(e, *ret, key))
			*ret = e;
	}
	return 0;
}

int seam_cookie_find(struct cookie_index *ix, uint64_t cookie,
		     const struct seam_pd_rec *sample, size_t record,
		     struct seam_stitch_stats *stats, struct cookie_entry **ret)
{
	const struct cookie_entry key = {.cookie = cookie,
					 .tid = sample->tid,
					 .pid = sample->pid,
					 .time_ns = sample->time_ns,
					 .record = record};
	bool several = false, other = false;
	struct cookie_entry *e = NULL;
	size_t i = lower_bound(ix, &key);
	int rc = 0;

	*ret = NULL;
	if (!has_cookie(ix, &key, i))
		return 0;
	if (sample->has_tid) {
		e = of_thread(ix, &key, i, &several);
		if (e && e->has_tid) {
			stats->by_time += several;
			*ret = e;
			return 0;
		}
		rc = of_cookie(ix, &key, OF_PROCESS, &e, &other);
		stats->by_process += e != NULL;
	}
	if (!e && !rc) {
		rc = of_cookie(ix, &key, sample->has_tid ? OF_NOBODY : OF_ANY,
			       &e, &other);
		stats->by_cookie_alone += e != NULL;
	}
	if (rc)
		return rc;
	stats->other_task += !e && other;
	*ret = e;
	return 0;
}

static int by_order(const void *a, const void *b)
{
	const struct cookie_turn *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->record > y->record) - (x->record < y->record);
}

int seam_cookie_order(struct cookie_index *ix)
{
	struct seam_spill room = {0};
	struct cookie_turn *order;
	int rc = seam_spill_grow(&room, ix->n + 1, sizeof(*order));

	if (rc)
		return rc;
	order = room.p;
	for (size_t i = 0; i < ix->n; i++)
		order[i] = (struct cookie_turn){
			ix->v[i].tid, (uint32_t)ix->v[i].record, (uint32_t)i};
	rc = seam_spill_sort(&room, ix->n, sizeof(*order), by_order);
	seam_spill_fini(&ix->order_room);
	ix->order_room = room;
	ix->order = room.p;
	return rc;
}

struct cookie_entry *seam_cookie_next(const struct cookie_index *ix,
				      const struct seam_pd_rec *sample,
				      size_t record)
{
	const struct cookie_turn key = {sample->tid, (uint32_t)record, 0};
	size_t i = SEAM_SEARCH(j, ix->n, by_order(&ix->order[j], &key) < 0);

	if (i == ix->n || ix->order[i].tid != sample->tid)
		return NULL;
	return &ix->v[ix->order[i].entry];
}

static void add_unused(struct cookie_gone *g, const struct cookie_entry *e,
		       bool kin_used)
{
	if (e->used)
		return;
	g->unused++;
	if (kin_used)
		g->repeated++;
	else if (e->late)
		g->late++;
	else
		g->unknown++;
}

/* Return: behind the last entry that has cookie and thread of the one at. */
static size_t kin_end(const struct cookie_index *ix, size_t at, bool *ret_used)
{
	size_t end = at;

	*ret_used = false;
	for (; end < ix->n && seam_cookie_same(&ix->v[at], &ix->v[end]); end++)
		*ret_used |= ix->v[end].used || ix->v[end].kin_used;
	return end;
}

void seam_cookie_unused(const struct cookie_index *ix, bool lost,
			struct seam_stitch_stats *stats)
{
	struct cookie_gone g = ix->gone;
	size_t end;

	for (size_t at = 0; at < ix->n; at = end) {
		bool used;

		end = kin_end(ix, at, &used);
		for (size_t i = at; i < end; i++)
			add_unused(&g, &ix->v[i], used);
	}
	stats->stacks_unused = g.unused;
	stats->unused_repeated = g.repeated;
	stats->unused_late = g.late;
	stats->unused_lost = lost ? g.unknown : 0;
	stats->unused_foreign = lost ? 0 : g.unknown;
}

void seam_cookie_drop(struct cookie_index *ix, size_t record)
{
	size_t n = 0, end;

	for (size_t at = 0; at < ix->n; at = end) {
		size_t before = n;
		bool used;

		end = kin_end(ix, at, &used);
		for (size_t i = at; i < end; i++) {
			struct cookie_entry e = ix->v[i];

			if (e.record >= record) {
				e.kin_used = used;
				ix->v[n++] = e;
				continue;
			}
			add_unused(&ix->gone, &e, used);
		}
		ix->gone.pairs += end - at - (n - before) - (n == before);
	}
	if (n != ix->n)
		seam_near_forget(&ix->near);
	ix->n = ix->n_sorted = n;
	seam_cookie_drop_areas(ix);
}

bool seam_cookie_settled(struct cookie_index *ix,
			 const struct seam_pd_rec *sample, size_t record)
{
	const struct cookie_entry key = {
		.cookie = seam_chain_cookie(sample->sample.chain),
		.tid = sample->tid,
		.time_ns = sample->time_ns,
		.record = record,
	};
	size_t i = lower_bound(ix, &key);

	return key.cookie && sample->has_tid && i < ix->n && ix->v[i].has_tid &&
	       seam_cookie_same(&ix->v[i], &key);
}
