// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Twice through the recording: once in the order of time, to learn which
 * stack is whose, then in the order of the file, to write it. What is kept
 * between is two words for each sample, and stacks that were unwound, neither
 * in memory that grows with the file; records of stacks are read again.
 */
#include "inject/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/spill.h"
#include "core/uapi.h"
#include "inject/kept.h"
#include "inject/marks.h"
#include "inject/record.h"
#include "perfdata/copy.h"
#include "perfdata/format.h"
#include "stitch/cookie.h"
#include "stitch/copies.h"

#define NO_STACK UINT32_MAX

enum plan_how {
	PLAN_JOIN, /* a deferred sample: stack is the reader's record */
	PLAN_ENTRY, /* there is none: where the kernel was entered is known */
	PLAN_UNWOUND, /* its copy was: stack is one of those kept */
	PLAN_DROP, /* its chain has a user half: its copy alone goes */
};

struct plan { /* of a sample; sorted by bytes */
	const uint8_t *bytes;
	uint32_t stack; /* or NO_STACK */
	uint16_t n; /* frames of it; a record cannot have more */
	uint8_t end; /* enum seam_err */
	uint8_t how; /* enum plan_how */
};

struct inject {
	struct seam_pd_reader *r;
	struct seam_spill plans;
	size_t n;
	struct seam_kept kept;
	size_t edited; /* samples */
	bool is_foreign; /* copies stay as they are */
	bool tells_lost; /* payloads that were lost name a tracepoint */
	struct seam_injected count;
	uint64_t ips[UINT16_MAX];
	uint8_t merged[UINT16_MAX + 1];
};

static int by_bytes(const void *a, const void *b)
{
	const struct plan *x = a, *y = b;

	return ((uintptr_t)x->bytes > (uintptr_t)y->bytes) -
	       ((uintptr_t)x->bytes < (uintptr_t)y->bytes);
}

/* So many samples are gone through with what they touch in memory. */
#define TOUCHED_MAX (1U << 18)

static void let_go(const struct inject *in, size_t nth)
{
	if (nth % TOUCHED_MAX)
		return;
	seam_spill_let_go(&in->plans);
	seam_spill_let_go(&in->kept.words);
}

/* A copy, and a chain to take its place. */
static bool has_copy(const struct seam_pd_reader *r,
		     const struct seam_pd_rec *rec)
{
	const struct seam_pd_attr *event = seam_pd_event(r, (size_t)rec->event);

	return rec->sample.user_regs_abi && rec->sample.user_stack &&
	       seam_copies_has(event) &&
	       (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN);
}

/* A payload that an older recorder of ours lost, which names the tracepoint 0,
 * that none is: perf 6.1 ends over it. */
static bool names_none(const struct seam_pd_reader *r,
		       const struct seam_pd_rec *rec)
{
	const struct seam_pd_attr *event = seam_pd_event(r, (size_t)rec->event);
	uint16_t id;

	if (event->attr.type != PERF_TYPE_TRACEPOINT || !rec->sample.raw ||
	    rec->sample.raw_len < sizeof(id))
		return false;
	memcpy(&id, rec->sample.raw, sizeof(id));
	return !id;
}

static int plan_stack(struct inject *in, const struct seam_stitched *s,
		      struct plan *plan)
{
	const struct seam_frame *user = s->frames + s->n_frames - s->n_stack;
	bool joined = s->half == SEAM_HALF_JOINED || s->half == SEAM_HALF_LATE;
	int rc = 0;

	if (joined)
		plan->stack = (uint32_t)s->stack;
	else if (plan->how == PLAN_UNWOUND && s->n_stack)
		rc = seam_kept_add(&in->kept, user, s->n_stack, &plan->stack);
	if (plan->how != PLAN_DROP) {
		in->count.merged += plan->stack != NO_STACK;
		in->count.missing += plan->stack == NO_STACK;
	}
	return rc;
}

/* Whether the record has a user half of its own, be it of one frame. */
static bool has_user(struct seam_pd_words chain)
{
	for (size_t i = 0; i < chain.n; i++)
		if (seam_pd_word(chain, i) == (uint64_t)PERF_CONTEXT_USER)
			return true;
	return false;
}

