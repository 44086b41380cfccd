// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The client of a session: the kernel side, the events and sideband of one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session-priv.h"
#include "event/fail.h"
#include "event/opts.h"
#include "event/order.h"
#include "event/tracepoint.h"
#include "event/unsure.h"
#include "process/target.h"

_Static_assert(SEAM_CLIENT_MAX_FRAMES == SEAM_MAX_FRAMES &&
		       SEAM_CLIENT_REGS == SEAM_WIRE_REGS &&
		       SEAM_CLIENT_MAX_EVENTS == SEAM_MAX_EVENTS,
	       "one limit each");

static int follow_targets(struct seam_session *s, struct seam_errinfo *reterr)
{
	s->followed.alone = s->client.alone;
	s->targets = calloc(s->client.n_ids + 1, sizeof(*s->targets));
	if (!s->targets)
		return -ENOMEM;
	for (size_t i = 0; i < s->client.n_ids; i++) {
		bool process = s->client.tasks == SEAM_TASKS_PROCESSES;
		uint32_t id = s->client.ids[i];
		struct seam_target *target = &s->targets[s->n_targets];
		int err = seam_target_open(id, !process, target);

		if (err && err != -ESRCH)
			return seam_fail(reterr, err,
					 "%s %u cannot be followed (%s)",
					 process ? "process" : "thread", id,
					 strerror(-err));
		if (err)
			return seam_fail(
				reterr, -ESRCH,
				"there is no %s %u; %s lists those that "
				"run",
				process ? "process" : "thread", id,
				process ? "ps -e" : "ps -eL");
		s->n_targets++;
		err = seam_followed_add(&s->followed, target->tgid);
		if (err)
			return err;
	}
	return s->client.child
		       ? seam_followed_add(&s->followed, s->client.child)
		       : 0;
}

/* One program sees tasks sleep, for one event. */
static int check_sleeps(const struct seam_session *s,
			struct seam_errinfo *reterr)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_events; i++) {
		n += s->events[i].is_sleep;
		if (n > 1)
			return seam_fail(reterr, -EINVAL,
					 "%s can be recorded once",
					 s->events[i].base);
	}
	return 0;
}

int seam_session_open_event(struct seam_session *s,
			    struct seam_event_direct *direct,
			    struct seam_errinfo *reterr)
{
	const struct seam_client_event *ev = &s->client.events[s->n_events];
	struct seam_event_spec spec = {
		.name = ev->name,
		.freq = ev->freq,
		.period = ev->period,
		.max_frames = s->client.max_frames,
		.stacks_only = s->client.stacks_only,
		.direct = direct,
		.cpus = s->client.cpus,
		.n_cpus = s->client.n_cpus,
	};
	int err = seam_event_open(&spec, &s->events[s->n_events], reterr);

	s->n_events += !err;
	return err;
}

static int open_events(struct seam_session *s, struct seam_errinfo *reterr)
{
	const struct seam_sideband_opts opts = {.pages = s->opts.buffer_pages};
	int err;

	for (size_t i = 0; i < s->client.n_events; i++) {
		err = seam_session_open_event(s, NULL, reterr);
		if (err)
			return err;
	}
	err = check_sleeps(s, reterr);
	return err ? err : seam_sideband_open(&opts, &s->sideband, reterr);
}

static int open_kernel(struct seam_session *s, struct seam_errinfo *reterr)
{
	static const enum seam_watch watch[] = {
		[SEAM_TASKS_ALL] = SEAM_WATCH_ALL,
		[SEAM_TASKS_PROCESSES] = SEAM_WATCH_TGID,
		[SEAM_TASKS_THREADS] = SEAM_WATCH_TID,
	};
	struct seam_kernel_entry entry;
	struct seam_kernel_opts opts = {
		.watch = watch[s->client.tasks],
		.watch_alone = s->client.alone,
		.stack_copy =
			s->opts.stack_copy ? s->opts.stack_copy : SEAM_MAX_COPY,
		.buffer_pages = s->opts.buffer_pages,
		.methods = s->methods,
		.tables_from = s->opts.tables_from,
		.request_depth = s->client.max_frames,
	};
	int err = 0;

	if (s->engine == SEAM_ENGINE_DEFERRED && seam_kernel_is_realtime(NULL))
		return seam_fail(reterr, -ENOTSUP,
				 "no engine deferred: " SEAM_REALTIME_WHY);
	if (s->engine == SEAM_ENGINE_IMMEDIATE) {
		/* Nobody else reads such a section, so it is not in memory, and
		 * an event cannot wait for it. */
		s->opts.tables_from = SEAM_TABLES_KERNEL;
		opts.tables_from = SEAM_TABLES_KERNEL;
		opts.at_once = &entry;
		err = seam_unsure_open(&entry, reterr);
	}
	if (err)
		return err;

	for (size_t i = 0; i < s->n_events; i++) {
		const struct seam_event *ev = &s->events[i];

		opts.asks[i] =
			(struct seam_event_ask){ev->max_frames, ev->asks};
		opts.tracepoints |= ev->is_tracepoint;
		opts.probes |= ev->is_probe;
		if (ev->is_tracepoint || ev->is_probe)
			opts.tracepoint_period[i] = ev->attr.sample_period;
		if (ev->is_tracepoint)
			opts.syscalls[i] = (uint32_t)(ev->syscall + 1);
		if (ev->is_sleep) {
			opts.sleeps = true;
			opts.sleep_event = (uint32_t)i;
		}
	}
	err = seam_kernel_open(&opts, &s->kernel, reterr);
	if (err)
		return err;
	seam_kernel_call(s->kernel, s->client.name);
	return seam_tables_open(s->kernel, &s->processes, &s->opts, &s->tables);
}

