// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/members.h"

#include <errno.h>
#include <stdlib.h>

/* An inherited event counts for each thread from nothing, under one id. */
static uint64_t task_of(const struct seam_pd_attr *attr,
			const struct seam_pd_rec *sample)
{
	return attr->attr.inherit && sample->has_tid ? sample->tid : UINT64_MAX;
}

int seam_members_begin(struct members *m, const struct seam_pd_attr *attr,
		       const struct seam_pd_rec *sample)
{
	const struct seam_pd_reads *reads = &sample->sample.reads;

	m->at = 0;
	m->moved = false;
	m->plain = m->undivided || !reads->stride || !reads->id_word;
	m->n = m->plain ? 1 : reads->n;
	if (m->plain)
		return 0;
	m->counts = seam_idmap_make(&m->tasks, task_of(attr, sample),
				    sizeof(*m->counts));
	return m->counts ? 0 : -ENOMEM;
}

/* By how much the count has moved. One that went back began anew: another
 * thread has the number now. Return: 0 or -ENOMEM. */
static int move(struct members *m, uint64_t id, uint64_t value,
		uint64_t *ret_by)
{
	uint64_t *last = seam_idmap_make(m->counts, id, sizeof(*last));

	if (!last)
		return -ENOMEM;
	*ret_by = value < *last ? value : value - *last;
	*last = value;
	return 0;
}

/* Return: as seam_members_next, 0 for a member that is passed over. */
static int take(struct members *m, struct seam_pd_reader *r,
		struct seam_pd_rec *sample, struct seam_stitch_stats *stats)
{
	const struct seam_pd_reads *reads = &sample->sample.reads;
	size_t word = m->at++ * reads->stride;
	uint64_t id = seam_pd_word(reads->words, word + reads->id_word);
	uint64_t period;
	int event = seam_pd_event_by_id(r, id);

	if (event < 0) {
		stats->unknown_members++;
		return 0;
	}
	if (move(m, id, seam_pd_word(reads->words, word), &period))
		return -ENOMEM;
	if (!period)
		return 0;
	sample->event = event;
	sample->id = id;
	sample->sample.period = period;
	stats->shared += m->moved;
	m->moved = true;
	return 1;
}

int seam_members_next(struct members *m, struct seam_pd_reader *r,
		      struct seam_pd_rec *sample,
		      struct seam_stitch_stats *stats)
{
	int rc = 0;

	if (m->plain && m->at < m->n) {
		m->at++;
		return 1;
	}
	if (m->plain)
		return 0;
	while (!rc && m->at < m->n)
		rc = take(m, r, sample, stats);
	if (!rc && m->counts && !m->moved)
		stats->unmoved++;
	if (!rc)
		m->counts = NULL; /* counted once */
	return rc;
}

static void release(void *counts)
{
	seam_idmap_fini(counts, free);
	free(counts);
}

void seam_members_forget(struct members *m, uint32_t tid)
{
	struct seam_idmap *counts = seam_idmap_remove(&m->tasks, tid);

	if (counts)
		release(counts);
}

void seam_members_fini(struct members *m)
{
	seam_idmap_fini(&m->tasks, release);
}
