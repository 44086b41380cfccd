// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "inject/unmerge.h"

#include <errno.h>
#include <stdlib.h>

#include "core/uapi.h"
#include "inject/marks.h"
#include "inject/record.h"
#include "perfdata/copy.h"
#include "stitch/cookie.h"

/* Of PERF_SAMPLE_*, what records that are no samples have too. */
#define TAIL_FIELDS                                                            \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |                 \
	 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct unmerge {
	struct seam_pd_reader *r;
	bool needed; /* else cookies of ours may be there already */
	struct seam_unmerged count;
	uint8_t out[2 * (UINT16_MAX + 1)]; /* a sample and its record */
};

/* A chain's words before the user half's marker, and the frames behind it. */
struct halves {
	size_t n_own, n_user;
	bool marked, has_guesses;
};

/* Return: false: a record cannot hold what is there. */
static bool divide(const struct seam_pd_rec_sample *sample, struct halves *ret)
{
	const struct seam_pd_words chain = sample->chain;
	struct halves h = {0};

	for (size_t i = 0; i < chain.n; i++) {
		uint64_t ip = seam_pd_word(chain, i);

		if (ip == SEAM_CONTEXT_USER_DEFERRED ||
		    (h.marked && ip >= SEAM_CONTEXT_MAX &&
		     !sample->has_guesses))
			return false;
		h.n_user += h.marked;
		h.n_own += !h.marked && ip != (uint64_t)PERF_CONTEXT_USER;
		h.marked |= ip == (uint64_t)PERF_CONTEXT_USER;
	}
	h.has_guesses = h.marked && sample->has_guesses;
	if (h.has_guesses)
		h.n_user = seam_marks_frames(chain, h.n_own + 1);
	*ret = h;
	return h.has_guesses == sample->has_guesses && (!h.marked || h.n_user);
}

static const struct perf_event_attr *attr_of(const struct seam_pd_reader *r,
					     const struct seam_pd_rec *rec)
{
	return &seam_pd_event(r, (size_t)rec->event)->attr;
}

static bool has_user_half(const struct seam_pd_reader *r,
			  const struct seam_pd_rec *rec)
{
	const struct seam_pd_words chain = rec->sample.chain;

	if (rec->sample.chain_in_raw ||
	    !(attr_of(r, rec)->sample_type & PERF_SAMPLE_CALLCHAIN))
		return false;
	for (size_t i = 0; i < chain.n; i++)
		if (seam_pd_word(chain, i) == (uint64_t)PERF_CONTEXT_USER)
			return true;
	return rec->sample.end != 0;
}

/* Whose is a record that is no sample says its id, where all events have it;
 * without one it is laid out as those of the first event. */
static bool can_have_record(const struct seam_pd_reader *r,
			    const struct seam_pd_rec *rec)
{
	const struct perf_event_attr *a = attr_of(r, rec);
	const struct perf_event_attr *first = &seam_pd_event(r, 0)->attr;

	if (a->sample_id_all != first->sample_id_all)
		return false;
	if (!a->sample_id_all ||
	    !((a->sample_type ^ first->sample_type) & TAIL_FIELDS))
		return true;
	return rec->id &&
	       (a->sample_type & first->sample_type & PERF_SAMPLE_IDENTIFIER);
}

/* Merging would take a copy's place, and not that of a record; and cut what is
 * deeper than the event asks for. */
static bool can_part(const struct seam_pd_reader *r,
		     const struct seam_pd_rec *rec, size_t len,
		     struct halves *ret)
{
	const uint16_t max = attr_of(r, rec)->sample_max_stack;
	size_t n;

	if ((rec->sample.user_regs_abi && rec->sample.user_stack) ||
	    !can_have_record(r, rec) || !divide(&rec->sample, ret) ||
	    (rec->sample.end && max && ret->n_user > max))
		return false;
	n = len - 8 * rec->sample.chain.n + 8 * (ret->n_own + 2);
	return len <= SEAM_RECORD_MAX && n <= SEAM_RECORD_MAX &&
	       (!ret->has_guesses || ret->n_user <= SEAM_PD_MAX_IPS_METHODS);
}

/* Two numbers of 32 bits in a word. */
static uint8_t *put_pair(uint8_t *to, uint32_t a, uint32_t b, bool swap)
{
	const uint32_t v[] = {swap ? __builtin_bswap32(a) : a,
			      swap ? __builtin_bswap32(b) : b};

	return seam_put(to, v, sizeof(v));
}