static int no_tracepoint(const char *name, struct seam_errinfo *reterr)
{
	struct seam_tracepoint tp;

	if (seam_tracepoint_read(name, &tp))
		return seam_fail(reterr, -ENOENT,
				 "this kernel has no tracepoint %s: those that "
				 "it has are in /sys/kernel/tracing/events",
				 name);
	seam_tracepoint_fini(&tp);
	return seam_fail(
		reterr, -ENOENT,
		"%s is of a system call whose number seam does not "
		"know, or has no raw tracepoint, which BPF programs need: "
		"--engine dump records it ('uprobe:' and 'uretprobe:' "
		"record places in programs)",
		name);
}

/* Whether there are tracepoints of system calls, but none of this one. */
static bool lacks_call(const struct seam_event *ev)
{
	struct seam_tracepoint tp;

	if (ev->syscall < 0 || seam_tracepoint_read(ev->base, &tp) != -ENOENT ||
	    seam_tracepoint_read("raw_syscalls:sys_enter", &tp))
		return false;
	seam_tracepoint_fini(&tp);
	return true;
}

/* Before anything is written of a recording that cannot be. */
static int try_tracepoints(struct seam_session *s, struct seam_errinfo *reterr)
{
	for (size_t i = 0; i < s->n_events; i++) {
		const struct seam_event *ev = &s->events[i];

		if (ev->is_tracepoint &&
		    (seam_kernel_try_tracepoint(s->kernel, ev->raw_name) ==
			     -ENOENT ||
		     lacks_call(ev)))
			return no_tracepoint(ev->base, reterr);
	}
	return 0;
}

/* A kernel that takes no BPF programs, or not ours: what auto goes on with. */
static int open_without_bpf(struct seam_session *s, struct seam_errinfo *reterr)
{
	s->payloads = seam_payloads_close(s->payloads);
	while (s->n_events)
		seam_event_close(&s->events[--s->n_events]);
	s->sideband = seam_sideband_close(s->sideband);
	s->engine = SEAM_ENGINE_DUMP;
	return seam_direct_open(s, reterr);
}

/* One that takes them, but not those of the best engine. */
static int open_next(struct seam_session *s, struct seam_errinfo *reterr)
{
	if (s->engine != SEAM_ENGINE_DEFERRED)
		return -ENOTSUP;
	s->engine = SEAM_ENGINE_IMMEDIATE;
	return open_kernel(s, reterr);
}

static int open_bpf(struct seam_session *s, struct seam_errinfo *reterr)
{
	struct seam_errinfo why = {0};
	int err = open_events(s, reterr);

	if (!err)
		err = seam_payloads_open(s->events, s->n_events,
					 s->opts.buffer_pages, &s->payloads,
					 reterr);
	if (err)
		return err;
	err = open_kernel(s, &why);
	if (err && !s->kernel && s->opts.engine == SEAM_ENGINE_AUTO &&
	    s->n_events) {
		snprintf(s->why, sizeof(s->why), "%.*s",
			 (int)sizeof(s->why) - 1,
			 why.reason[0] ? why.reason : strerror(-err));
		err = open_next(s, &why);
		if (err && !s->kernel)
			return open_without_bpf(s, reterr);
	}
	if (err && reterr)
		*reterr = why;
	return err ? err : try_tracepoints(s, reterr);
}

/* immediate cannot tell what such an event interrupted; and of AMD's (IBS) the
 * ip alone is the instruction's, the registers in a dump are of later. */
static bool can_be_precise(const struct seam_session *s)
{
	if (s->engine == SEAM_ENGINE_DUMP)
		return access("/sys/bus/event_source/devices/ibs_op", F_OK);
	return s->engine != SEAM_ENGINE_IMMEDIATE;
}

/* What the engine that it came to cannot do. */
static int check_engine(const struct seam_session *s,
			struct seam_errinfo *reterr)
{
	if (!s->n_events && s->engine != SEAM_ENGINE_DEFERRED)
		return seam_fail(reterr, -ENOTSUP,
				 "BPF programs can ask for stacks with the "
				 "engine deferred alone ('seam doctor' says "
				 "what it needs)");
	if (s->client.all && s->engine != SEAM_ENGINE_DEFERRED)
		return seam_fail(reterr, -ENOTSUP,
				 "others' stacks come with the engine deferred "
				 "alone ('seam doctor' says what it needs)");
	if (s->client.stacks_only && s->engine != SEAM_ENGINE_DEFERRED)
		return seam_fail(reterr, -ENOTSUP,
				 "stacks alone take the engine deferred, since "
				 "others have one for each event ('seam "
				 "doctor' says what it needs)");
	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].max_frames && !s->theirs.on_stack)
			return seam_fail(reterr, -EINVAL,
					 "%s: it wants user stacks, and the "
					 "client has no on_stack",
					 s->events[i].name);
	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].attr.precise_ip && !can_be_precise(s))
			return seam_fail(reterr, -ENOTSUP,
					 "%s: the engine %s takes no precise "
					 "events here: of which moment the "
					 "registers are cannot be told",
					 s->events[i].name,
					 seam_engine_name(s->engine));
	return 0;
}

