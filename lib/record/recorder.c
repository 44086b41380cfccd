// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/recorder.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/entries.h"
#include "record/sidequeue.h"

/* A file on disk that is this young at worst when the recorder dies. */
#define FLUSH_NS 500000000ULL
/* For so long no round ends in the file while stacks are awaited: a reader
 * that sorts in rounds would take one that comes after it too late. */
#define AWAIT_NS 5000000000ULL
/* Where someone reads along, with a window of his own for stacks. */
#define LIVE_NS 200000000ULL

/* Of a client, and of records about processes. */
#define EVENTS (SEAM_CLIENT_MAX_EVENTS + 1)

struct seam_recorder {
	struct seam_session *session;
	struct seam_pd_writer *writer;
	struct seam_entries entries;
	struct seam_summary sum;
	struct seam_sidequeue side;
	bool stacks_only, live;
	uint64_t flushed_ns, round_ns; /* when, and when a round last ended */
	uint64_t lost_written; /* samples that the file says are lost */
	int err; /* first one; sticky */
};

static void note(struct seam_recorder *r, int err)
{
	if (err && !r->err)
		r->err = err;
}

/* Whether a sample tells nothing of a stack that is not told already. */
static bool is_surplus(const struct seam_recorder *r,
		       const struct seam_sample *sample)
{
	return sample->cookie ? seam_entries_has(&r->entries, sample)
			      : sample->end == SEAM_NO_USER;
}

/* Of a sample whose user half was wanted, and will not come. */
static int why_none(const struct seam_sample *sample)
{
	return sample->cookie || sample->end == SEAM_NO_USER ? 0 : sample->end;
}

static void on_sample(void *ctx, const struct seam_sample *sample)
{
	struct seam_recorder *r = ctx;
	bool leave_out;
	struct seam_pd_sample pd = {
		.id = {sample->pid, sample->tid, sample->time_ns, sample->cpu,
		       sample->id},
		.misc = sample->user ? PERF_RECORD_MISC_USER
				     : PERF_RECORD_MISC_KERNEL,
		.ip = sample->ip,
		.period = sample->period,
		.cookie = sample->cookie,
		.end = why_none(sample),
		.has_user_ip = true,
		.user_ip = sample->user_ip,
		.kernel_ips = sample->kernel_ips,
		.n_kernel = sample->n_kernel,
		.payload = sample->payload,
		.payload_size = sample->payload_size,
	};

	leave_out = r->stacks_only && is_surplus(r, sample);
	if (sample->cookie && seam_entries_sample(&r->entries, sample)) {
		r->sum.wanted++;
		r->sum.end[SEAM_LOST]++;
		r->sum.unwritten += !leave_out;
		return;
	}
	if (sample->cookie || sample->end != SEAM_NO_USER)
		r->sum.wanted++;
	if (!sample->cookie)
		r->sum.end[sample->end < SEAM_END_MAX ? sample->end : 0]++;
	if (leave_out) {
		r->sum.left_out++;
		return;
	}
	r->sum.samples++;
	r->sum.idle += !sample->tid;
	note(r, seam_pd_write_sample(r->writer, &pd));
}

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	struct seam_recorder *r = ctx;

	seam_entries_stack(&r->entries, stack);
}

static int write_stack(void *ctx, const struct seam_pd_stack *stack)
{
	struct seam_recorder *r = ctx;

	return seam_pd_write_stack(r->writer, stack);
}

static void on_record(void *ctx, uint64_t time_ns,
		      const struct perf_event_header *record)
{
	struct seam_recorder *r = ctx;
	const int err = seam_sidequeue_add(&r->side, record);

	(void)time_ns;
	r->sum.unwritten += !!err;
	note(r, err);
}

static uint64_t tail_of(void *ctx, uint32_t tid, uint64_t time_ns, bool exits)
{
	const struct seam_recorder *r = ctx;

	return seam_entries_tail(&r->entries, tid, time_ns, exits);
}

static int write_side(void *ctx, const struct perf_event_header *record)
{
	struct seam_recorder *r = ctx;

	return seam_pd_write_raw(r->writer, record);
}