/* Of a user half that never came, or was not to come. */
static bool shows_entry(const struct seam_stitched *s)
{
	uint64_t ip;

	return !has_user(s->rec->sample.chain) &&
	       (s->rec->misc & PD_MISC_CPUMODE) == PERF_RECORD_MISC_KERNEL &&
	       s->n_frames == s->n_kernel + 1 &&
	       seam_pd_entry_ip(&s->rec->sample, &ip) &&
	       s->frames[s->n_kernel].ip == ip;
}

static int keep_plan(struct inject *in, const struct plan *plan)
{
	struct plan *plans;

	if (seam_spill_grow(&in->plans, in->n + 1, sizeof(*plan)))
		return -ENOMEM;
	plans = in->plans.p;
	plans[in->n++] = *plan;
	let_go(in, in->n);
	return 0;
}

static int add_plan(struct inject *in, const struct seam_stitched *s)
{
	bool copied = !in->is_foreign && has_copy(in->r, s->rec);
	struct plan plan = {
		.bytes = seam_pd_raw(in->r, s->place),
		.stack = NO_STACK,
		.n = (uint16_t)s->n_stack,
		.end = (uint8_t)s->end,
		.how = shows_entry(s) ? PLAN_ENTRY : PLAN_JOIN,
	};
	int rc;

	/* One of an event that defers misses its half though it has no mark;
	 * one to which none was to come says why. */
	if (!seam_chain_deferred(s->rec->sample.chain) &&
	    plan.how != PLAN_ENTRY) {
		if (!copied)
			return 0;
		plan.how = s->from_copy ? PLAN_UNWOUND : PLAN_DROP;
	}
	rc = plan_stack(in, s, &plan);
	return rc ? rc : keep_plan(in, &plan);
}

static void tell_lacking(const struct seam_stitch *st,
			 const struct seam_inject_tell *tell)
{
	const char *why, *path;
	uint64_t stacks;

	for (size_t at = 0;
	     (why = seam_stitch_lacking(st, &at, &path, &stacks)) != NULL;)
		tell->lacking(tell->ctx, path, why, stacks);
}

static int make_plans(struct inject *in, const struct seam_inject_opts *opts)
{
	struct seam_stitched s;
	struct seam_stitch *st;
	int rc = seam_stitch_new(in->r, &st);

	if (rc)
		return rc;
	seam_stitch_undivided(st);
	seam_stitch_kernel(st, opts->kallsyms);
	in->is_foreign = seam_copies_foreign(in->r);
	while ((rc = seam_stitch_next(st, &s)) > 0) {
		in->tells_lost |= names_none(in->r, s.rec);
		rc = add_plan(in, &s);
		if (rc)
			break;
	}
	in->tells_lost &= seam_pd_can_tell_lost(in->r);
	in->count.joins = *seam_stitch_stats(st);
	if (!rc && opts->tell)
		tell_lacking(st, opts->tell);
	seam_stitch_free(st);
	return rc ? rc
		  : seam_spill_sort(&in->plans, in->n, sizeof(struct plan),
				    by_bytes);
}

/* Words of the sample's own chain, up to the mark; whether one is a frame. */
static size_t own_words(struct seam_pd_words chain, bool *ret_any)
{
	size_t i;

	*ret_any = false;
	for (i = 0; i < chain.n; i++) {
		uint64_t ip = seam_pd_word(chain, i);

		if (ip == SEAM_CONTEXT_USER_DEFERRED)
			break;
		*ret_any |= ip < SEAM_CONTEXT_MAX;
	}
	return i;
}

/* The user half: words as the chain has them, without the marker. *ret_marked:
 * some of them say which frames are guessed. */
static struct seam_pd_words
user_words(struct inject *in, const struct plan *plan, bool *ret_marked)
{
	struct seam_pd_words ips = {0};
	struct seam_pd_rec stack;

	*ret_marked = false;
	if (plan->stack == NO_STACK)
		return ips;
	if (plan->how == PLAN_UNWOUND) {
		ips.p = (const uint8_t *)seam_kept_get(&in->kept, plan->stack);
		ips.n = plan->n;
		return ips;
	}
	seam_pd_record(in->r, plan->stack, &stack);
	ips = stack.stack.ips;
	ips.n = plan->n < ips.n ? plan->n : ips.n;
	*ret_marked = seam_marks_any(&stack.stack, ips.n);
	if (*ret_marked) {
		ips.n = seam_marks_put(&stack.stack, ips.n, in->ips);
		ips.p = (const uint8_t *)in->ips;
	}
	return ips;
}

