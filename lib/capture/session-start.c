// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The start of a session: what there is already is told, events are attached.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "capture/session-priv.h"
#include "event/fail.h"
#include "process/synth.h"
#include "process/target.h"

/* Events whose samples have the ids of another: tracepoints, probes, sleeps. */
static int attach_lent(struct seam_session *s, size_t i)
{
	struct seam_event *ev = &s->events[i];
	int err = s->strip.n ? 0 : seam_strip_open(&s->strip);

	/* Payloads come first, then the samples that want them. */
	if (!err)
		err = seam_event_enable(ev, true);
	if (err)
		return err;
	if (ev->is_probe)
		return seam_kernel_attach_probe(s->kernel, ev->probe_fd,
						(uint32_t)i);
	if (ev->is_sleep)
		return seam_kernel_attach_sleeps(s->kernel);
	return seam_kernel_attach_tracepoint(s->kernel, s->events[i].raw_name,
					     (uint32_t)i);
}

static int attach_events(struct seam_session *s, struct seam_errinfo *reterr)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->n_events; i++) {
		struct seam_event *ev = &s->events[i];

		if (seam_event_is_lent(ev)) {
			err = attach_lent(s, i);
			continue;
		}
		for (size_t j = 0; !err && j < ev->n; j++)
			err = seam_kernel_attach(s->kernel, ev->fds[j],
						 (uint32_t)i);
	}
	return err ? seam_fail(reterr, err, "an event cannot be attached (%s)",
			       strerror(-err))
		   : 0;
}

static int on_synth(void *ctx, const struct perf_event_header *record)
{
	struct seam_session *s = ctx;

	s->client.on_record(s->client.ctx, s->start_ns, record);
	return seam_processes_follow(&s->processes, s->start_ns, record);
}

struct synth_ctx {
	const struct seam_synth *sy;
	struct seam_errinfo *reterr;
	int err;
};

static void synth_followed(void *ctx, uint64_t pid, void *value)
{
	struct synth_ctx *c = ctx;
	int err = seam_synth_process(c->sy, (uint32_t)pid);

	(void)value;
	if (!err || err == -ESRCH || c->err)
		return;
	c->err = err;
	if (err == -EACCES || err == -EPERM)
		seam_fail(c->reterr, err,
			  "process %" PRIu64 ": its mappings may not be read "
			  "(%s): it is another user's or guards itself; "
			  "CAP_SYS_PTRACE may be missing",
			  pid, strerror(-err));
}

/* Whether any event may tell addresses of the kernel. */
static bool wants_kernel(const struct seam_session *s)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (!(s->events[i].asks & SEAM_ASK_NO_KERNEL))
			return true;
	return false;
}

/* Where the kernel is. Its own address is one of the kernel's. */
static int synth_kernel(struct seam_session *s, const struct seam_synth *sy)
{
	uint64_t start, end;

	if (!wants_kernel(s))
		return 0;
	if (!s->kernel || !seam_kernel_text(s->kernel, &start, &end))
		seam_synth_find_kernel(&start, &end);
	return seam_synth_kernel(sy, start, end);
}

/* What ran before the recording began. */
static int synthesize(struct seam_session *s, struct seam_errinfo *reterr)
{
	struct seam_synth sy = {
		.time_ns = s->start_ns,
		.id = seam_sideband_event(s->sideband)->ids[0],
		.fn = on_synth,
		.ctx = s,
	};
	struct synth_ctx ctx = {.sy = &sy, .reterr = reterr};
	int err = synth_kernel(s, &sy);

	if (err)
		return err;
	if (s->client.tasks == SEAM_TASKS_ALL || s->client.all)
		return seam_synth_all(&sy);
	seam_idmap_each(&s->followed.by_pid, synth_followed, &ctx);
	return ctx.err;
}

static int watch_targets(struct seam_session *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->client.n_ids; i++) {
		err = seam_kernel_watch(s->kernel, s->client.ids[i]);
		/* It has just ended, and perhaps another has its number. */
		if (seam_target_ended(&s->targets[i]))
			err = seam_kernel_unwatch(s->kernel, s->client.ids[i]);
	}
	if (!err && s->client.child)
		err = seam_kernel_watch_at_exec(s->kernel, s->client.child);
	return err;
}