static void turn_side(struct seam_recorder *r, int all)
{
	struct seam_sidequeue_ops ops = {tail_of, write_side, r};

	note(r, all ? seam_sidequeue_end(&r->side, &ops)
		    : seam_sidequeue_turn(&r->side, seam_now_ns(), &ops));
}

static struct seam_pd_event event_of(const struct seam_event_info *ev)
{
	struct perf_event_attr attr = *ev->attr;

	seam_pd_want_user_ip(&attr);
	return (struct seam_pd_event){
		.attr = attr,
		.name = ev->name,
		.ids = ev->ids,
		.n_ids = ev->n_ids,
		.tracepoint = ev->base,
		.format = ev->format,
		.payload_size = ev->payload_size,
	};
}

/* The client's, and last the one of records about processes. */
static size_t take_events(struct seam_recorder *r,
			  struct seam_pd_event pd[static EVENTS])
{
	struct seam_event_info ev = {.sz = sizeof(ev)};
	size_t n = 0;

	while (n < EVENTS && !seam_session_event(r->session, n, &ev)) {
		if (!n)
			r->sum.why_clock = ev.why_clock;
		pd[n++] = event_of(&ev);
		r->sum.no_payload += ev.payload_refused;
	}
	for (size_t i = 0; i + 1 < n && i < SEAM_SUMMARY_EVENTS; i++)
		snprintf(r->sum.events[r->sum.n_events++],
			 sizeof(r->sum.events[0]), "%s", pd[i].name);
	r->entries.id = pd[n - 1].ids[0];
	return n;
}

static int open_writer(struct seam_recorder *r,
		       const struct seam_recorder_opts *opts,
		       struct seam_errinfo *reterr)
{
	struct seam_pd_event pd[EVENTS];
	size_t n = take_events(r, pd);
	struct seam_pd_opts pd_opts = {
		.sz = sizeof(pd_opts),
		.events = pd,
		.n_events = n,
		.argv = opts->argv,
		.argc = opts->argc,
		.zstd_level = opts->zstd_level,
		.wait = opts->wait,
	};
	char *page = NULL, *event = NULL;
	const char *why;
	int err;

	r->sum.engine = seam_engine_name(seam_session_engine(r->session, &why));
	r->entries.at_once =
		seam_session_engine(r->session, &why) == SEAM_ENGINE_IMMEDIATE;
	snprintf(r->sum.why, sizeof(r->sum.why), "%s", why);
	why = seam_session_alone(r->session);
	snprintf(r->sum.alone, sizeof(r->sum.alone), "%s", why ? why : "");
	seam_session_others(r->session, r->sum.others, sizeof(r->sum.others));
	pd_opts.engine = r->sum.engine;
	/* Readers of payloads want these. */
	for (size_t i = 0; i < n; i++) {
		if (!(pd[i].attr.sample_type & PERF_SAMPLE_RAW))
			continue;
		page = seam_tracepoint_text("header_page");
		event = seam_tracepoint_text("header_event");
		break;
	}
	pd_opts.header_page = page;
	pd_opts.header_event = event;
	err = seam_pd_writer_open(opts->output, &pd_opts, &r->writer, reterr);
	free(page);
	free(event);
	return err;
}

int seam_recorder_open(const struct seam_recorder_opts *opts,
		       struct seam_recorder **ret, struct seam_errinfo *reterr)
{
	struct seam_recorder *r = calloc(1, sizeof(*r));
	struct seam_client_opts client = opts->client;
	int err;

	if (!r)
		return -ENOMEM;
	r->stacks_only = opts->stacks_only;
	r->live = opts->live;
	client.stacks_only = opts->stacks_only;
	r->entries.sum = &r->sum;
	r->entries.write = write_stack;
	r->entries.ctx = r;
	client.on_sample = on_sample;
	client.on_stack = on_stack;
	client.on_record = on_record;
	client.ctx = r;
	err = seam_session_open(&opts->session, &r->session, reterr);
	if (!err)
		err = seam_client_add(r->session, &client, reterr);
	if (!err)
		err = open_writer(r, opts, reterr);
	if (err) {
		seam_recorder_close(r);
		return err;
	}
	*ret = r;
	return 0;
}

