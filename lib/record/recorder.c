// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/idmap.h"
#include "capture/fail.h"
#include "capture/session.h"
#include "record/sidequeue.h"

/* A file on disk that is this young at worst when the recorder dies. */
#define FLUSH_NS 500000000ULL
/* After this an entry whose stack came has no more late samples, but for
 * exec and exit, which can take long. */
#define SETTLED_NS 100000000ULL
/* A task that was quiet for so long is forgotten; it may be gone. */
#define FORGET_NS 10000000000ULL

/* A stack that did not come before its task's next entry may yet: the library
 * unwinds copies aside, and may first have to read a large file. */
#define ORPHAN_NS 30000000000ULL
/* For so long the file is not flushed while stacks are awaited: a reader
 * that sorts in rounds would take one that comes after the flush too late. */
#define AWAIT_NS 5000000000ULL

struct orphan {
	uint64_t cookie, waiting;
	uint64_t since_ns, stamp_ns;
};

/* An exec or exit whose stack was taken, as far as its samples tell. */
struct tail {
	uint64_t from_ns, to_ns;
};

/* Of one task between two readings: more than these are forgotten. */
#define TAILS 4

/* The open or last entry of one task. */
struct entry {
	uint64_t cookie;
	uint64_t last_ns; /* of the last sample, or stack */
	uint64_t waiting; /* samples without a stack yet */
	uint64_t served; /* samples that have one */
	struct tail tails[TAILS];
	uint32_t n_tails;
	bool has_stack, written;
	bool tail; /* the stack was taken at exec or exit */
	struct seam_pd_stack stack;
	uint64_t *ips;
};

struct seam_recorder {
	struct seam_session *session;
	struct seam_pd_writer *writer;
	struct seam_idmap entries; /* by tid */
	struct seam_idmap orphans; /* by cookie */
	struct seam_summary sum;
	struct seam_sidequeue side;
	uint64_t id; /* of the sideband event, for stacks */
	uint64_t flushed_ns, now_ns;
	uint64_t lost_written; /* samples that the file says are lost */
	int err; /* first one; sticky */
};

static void note(struct seam_recorder *r, int err)
{
	if (err && !r->err)
		r->err = err;
}

static void entry_free(void *value)
{
	struct entry *e = value;

	free(e->ips);
	free(e);
}

static struct entry *entry_of(struct seam_recorder *r, uint32_t tid)
{
	struct entry *e = seam_idmap_make(&r->entries, tid, sizeof(*e));

	if (!e)
		note(r, -ENOMEM);
	return e;
}

/* Writes the held stack so that it sorts at a time. */
static void write_stack(struct seam_recorder *r, struct entry *e,
			uint64_t time_ns)
{
	e->stack.id.time_ns = time_ns;
	note(r, seam_pd_write_stack(r->writer, &e->stack));
	e->written = true;
}

static void orphan_add(struct seam_recorder *r, const struct entry *e)
{
	struct orphan *o = malloc(sizeof(*o));

	if (o) {
		*o = (struct orphan){e->cookie, e->waiting, e->last_ns,
				     e->last_ns + 1};
		if (!seam_idmap_put(&r->orphans, e->cookie, o))
			return;
		free(o);
	}
	r->sum.end[SEAM_LOST] += e->waiting;
}

/* Return: true if the stack was one that samples had been waiting for. */
static bool orphan_claim(struct seam_recorder *r,
			 const struct seam_user_stack *stack)
{
	struct orphan *o = seam_idmap_remove(&r->orphans, stack->cookie);
	struct seam_pd_stack pd = {
		.id = {stack->pid, stack->tid, 0, stack->cpu, r->id},
		.cookie = stack->cookie,
		.ips = stack->ips,
		.n_ips = stack->n_ips,
		.end = stack->end,
		.flags = stack->before_exec ? SEAM_PD_STACK_EXEC : 0,
	};

	if (!o)
		return false;
	pd.id.time_ns = o->stamp_ns;
	note(r, seam_pd_write_stack(r->writer, &pd));
	r->sum.stacks++;
	r->sum.end[stack->end] += o->waiting;
	if (o->waiting > r->sum.max_served)
		r->sum.max_served = o->waiting;
	free(o);
	return true;
}

static bool orphan_expired(void *ctx, uint64_t cookie, void *value)
{
	struct seam_recorder *r = ctx;
	struct orphan *o = value;

	(void)cookie;
	if (o->since_ns + ORPHAN_NS >= r->now_ns)
		return false;
	r->sum.end[SEAM_LOST] += o->waiting;
	free(o);
	return true;
}

/* Stacks that did not come in all that time were dropped. */
static void orphans_expire(struct seam_recorder *r)
{
	seam_idmap_sweep(&r->orphans, orphan_expired, r);
}

