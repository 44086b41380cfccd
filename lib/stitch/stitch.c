// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stitch/stitch.h"

#include <errno.h>
#include <stdlib.h>

#include "perfdata/stream.h"
#include "stitch/stitch-priv.h"

#define AHEAD 8 /* records */

/* Samples come along this world: none is awaited that is joined by what else is
 * known of that thread. */
static void forget_thread(void *ctx, uint32_t tid)
{
	struct seam_stitch *s = ctx;

	seam_members_forget(&s->members, tid);
	if (s->copies)
		seam_copies_forget(s->copies, tid);
}

static void init_worlds(struct seam_stitch *s)
{
	seam_world_init(&s->world, seam_pd_n_records(s->r));
	seam_world_init(&s->ahead, seam_pd_n_records(s->r));
	seam_world_share(&s->world, &s->ahead);
	s->world.maps.now = s->ahead.maps.now = &s->stats.samples;
	s->world.on_gone = forget_thread;
	s->world.ctx = s;
	s->ahead.on_gone = seam_cookie_gone;
	s->ahead.ctx = &s->cookies;
}

int seam_stitch_new(struct seam_pd_reader *r, struct seam_stitch **ret)
{
	struct seam_stitch *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->r = r;
	init_worlds(s);
	if (seam_pd_is_stream(r)) {
		rc = 0;
		s->cookies.is_open = true;
		s->window = (struct window){.r = r,
					    .cookies = &s->cookies,
					    .world = &s->world,
					    .ahead = &s->ahead,
					    .stats = &s->stats};
	} else {
		rc = seam_cookie_index(&s->cookies, r, &s->ahead, &s->stats);
	}
	if (rc)
		seam_stitch_free(s);
	else
		*ret = s;
	return rc;
}

int seam_stitch_join_by(struct seam_stitch *s, enum seam_join rule)
{
	int rc = 0;

	if (rule == SEAM_JOIN_ORDER)
		rc = s->window.r ? -EINVAL : seam_cookie_order(&s->cookies);
	if (!rc)
		s->rule = rule;
	return rc;
}

void seam_stitch_kernel(struct seam_stitch *s, const char *kallsyms)
{
	s->kallsyms = kallsyms;
}

void seam_stitch_undivided(struct seam_stitch *s)
{
	s->members.undivided = true;
}

struct seam_stitch *seam_stitch_free(struct seam_stitch *s)
{
	if (!s)
		return NULL;
	seam_world_fini(&s->world);
	seam_cookie_fini(&s->cookies);
	seam_copies_free(s->copies);
	seam_members_fini(&s->members);
	seam_world_fini(&s->ahead);
	seam_window_fini(&s->window);
	free(s->fallbacks);
	free(s->frames);
	free(s);
	return NULL;
}

static void count(struct seam_stitch *s, const struct seam_stitched *out)
{
	struct seam_stitch_stats *st = &s->stats;
	uint64_t t = s->rec.time_ns;

	st->samples++;
	st->half[out->half]++;
	if (out->half != SEAM_HALF_NONE) {
		st->wanted++;
		st->end[out->end < SEAM_END_MAX ? out->end : 0]++;
	}
	if (st->samples == 1 || t < st->first_ns)
		st->first_ns = t;
	if (t > st->last_ns)
		st->last_ns = t;
}

/* As perf has it, ":%d". There are recordings of nothing else. */
static const char *name_by_tid(struct fallback *f, uint32_t tid)
{
	char *at = f->name + sizeof(f->name);
	uint32_t n = (int32_t)tid < 0 ? 0 - tid : tid;

	*--at = '\0';
	do {
		*--at = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	if ((int32_t)tid < 0)
		*--at = '-';
	*--at = ':';
	return at;
}

/* What a thread without a name is called. Return: NULL: no memory. */
static const char *fallback(struct seam_stitch *s)
{
	if (!s->rec.tid)
		return "swapper";
	if (!s->fallbacks)
		s->fallbacks = calloc(SEAM_STITCH_KEPT, sizeof(*s->fallbacks));
	return s->fallbacks ? name_by_tid(&s->fallbacks[s->stats.samples %
							SEAM_STITCH_KEPT],
					  s->rec.tid)
			    : NULL;
}

static bool lacks_mappings(const struct seam_stitched *out)
{
	for (size_t i = out->n_kernel; i < out->n_frames; i++)
		if (!out->frames[i].map)
			return true;
	return false;
}

static int build(struct seam_stitch *s)
{
	const struct thread *t;
	const struct process *p =
		seam_world_ask(&s->world, s->rec.pid, s->rec.tid, &t);
	struct seam_stitched out = {.rec = &s->rec, .place = s->at - 1};
	int rc;

	out.comm = t ? t->comm : NULL;
	rc = seam_stitch_halves(s, p, out.comm, &out);
	if (rc)
		return rc;
	if (!out.comm)
		out.comm = fallback(s);
	if (!out.comm)
		return -ENOMEM;
	out.frames = s->frames;
	out.n_frames = s->n;
	if (p ? p->is_bare : seam_world_forgot(&s->world, s->rec.pid))
		s->stats.forgotten += lacks_mappings(&out);
	s->out = out;
	return seam_members_begin(&s->members, seam_stitch_event(s), &s->rec);
}

/* The sample as its next event has it. Return: 1, 0 if there is none left,
 * -errno. */
static int next_member(struct seam_stitch *s, struct seam_stitched *ret)
{
	int rc = seam_members_next(&s->members, s->r, &s->rec, &s->stats);

	if (rc > 0) {
		s->out.event = seam_stitch_event(s)->name;
		count(s, &s->out);
		*ret = s->out;
	}
	return rc;
}

/* A buffer that is written backward overwrites records without a count. */
static bool samples_were_lost(const struct seam_stitch *s)
{
	bool lost = s->stats.lost_records || s->stats.lost_samples;

	for (size_t i = 0; !lost && i < seam_pd_n_events(s->r); i++)
		lost = seam_pd_event(s->r, i)->attr.write_backward;
	return lost;
}

/* Return: 1, 0 at the end, -errno. */
static int is_there(struct seam_stitch *s)
{
	if (s->window.r)
		return seam_window_ready(&s->window, s->at);
	return s->at < seam_pd_n_records(s->r);
}

/* What is no sample. */
static int apply(struct seam_stitch *s)
{
	int rc = s->window.r ? seam_names_keep(&s->window.names, &s->rec) : 0;

	return rc ? rc : seam_world_apply(&s->world, s->r, &s->rec);
}

int seam_stitch_next(struct seam_stitch *s, struct seam_stitched *ret)
{
	int rc = next_member(s, ret);

	while (!rc && (rc = is_there(s)) > 0) {
		seam_pd_prefetch(s->r, s->at + AHEAD);
		seam_pd_record(s->r, s->at++, &s->rec);
		if (s->rec.type == PERF_RECORD_SAMPLE) {
			rc = build(s);
			if (!rc)
				rc = next_member(s, ret);
		} else {
			rc = apply(s);
		}
	}
	if (rc)
		return rc;
	seam_cookie_unused(&s->cookies, samples_were_lost(s), &s->stats);
	if (s->copies)
		seam_copies_total(s->copies, &s->stats);
	return 0;
}

const struct seam_stitch_stats *seam_stitch_stats(const struct seam_stitch *s)
{
	return &s->stats;
}

const char *seam_stitch_lacking(const struct seam_stitch *s, size_t *at,
				const char **ret_path, uint64_t *ret_stacks)
{
	return s->copies ? seam_copies_lacking(s->copies, at, ret_path,
					       ret_stacks)
			 : NULL;
}