/* What the kernel puts at the end of records that are no samples. */
static uint8_t *put_sample_id(uint8_t *to, const struct perf_event_attr *attr,
			      const struct seam_pd_rec *rec, bool swap)
{
	uint64_t type = attr->sample_id_all ? attr->sample_type : 0;

	if (type & PERF_SAMPLE_TID)
		to = put_pair(to, rec->pid, rec->tid, swap);
	if (type & PERF_SAMPLE_TIME)
		to = seam_put_word(to, rec->time_ns, swap);
	if (type & PERF_SAMPLE_ID)
		to = seam_put_word(to, rec->id, swap);
	if (type & PERF_SAMPLE_STREAM_ID)
		to = seam_put_word(to, rec->sample.stream_id, swap);
	if (type & PERF_SAMPLE_CPU)
		to = put_pair(to, rec->cpu, 0, swap);
	if (type & PERF_SAMPLE_IDENTIFIER)
		to = seam_put_word(to, rec->id, swap);
	return to;
}

/* As our recorder numbers entries, each sample being one. */
static uint64_t next_cookie(struct unmerge *u, const struct seam_pd_rec *rec)
{
	return ++u->count.stacks << 16 | (rec->cpu & 0xffff);
}

static uint8_t *put_record(const struct unmerge *u, uint8_t *begin,
			   const struct seam_pd_rec *rec,
			   const struct halves *halves, uint64_t cookie)
{
	const struct seam_pd_words chain = rec->sample.chain;
	struct perf_event_header h = {
		.type = SEAM_RECORD_CALLCHAIN_DEFERRED,
		.misc = PERF_RECORD_MISC_USER,
	};
	uint8_t *to = begin;

	if (chain.swap) {
		h.type = __builtin_bswap32(h.type);
		h.misc = __builtin_bswap16(h.misc);
	}
	to = seam_put(to, &h, sizeof(h));
	to = seam_put_word(to, cookie, chain.swap);
	to = seam_put_word(to, halves->n_user, chain.swap);
	to = halves->has_guesses
		     ? seam_marks_take(to, chain, halves->n_own + 1)
		     : seam_put(to, chain.p + 8 * (chain.n - halves->n_user),
				8 * halves->n_user);
	to = put_sample_id(to, attr_of(u->r, rec), rec, chain.swap);
	seam_set_header(begin, (size_t)(to - begin), rec->sample.end,
			halves->has_guesses, chain.swap);
	return to;
}

/* The record has at most what the sample had, whose fields are in its tail. */
static void part(struct unmerge *u, const struct seam_pd_rec *rec,
		 const struct halves *halves, struct seam_pd_bytes *record)
{
	const struct seam_pd_words chain = rec->sample.chain;
	const uint8_t *begin = record->p, *tail = chain.p + 8 * chain.n;
	uint64_t cookie = next_cookie(u, rec);
	uint8_t *to = u->out;

	to = seam_put(to, begin, (size_t)(chain.p - begin) - 8);
	to = seam_put_word(to, halves->n_own + 2, chain.swap);
	to = seam_put(to, chain.p, 8 * halves->n_own);
	to = seam_put_word(to, SEAM_CONTEXT_USER_DEFERRED, chain.swap);
	to = seam_put_word(to, cookie, chain.swap);
	to = seam_put(to, tail, (size_t)(begin + record->len - tail));
	seam_set_header(u->out, (size_t)(to - u->out), 0, false, chain.swap);
	to = put_record(u, to, rec, halves, cookie);
	record->p = u->out;
	record->len = (size_t)(to - u->out);
}

static int edit(void *ctx, const uint8_t *bytes, const struct seam_pd_rec *rec,
		struct seam_pd_bytes *ret)
{
	struct unmerge *u = ctx;
	struct halves halves;

	(void)bytes;
	if (rec->type != PERF_RECORD_SAMPLE)
		return SEAM_PD_KEEP;
	u->count.samples++;
	if (!u->needed || !has_user_half(u->r, rec))
		return SEAM_PD_KEEP;
	if (!can_part(u->r, rec, ret->len, &halves)) {
		u->count.kept++;
		return SEAM_PD_KEEP;
	}
	part(u, rec, &halves, ret);
	return SEAM_PD_REPLACE;
}

bool seam_unmerge_needed(struct seam_pd_reader *r)
{
	struct seam_pd_rec rec;
	bool any = false;

	for (size_t i = 0; i < seam_pd_n_records(r); i++) {
		seam_pd_record(r, i, &rec);
		if (rec.type == SEAM_RECORD_CALLCHAIN_DEFERRED)
			return false;
		if (rec.type != PERF_RECORD_SAMPLE)
			continue;
		if (seam_chain_deferred(rec.sample.chain))
			return false;
		any |= has_user_half(r, &rec);
	}
	return any;
}

int seam_unmerge(struct seam_pd_reader *r, int fd, bool to_file,
		 struct seam_unmerged *ret)
{
	struct unmerge *u = calloc(1, sizeof(*u));
	struct seam_pd_editor editor = {
		.edit = edit, .ctx = u, .to_file = to_file};
	int rc;

	if (!u)
		return -ENOMEM;
	u->r = r;
	u->needed = seam_unmerge_needed(r);
	editor.defers = u->needed;
	rc = seam_pd_copy(r, fd, &editor);
	if (!rc)
		*ret = u->count;
	free(u);
	return rc;
}