int seam_recorder_start(struct seam_recorder *r, struct seam_errinfo *reterr)
{
	int err;

	r->flushed_ns = r->round_ns = seam_now_ns();
	err = seam_session_start(r->session, reterr);
	return err ? err : r->err;
}

int seam_recorder_fd(const struct seam_recorder *r)
{
	return seam_session_fd(r->session);
}

bool seam_recorder_targets_gone(const struct seam_recorder *r)
{
	return seam_session_targets_gone(r->session);
}

/* Says in the file what the kernel side could not hand over since the last
 * time: the summary is not there for whoever reads the file. */
static void write_lost(struct seam_recorder *r)
{
	struct {
		struct perf_event_header header;
		uint64_t lost;
		uint32_t pid, tid;
		uint64_t time_ns, cpu, id;
	} rec = {
		.header = {PERF_RECORD_LOST_SAMPLES, 0, sizeof(rec)},
		.time_ns = seam_now_ns(),
		.id = r->entries.id,
	};
	const struct seam_counts *c = &r->sum.counts;

	r->sum.counts.sz = sizeof(r->sum.counts);
	note(r, seam_session_counts(r->session, &r->sum.counts));
	if (c->lost_samples <= r->lost_written)
		return;
	rec.lost = c->lost_samples - r->lost_written;
	r->lost_written = c->lost_samples;
	note(r, seam_pd_write_raw(r->writer, &rec.header));
}

/* A stack of no cookie says that no more come: of the samples that have none,
 * each was dropped, and no task still holds one. A reader could only guess that
 * by what it sees of a task, which may be dropped as well. */
static void write_stacks_end(struct seam_recorder *r)
{
	struct seam_pd_stack end = {
		.id = {0, 0, seam_now_ns(), 0, r->entries.id}};

	note(r, seam_pd_write_stack(r->writer, &end));
}

static void flush(struct seam_recorder *r, uint64_t now_ns, bool ends_round)
{
	seam_entries_settle(&r->entries, now_ns);
	write_lost(r);
	note(r, ends_round ? seam_pd_flush(r->writer)
			   : seam_pd_flush_within(r->writer));
	r->flushed_ns = now_ns;
	if (ends_round)
		r->round_ns = now_ns;
}

static void flush_at_times(struct seam_recorder *r)
{
	uint64_t now_ns = seam_now_ns(), round_ns = FLUSH_NS;

	if (r->live)
		round_ns = LIVE_NS;
	else if (seam_entries_await(&r->entries))
		round_ns = AWAIT_NS;
	if (now_ns - r->round_ns >= round_ns)
		flush(r, now_ns, true);
	else if (now_ns - r->flushed_ns >= FLUSH_NS)
		flush(r, now_ns, false);
}

int seam_recorder_run(struct seam_recorder *r)
{
	note(r, seam_session_read(r->session));
	turn_side(r, 0);
	flush_at_times(r);
	note(r, r->entries.err);
	return r->err;
}

int seam_recorder_stop(struct seam_recorder *r, struct seam_summary *ret)
{
	note(r, seam_session_stop(r->session));
	seam_entries_end(&r->entries);
	note(r, r->entries.err);
	turn_side(r, 1);
	write_stacks_end(r);
	write_lost(r);
	note(r, seam_pd_flush(r->writer));
	r->sum.n_refused = seam_session_refused(r->session, r->sum.refused);
	r->sum.bytes = seam_pd_bytes(r->writer);
	r->sum.unwritten += seam_pd_unwritten(r->writer);
	note(r, seam_pd_writer_close(r->writer));
	r->writer = NULL;
	*ret = r->sum;
	return r->err;
}

struct seam_recorder *seam_recorder_close(struct seam_recorder *r)
{
	if (!r)
		return NULL;
	seam_session_close(r->session);
	seam_pd_writer_close(r->writer);
	seam_entries_fini(&r->entries);
	seam_sidequeue_fini(&r->side);
	free(r);
	return NULL;
}