/* The entry is over: its samples' fate is known. */
static void entry_end(struct seam_recorder *r, struct entry *e)
{
	if (!e->cookie)
		return;
	if (e->has_stack && e->served && !e->written)
		write_stack(r, e, e->last_ns + 1);
	if (e->has_stack && !e->served)
		r->sum.unused++;
	if (e->has_stack && e->served) {
		r->sum.stacks++;
		r->sum.end[e->stack.end] += e->served;
	}
	if (e->served > r->sum.max_served)
		r->sum.max_served = e->served;
	if (e->waiting)
		orphan_add(r, e);
	e->cookie = 0;
	e->waiting = 0;
	e->served = 0;
	e->has_stack = false;
	e->written = false;
	e->tail = false;
}

static void tail_begin(struct entry *e, uint64_t time_ns)
{
	e->tails[e->n_tails++ % TAILS] = (struct tail){time_ns, 0};
}

static void tail_end(struct entry *e, uint64_t time_ns)
{
	e->tails[(e->n_tails - 1) % TAILS].to_ns = time_ns;
}

/* Makes cookie the task's entry; another that was open is over. */
static void entry_is(struct seam_recorder *r, struct entry *e, uint64_t cookie)
{
	if (e->cookie == cookie)
		return;
	entry_end(r, e);
	e->cookie = cookie;
}

/* A sample of an entry: its stack is there, or will come. */
static void entry_sample(struct seam_recorder *r, struct entry *e,
			 const struct seam_sample *sample)
{
	uint64_t before_ns = e->last_ns;

	entry_is(r, e, sample->cookie);
	e->last_ns = sample->time_ns;
	e->written = false; /* a late one: the stack comes again */
	/* The stack of a cold program comes late: the sample says it first. */
	if (sample->tail && !e->tail) {
		e->tail = true;
		tail_begin(e, before_ns);
	}
	if (e->tail)
		tail_end(e, sample->time_ns);
	if (e->has_stack)
		e->served++;
	else
		e->waiting++;
}

static void on_sample(void *ctx, const struct seam_sample *sample)
{
	struct seam_recorder *r = ctx;
	const struct seam_event *events[17];
	struct seam_pd_sample pd = {
		.id = {sample->pid, sample->tid, sample->time_ns, sample->cpu,
		       0},
		.misc = sample->user ? PERF_RECORD_MISC_USER
				     : PERF_RECORD_MISC_KERNEL,
		.ip = sample->ip,
		.period = sample->period,
		.cookie = sample->cookie,
		.kernel_ips = sample->kernel_ips,
		.n_kernel = sample->n_kernel,
	};
	struct entry *e;

	seam_session_events(r->session, events);
	pd.id.id = seam_event_id(events[sample->event], sample->cpu);
	r->sum.samples++;
	if (!sample->tid)
		r->sum.idle++;
	if (sample->cookie) {
		e = entry_of(r, sample->tid);
		if (!e)
			return;
		entry_sample(r, e, sample);
	}
	if (sample->cookie || sample->end != SEAM_NO_USER)
		r->sum.wanted++;
	if (!sample->cookie)
		r->sum.end[sample->end < SEAM_END_MAX ? sample->end : 0]++;
	note(r, seam_pd_write_sample(r->writer, &pd));
}

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	struct seam_recorder *r = ctx;
	struct entry *e;
	uint64_t *ips;

	if (orphan_claim(r, stack))
		return;
	/* Its samples came before it; another entry may have begun since. */
	if (stack->by_library) {
		e = seam_idmap_get(&r->entries, stack->tid);
		if (!e || e->cookie != stack->cookie) {
			r->sum.unused++;
			return;
		}
	}
	e = entry_of(r, stack->tid);
	if (!e)
		return;
	entry_is(r, e, stack->cookie);
	if (e->has_stack)
		return; /* the first is the one that samples were told of */
	ips = realloc(e->ips, stack->n_ips * sizeof(*ips));
	if (!ips) {
		note(r, -ENOMEM);
		return;
	}
	memcpy(ips, stack->ips, stack->n_ips * sizeof(*ips));
	e->ips = ips;
	e->has_stack = true;
	if (!e->tail && (stack->before_exec || stack->at_exit)) {
		e->tail = true;
		tail_begin(e, stack->time_ns);
	}
	e->served += e->waiting;
	e->waiting = 0;
	/* Not so at exec and exit: what the kernel says of them may have
	 * come before the stack was written. */
	if (stack->time_ns > e->last_ns && !e->tail)
		e->last_ns = stack->time_ns;
	if (!e->served)
		e->last_ns = stack->time_ns;
	e->stack = (struct seam_pd_stack){
		.id = {stack->pid, stack->tid, 0, stack->cpu, r->id},
		.cookie = stack->cookie,
		.ips = ips,
		.n_ips = stack->n_ips,
		.end = stack->end,
		.flags = stack->before_exec ? SEAM_PD_STACK_EXEC : 0,
	};
}

static void on_record(void *ctx, uint64_t time_ns,
		      const struct perf_event_header *record)
{
	struct seam_recorder *r = ctx;

	(void)time_ns;
	note(r, seam_sidequeue_add(&r->side, record));
}

static uint64_t tail_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	struct seam_recorder *r = ctx;
	const struct entry *e = seam_idmap_get(&r->entries, tid);

	for (int i = 0; e && i < TAILS; i++)
		if (e->tails[i].from_ns <= time_ns &&
		    time_ns <= e->tails[i].to_ns)
			return e->tails[i].to_ns;
	return 0;
}