/* Of a sample that got nothing: the leaf, if it was taken in user mode, or
 * where the kernel was entered. */
static bool known_alone(const struct seam_pd_rec *rec, const struct plan *plan,
			bool any_own, uint64_t *ret)
{
	if (plan->stack != NO_STACK)
		return false;
	if (plan->how == PLAN_ENTRY)
		return seam_pd_entry_ip(&rec->sample, ret);
	*ret = rec->sample.ip;
	return !any_own &&
	       (rec->misc & PD_MISC_CPUMODE) == PERF_RECORD_MISC_USER;
}

/* What comes behind the chain, in two parts: with registers and copy left out,
 * which are next to each other, and two words in their place that say so. */
struct tail {
	const uint8_t *p, *rest;
	size_t n, n_words, n_rest;
};

static struct tail tail_of(const struct inject *in,
			   const struct seam_pd_rec *rec,
			   const struct seam_pd_bytes *record)
{
	const struct seam_pd_rec_sample *s = &rec->sample;
	const uint8_t *end = record->p + record->len, *from, *to;
	struct tail t = {.p = s->chain.p + 8 * s->chain.n};

	t.n = (size_t)(end - t.p);
	if (in->is_foreign || !has_copy(in->r, rec))
		return t;
	from = s->user_regs.p - 8;
	to = s->user_stack + s->user_stack_room + 8;
	t.n = (size_t)(from - t.p);
	t.n_words = 2;
	t.rest = to;
	t.n_rest = (size_t)(end - to);
	return t;
}

static uint8_t *put_tail(uint8_t *to, const struct tail *t)
{
	to = seam_put(to, t->p, t->n);
	for (size_t i = 0; i < t->n_words; i++)
		to = seam_put_word(to, 0, false);
	return seam_put(to, t->rest, t->n_rest);
}

/* What a record that is so long has room for behind the marker. */
static size_t room_for(size_t size)
{
	return size + 16 <= SEAM_RECORD_MAX ? (SEAM_RECORD_MAX - size) / 8 - 1
					    : 0;
}

/* The chain's count and words; the rest of the record stays, but for a copy of
 * the stack. A record may be full before, even beyond what we write. */
static void merge(struct inject *in, const struct plan *plan,
		  const struct seam_pd_rec *rec, struct seam_pd_bytes *record)
{
	const struct seam_pd_words chain = rec->sample.chain;
	const struct tail tail = tail_of(in, rec, record);
	const uint8_t *begin = record->p;
	size_t n_head = (size_t)(chain.p - begin) - 8;
	size_t n_tail = tail.n + 8 * tail.n_words + tail.n_rest;
	bool any_own, alone, marked;
	struct seam_pd_words ips = user_words(in, plan, &marked);
	uint64_t ip;
	size_t own = own_words(chain, &any_own);
	size_t room = room_for(n_head + 8 + 8 * own + n_tail), n_user;
	int end = plan->end;
	uint8_t *to = in->merged;

	alone = known_alone(rec, plan, any_own, &ip);
	n_user = alone ? 1 : ips.n;
	if (n_user > room) {
		/* That is in the sample, and is read from there. */
		if (!alone)
			end = SEAM_MAX_STACK;
		alone = false;
		ips.n = ips.n < room ? ips.n : room;
		if (marked)
			ips.n = seam_marks_cut(ips, ips.n, &marked);
		n_user = ips.n;
		in->count.cut++;
	}
	to = seam_put(to, begin, n_head);
	to = seam_put_word(to, own + (n_user ? n_user + 1 : 0), chain.swap);
	to = seam_put(to, chain.p, 8 * own);
	if (n_user)
		to = seam_put_word(to, (uint64_t)PERF_CONTEXT_USER, chain.swap);
	to = alone ? seam_put_word(to, ip, chain.swap)
		   : seam_put(to, ips.p, 8 * ips.n);
	to = put_tail(to, &tail);
	record->p = in->merged;
	record->len = (size_t)(to - in->merged);
	seam_set_header(in->merged, record->len, end, marked, chain.swap);
}