/* What a client had made. */
static void forget_client(struct seam_session *s)
{
	const struct seam_session_opts asked = s->asked;

	seam_worker_stop(s->worker);
	seam_tables_close(s->tables);
	/* BPF lets go of the events before they are closed. */
	seam_kernel_close(s->kernel);
	if (s->poll_fd)
		close(s->poll_fd);
	seam_payloads_close(s->payloads);
	for (size_t i = 0; i < s->n_events; i++)
		seam_event_close(&s->events[i]);
	seam_sideband_close(s->sideband);
	seam_direct_fini(&s->direct);
	seam_processes_fini(&s->processes);
	seam_images_fini(&s->images);
	seam_followed_fini(&s->followed);
	for (size_t i = 0; i < s->n_targets; i++)
		seam_target_close(&s->targets[i]);
	free(s->targets);
	seam_strip_fini(&s->strip);
	seam_batch_fini(&s->samples);
	seam_batch_fini(&s->copies);
	seam_batch_fini(&s->losses);
	seam_held_fini(&s->held);
	seam_awaited_fini(&s->awaited);
	free(s->found);
	*s = (struct seam_session){.asked = asked, .opts = asked};
	s->images.refused = &s->refused;
	s->processes.images = &s->images;
}

static int check_client(const struct seam_client_opts *opts,
			struct seam_errinfo *reterr)
{
	if (opts->n_events > SEAM_MAX_EVENTS ||
	    opts->max_frames > SEAM_MAX_FRAMES)
		return seam_fail(reterr, -EINVAL,
				 "a client has at most %d events and %d frames",
				 SEAM_MAX_EVENTS, SEAM_MAX_FRAMES);
	if ((opts->n_events && !opts->events) || (opts->n_ids && !opts->ids) ||
	    (opts->n_cpus && !opts->cpus))
		return seam_fail(reterr, -EINVAL,
				 "a client's events, ids or CPUs are NULL");
	if (opts->tasks > SEAM_TASKS_THREADS)
		return seam_fail(reterr, -EINVAL,
				 "a client's tasks are all, processes or "
				 "threads");
	if (opts->n_events && !opts->on_sample)
		return seam_fail(reterr, -EINVAL,
				 "a client that has events needs on_sample");
	if (!opts->on_stack &&
	    (opts->max_frames || opts->all || !opts->n_events))
		return seam_fail(reterr, -EINVAL,
				 "a client that wants user stacks needs "
				 "on_stack");
	if (!opts->n_events && !opts->max_frames && !opts->all)
		return seam_fail(reterr, -EINVAL,
				 "a client without events is there for stacks, "
				 "and needs max_frames");
	return 0;
}

int seam_client_add(struct seam_session *s, const struct seam_client_opts *from,
		    struct seam_errinfo *reterr)
{
	struct seam_client_opts client, *opts = &client;
	const char *wrong, *order;
	int err;

	if (s->client.sz)
		return seam_fail(reterr, -EBUSY,
				 "a session has one client: remove it, or open "
				 "another session");
	err = seam_opts_take(&client, sizeof(client), from,
			     "struct seam_client_opts", reterr);
	if (!err)
		err = check_client(&client, reterr);
	if (err)
		return err;
	order = opts->unwind ? opts->unwind : SEAM_DEFAULT_ORDER;
	wrong = seam_order_parse(order, &s->methods);
	if (wrong)
		return seam_fail(reterr, -EINVAL, "unwind '%s': %s", order,
				 wrong);
	s->found = calloc(SEAM_MAX_FRAMES, 1);
	if (!s->found)
		return -ENOMEM;
	seam_session_deliver_to(s, opts);
	s->engine = s->opts.engine;
	if (s->engine == SEAM_ENGINE_AUTO)
		s->engine = seam_engine_choose(s->why, sizeof(s->why));
	err = follow_targets(s, reterr);
	if (!err)
		err = seam_engine_is_direct(s->engine)
			      ? seam_direct_open(s, reterr)
			      : open_bpf(s, reterr);
	s->awaited.at_once = s->engine == SEAM_ENGINE_IMMEDIATE;
	if (!err)
		err = check_engine(s, reterr);
	if (err)
		forget_client(s);
	return err;
}

int seam_client_remove(struct seam_session *s)
{
	int err;

	if (!s->client.sz)
		return -ENOENT;
	err = seam_session_stop(s);
	forget_client(s);
	return err;
}