static int write_side(void *ctx, const struct perf_event_header *record)
{
	struct seam_recorder *r = ctx;

	return seam_pd_write_raw(r->writer, record);
}

static void turn_side(struct seam_recorder *r, int all)
{
	struct seam_sidequeue_ops ops = {tail_of, write_side, r};

	note(r, seam_sidequeue_turn(&r->side, all, &ops));
}

/* Stacks whose entry is surely over go out before the flush, so that a file
 * that ends here has them. */
static void settle(void *ctx, uint64_t id, void *value)
{
	struct seam_recorder *r = ctx;
	struct entry *e = value;

	(void)id;
	if (e->has_stack && e->served && !e->written &&
	    e->last_ns + SETTLED_NS < r->now_ns)
		write_stack(r, e, e->last_ns + 1);
}

static bool stale(void *ctx, uint64_t tid, void *value)
{
	struct seam_recorder *r = ctx;
	struct entry *e = value;

	(void)tid;
	if (e->waiting || e->last_ns + FORGET_NS >= r->now_ns)
		return false;
	entry_end(r, e);
	entry_free(e);
	return true;
}

static int open_writer(struct seam_recorder *r,
		       const struct seam_recorder_opts *opts,
		       struct seam_errinfo *reterr)
{
	const struct seam_event *events[17];
	struct seam_pd_event pd[17];
	size_t n = seam_session_events(r->session, events);
	struct seam_pd_opts pd_opts = {
		.sz = sizeof(pd_opts),
		.events = pd,
		.n_events = n,
		.argv = opts->argv,
		.argc = opts->argc,
		.zstd_level = opts->zstd_level,
	};

	for (size_t i = 0; i < n; i++)
		pd[i] = (struct seam_pd_event){events[i]->attr, events[i]->name,
					       events[i]->ids, events[i]->n};
	r->id = events[n - 1]->ids[0];
	strcpy(r->sum.event, events[0]->name);
	return seam_pd_writer_open(opts->output, &pd_opts, &r->writer, reterr);
}

int seam_recorder_open(const struct seam_recorder_opts *opts,
		       struct seam_recorder **ret, struct seam_errinfo *reterr)
{
	struct seam_recorder *r = calloc(1, sizeof(*r));
	struct seam_client_opts client = opts->client;
	int err;

	if (!r)
		return -ENOMEM;
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

	r->flushed_ns = seam_now_ns();
	if (reterr)
		reterr->reason[0] = 0;
	err = seam_session_start(r->session, reterr);
	if (err && !(reterr && reterr->reason[0]))
		return seam_fail(reterr, err, "starting the events failed (%s)",
				 strerror(-err));
	return err ? err : r->err;
}

int seam_recorder_fd(const struct seam_recorder *r)
{
	return seam_session_fd(r->session);
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
		.id = r->id,
	};
	const struct seam_counts *c = &r->sum.counts;

	note(r, seam_session_counts(r->session, &r->sum.counts));
	if (c->lost_samples <= r->lost_written)
		return;
	rec.lost = c->lost_samples - r->lost_written;
	r->lost_written = c->lost_samples;
	note(r, seam_pd_write_raw(r->writer, &rec.header));
}

int seam_recorder_run(struct seam_recorder *r)
{
	note(r, seam_session_read(r->session));
	turn_side(r, 0);
	r->now_ns = seam_now_ns();
	if (r->now_ns - r->flushed_ns >=
	    (r->orphans.used ? AWAIT_NS : FLUSH_NS)) {
		seam_idmap_each(&r->entries, settle, r);
		seam_idmap_sweep(&r->entries, stale, r);
		orphans_expire(r);
		write_lost(r);
		note(r, seam_pd_flush(r->writer));
		r->flushed_ns = r->now_ns;
	}
	return r->err;
}

static void end_all(void *ctx, uint64_t tid, void *value)
{
	struct seam_recorder *r = ctx;
	struct entry *e = value;
	/* What still waits now is asleep and was not to be had; of a task
	 * that is gone, the stack it left was dropped. */
	bool gone = kill((pid_t)tid, 0) && errno == ESRCH;

	r->sum.end[gone ? SEAM_LOST : SEAM_PENDING] += e->waiting;
	e->waiting = 0;
	entry_end(r, e);
}

int seam_recorder_stop(struct seam_recorder *r, struct seam_summary *ret)
{
	note(r, seam_session_stop(r->session));
	seam_idmap_each(&r->entries, end_all, r);
	r->now_ns = UINT64_MAX;
	orphans_expire(r);
	turn_side(r, 1);
	write_lost(r);
	note(r, seam_pd_flush(r->writer));
	r->sum.bytes = seam_pd_bytes(r->writer);
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
	seam_idmap_fini(&r->entries, entry_free);
	seam_idmap_fini(&r->orphans, free);
	seam_sidequeue_fini(&r->side);
	free(r);
	return NULL;
}