/* The same sample without its copy. */
static void drop_copy(struct inject *in, const struct seam_pd_rec *rec,
		      struct seam_pd_bytes *record)
{
	const struct tail tail = tail_of(in, rec, record);
	const uint8_t *begin = record->p;
	uint8_t *to = seam_put(in->merged, begin, (size_t)(tail.p - begin));

	to = put_tail(to, &tail);
	record->p = in->merged;
	record->len = (size_t)(to - in->merged);
	seam_set_header(in->merged, record->len, rec->sample.end,
			rec->sample.has_guesses, false);
}

static int edit_stack(struct inject *in, const uint8_t *bytes,
		      const struct seam_pd_rec *rec, struct seam_pd_bytes *ret)
{
	const struct plan key = {.bytes = bytes}, *plan;

	if (!in->n)
		return SEAM_PD_KEEP;
	let_go(in, in->edited++);
	plan = bsearch(&key, in->plans.p, in->n, sizeof(key), by_bytes);
	if (!plan)
		return SEAM_PD_KEEP;
	if (plan->how == PLAN_DROP)
		drop_copy(in, rec, ret);
	else
		merge(in, plan, rec, ret);
	return SEAM_PD_REPLACE;
}

/* The payload is behind the chain, whatever became of that, and before what may
 * have been left out. */
static int name_lost(struct inject *in, const uint8_t *bytes,
		     const struct seam_pd_rec *rec, struct seam_pd_bytes *ret,
		     int how)
{
	const struct seam_pd_words chain = rec->sample.chain;
	const uint16_t lost = SEAM_PD_PAYLOAD_LOST;
	const uint8_t *behind = chain.p ? chain.p + 8 * chain.n : bytes;
	size_t at = 0;
	uint64_t n;

	if (how == SEAM_PD_KEEP) {
		memcpy(in->merged, ret->p, ret->len);
		ret->p = in->merged;
	}
	if (chain.p) {
		at = (size_t)(chain.p - bytes);
		memcpy(&n, in->merged + at - sizeof(n), sizeof(n));
		at += 8 * (size_t)n;
	}
	at += (size_t)(rec->sample.raw - behind);
	memcpy(in->merged + at, &lost, sizeof(lost));
	return SEAM_PD_REPLACE;
}

static int edit(void *ctx, const uint8_t *bytes, const struct seam_pd_rec *rec,
		struct seam_pd_bytes *ret)
{
	struct inject *in = ctx;
	int how;

	if (rec->type == SEAM_RECORD_CALLCHAIN_DEFERRED)
		return SEAM_PD_LEAVE_OUT;
	if (rec->type != PERF_RECORD_SAMPLE)
		return SEAM_PD_KEEP;
	how = edit_stack(in, bytes, rec, ret);
	return in->tells_lost && names_none(in->r, rec)
		       ? name_lost(in, bytes, rec, ret, how)
		       : how;
}

bool seam_inject_needed(struct seam_pd_reader *r)
{
	const bool is_foreign = seam_copies_foreign(r),
		   can_tell = seam_pd_can_tell_lost(r);
	struct seam_pd_rec rec;

	for (size_t i = 0; i < seam_pd_n_records(r); i++) {
		seam_pd_record(r, i, &rec);
		if (rec.type == PERF_RECORD_SAMPLE &&
		    (seam_chain_deferred(rec.sample.chain) ||
		     (!is_foreign && has_copy(r, &rec)) ||
		     (can_tell && names_none(r, &rec))))
			return true;
	}
	return false;
}

int seam_inject(struct seam_pd_reader *r, int fd,
		const struct seam_inject_opts *opts, struct seam_injected *ret)
{
	static const struct seam_inject_opts none;
	struct inject *in = calloc(1, sizeof(*in));
	struct seam_pd_editor editor = {.edit = edit, .ctx = in};
	int rc;

	if (!in)
		return -ENOMEM;
	opts = opts ? opts : &none;
	in->r = r;
	rc = make_plans(in, opts);
	editor.tells_lost = in->tells_lost;
	editor.to_file = opts->to_file;
	if (!rc)
		rc = seam_pd_copy(r, fd, &editor);
	if (!rc)
		*ret = in->count;
	seam_kept_fini(&in->kept);
	seam_spill_fini(&in->plans);
	free(in);
	return rc;
}