/* Copies are unwound for whoever wants most of them. */
static uint32_t deepest(const struct seam_session *s)
{
	uint32_t depth = s->n_events && !s->lent ? 1 : s->client.max_frames;

	if (s->client.all)
		return SEAM_MAX_FRAMES;
	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].max_frames > depth)
			depth = s->events[i].max_frames;
	return depth;
}

/* One descriptor for both that may fill. */
static int join_fds(struct seam_session *s)
{
	struct epoll_event in = {.events = EPOLLIN};
	int fd;

	if (!s->payloads)
		return 0;
	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -errno;
	s->poll_fd = fd;
	if (epoll_ctl(fd, EPOLL_CTL_ADD, seam_kernel_poll_fd(s->kernel), &in) ||
	    epoll_ctl(fd, EPOLL_CTL_ADD, seam_payloads_fd(s->payloads), &in))
		return -errno;
	return 0;
}

/* Who is told cookies with samples finds out by itself that no stack comes, but
 * not what the registers were; and of others' cookies it is told nothing. */
static int hear_losses(struct seam_session *s)
{
	const bool hears = s->client.registers || s->client.all;
	int err = 0;

	if (hears)
		err = seam_kernel_hear_losses(s->kernel);
	s->hears_losses |= hears && !err;
	return err;
}

/* A command that is yet to begin sleeps for us alone. */
static int load_slept(struct seam_session *s)
{
	if (s->client.child && s->client.tasks != SEAM_TASKS_ALL &&
	    !s->client.n_ids)
		return 0;
	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].is_sleep)
			return seam_kernel_load_slept(s->kernel);
	return 0;
}

static int start_bpf(struct seam_session *s, struct seam_errinfo *reterr)
{
	int err = join_fds(s);

	seam_kernel_want_regs(s->kernel, s->client.registers);
	seam_kernel_want_all(s->kernel, s->client.all);
	if (!err)
		err = hear_losses(s);
	if (!err)
		err = load_slept(s);
	if (!err)
		err = attach_events(s, reterr);
	if (!err)
		err = watch_targets(s);
	if (!err)
		err = seam_kernel_take_slept(s->kernel);
	for (size_t i = 0; !err && i < s->n_events; i++)
		err = seam_event_enable(&s->events[i], true);
	return err;
}

/* Those of whose end no record is written: the sideband was not on yet. */
static void note_ended(struct seam_session *s)
{
	for (size_t i = 0; i < s->n_targets; i++)
		s->targets[i].exited = seam_target_ended(&s->targets[i]);
}

static int start(struct seam_session *s, struct seam_errinfo *reterr)
{
	int err;

	if (!s->client.sz || s->worker)
		return seam_fail(reterr, -EINVAL,
				 s->worker ? "the session has been started"
					   : "the session has no client");
	err = seam_sideband_enable(s->sideband);
	note_ended(s);
	s->start_ns = seam_now_ns();
	if (!err)
		err = synthesize(s, reterr);
	if (!err && s->tables)
		err = seam_tables_begin(s->tables);
	if (!err && s->client.path && s->tables &&
	    s->methods & SEAM_UNWIND_TABLES)
		seam_tables_preload(s->tables, s->client.path);
	s->processes.hears_made =
		s->kernel && seam_kernel_hears_made(s->kernel);
	/* From here on processes, images and tables are the worker's. */
	if (!err)
		err = seam_worker_start(&s->processes, s->tables, s->methods,
					deepest(s), &s->worker);
	if (!err)
		err = s->kernel ? start_bpf(s, reterr) : seam_direct_start(s);
	s->running = !err;
	if (err && s->tables)
		seam_tables_end(s->tables); /* or nobody might answer */
	return err;
}

int seam_session_start(struct seam_session *s, struct seam_errinfo *reterr)
{
	struct seam_errinfo why = {0};
	int err = start(s, &why);

	if (err && !why.reason[0])
		return seam_fail(reterr, err, "starting the events failed (%s)",
				 strerror(-err));
	if (err && reterr)
		*reterr = why;
	return err;
}
