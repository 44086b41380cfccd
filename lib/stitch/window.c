// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/window.h"

#include "perfdata/stream.h"

void seam_window_fini(struct window *w)
{
	seam_names_fini(&w->names);
}

static bool has_passed(const struct window *w, uint64_t time_ns,
		       uint64_t now_ns)
{
	return now_ns > time_ns &&
	       now_ns - time_ns > seam_pd_stream_window(w->r);
}

static bool may_leave(const struct window *w, size_t at)
{
	struct seam_pd_rec rec;

	if (w->is_over || at < w->forced || seam_pd_asks_nothing(w->r, at))
		return true;
	seam_pd_record(w->r, at, &rec);
	return rec.type != PERF_RECORD_SAMPLE ||
	       has_passed(w, rec.time_ns, seam_pd_stream_reached(w->r)) ||
	       seam_cookie_settled(w->cookies, &rec, at);
}

/* The next records into the index. */
static int take_in(struct window *w)
{
	size_t n = seam_pd_n_records(w->r);
	struct seam_pd_rec rec;
	int rc = 0;

	seam_world_expect(w->world, n);
	seam_world_expect(w->ahead, n);
	w->stats->lost_records = seam_pd_lost_records(w->r);
	w->stats->lost_samples = seam_pd_lost_samples(w->r);
	w->stats->filtered_samples = seam_pd_filtered_samples(w->r);
	while (!rc && w->indexed < n) {
		bool late;

		seam_pd_record(w->r, w->indexed, &rec);
		late = rec.time_ns < w->newest_ns;
		if (!late)
			w->newest_ns = rec.time_ns;
		w->stats->disordered += late;
		rc = seam_names_keep(&w->names, &rec);
		if (!rc)
			rc = seam_world_apply(w->ahead, w->r, &rec);
		if (!rc)
			rc = seam_cookie_note(w->cookies, w->ahead, &rec,
					      w->indexed, w->stats, late);
		w->indexed++;
	}
	return rc ? rc : seam_cookie_put_in(w->cookies, w->stats);
}

/* What no sample from that place on will be joined with. */
static void let_go(struct window *w, size_t at)
{
	uint64_t now_ns = at < w->indexed ? seam_pd_time(w->r, at)
					  : seam_pd_stream_reached(w->r);
	size_t from = w->kept;

	while (w->kept < at &&
	       (w->forced ||
		has_passed(w, seam_pd_time(w->r, w->kept), now_ns)))
		w->kept++;
	w->forced = 0;
	if (w->kept == from)
		return;
	seam_cookie_drop(w->cookies, w->kept);
	seam_pd_stream_drop(w->r, w->kept);
}

int seam_window_ready(struct window *w, size_t at)
{
	int rc = 0;

	for (;;) {
		w->is_over = seam_pd_stream_is_done(w->r);
		w->cookies->is_open = !w->is_over;
		w->cookies->has_gaps = seam_pd_damage(w->r)->lacks_records;
		if (w->indexed < seam_pd_n_records(w->r))
			rc = take_in(w);
		if (rc)
			return rc;
		if (at < w->indexed && may_leave(w, at))
			return 1;
		if (w->is_over)
			return 0;
		let_go(w, at);
		rc = seam_pd_stream_more(w->r);
		if (rc < 0)
			return rc;
		if (rc == SEAM_PD_FULL)
			w->forced = seam_pd_n_records(w->r);
		rc = 0;
	}
}
