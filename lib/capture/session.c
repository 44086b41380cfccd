// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A session: it is opened, stopped and closed, and says what it has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/session-priv.h"
#include "event/fail.h"
#include "event/opts.h"
#include "process/target.h"

#define USUAL_TABLE_MEMORY (512ULL << 20)

static int check_opts(const struct seam_session_opts *opts,
		      struct seam_errinfo *reterr)
{
	if (!seam_engine_name(opts->engine))
		return seam_fail(reterr, -EINVAL,
				 "bad session options: there is no such "
				 "engine");
	if (opts->tables_from > SEAM_TABLES_MAPPED)
		return seam_fail(reterr, -EINVAL,
				 "bad session options: tables are auto, kernel "
				 "or mapped");
	if (opts->stack_copy > SEAM_MAX_COPY)
		return seam_fail(reterr, -EINVAL,
				 "bad session options: a stack copy has at "
				 "most %d bytes",
				 SEAM_MAX_COPY);
	if (opts->buffer_pages & (opts->buffer_pages - 1) ||
	    opts->buffer_pages > SEAM_SESSION_MAX_PAGES)
		return seam_fail(reterr, -EINVAL,
				 "bad session options: a buffer's pages are a "
				 "power of two, at most %u",
				 SEAM_SESSION_MAX_PAGES);
	return 0;
}

int seam_session_open(const struct seam_session_opts *opts,
		      struct seam_session **ret, struct seam_errinfo *reterr)
{
	struct seam_session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	err = seam_opts_take(&s->opts, sizeof(s->opts), opts,
			     "struct seam_session_opts", reterr);
	if (!err)
		err = check_opts(&s->opts, reterr);
	if (err) {
		free(s);
		return err;
	}
	if (!s->opts.table_memory)
		s->opts.table_memory = USUAL_TABLE_MEMORY;
	s->asked = s->opts;
	s->images.refused = &s->refused;
	s->processes.images = &s->images;
	*ret = s;
	return 0;
}

enum seam_engine seam_session_engine(const struct seam_session *s,
				     const char **why)
{
	if (why)
		*why = s->why;
	return s->engine;
}

const char *seam_session_alone(const struct seam_session *s)
{
	const char *why = NULL;

	if (s->kernel)
		seam_kernel_others(s->kernel, &why);
	return why;
}

void seam_session_others(const struct seam_session *s, char *ret, size_t size)
{
	if (size)
		ret[0] = 0;
	if (size && s->kernel)
		seam_kernel_names(s->kernel, ret, size);
}

/* A thread's exec may have given it its process's number, under which it is
 * watched from then on; a perf event stays with it, and only a thread that ends
 * has a record that says so. Where records were lost, that may be one. */
static bool target_gone(const struct seam_session *s,
			const struct seam_target *target)
{
	if (!seam_target_ended(target))
		return false;
	if (seam_target_process_ended(target))
		return true;
	return s->kernel ? !seam_kernel_is_watched(s->kernel, target->tgid)
			 : target->exited || seam_direct_lost_any(s);
}

bool seam_session_targets_gone(const struct seam_session *s)
{
	for (size_t i = 0; i < s->n_targets; i++)
		if (!target_gone(s, &s->targets[i]))
			return false;
	return s->n_targets;
}

/* Deferred stacks of tasks that run are on their way: a moment. */
static void await_deferred(void)
{
	struct timespec ts = {.tv_nsec = 5000000};

	nanosleep(&ts, NULL);
}

static int stop_direct(struct seam_session *s)
{
	if (s->engine == SEAM_ENGINE_NATIVE)
		await_deferred();
	return seam_session_read(s);
}

#define HELD_UP_TRIES 2000

/* What is there, and what will be when who was preempted as it wrote runs
 * again. Not what comes since: others' execs and exits go on. */
static int read_held_up(struct seam_session *s)
{
	const struct seam_kernel_put put = seam_kernel_put(s->kernel);
	int err = 0;

	for (int i = 0; !err && !seam_kernel_all_taken(s->kernel, &put); i++) {
		if (i == HELD_UP_TRIES)
			return -ETIMEDOUT;
		if (i)
			await_deferred();
		err = seam_session_read(s);
	}
	return err;
}

static int stop_bpf(struct seam_session *s)
{
	int err, read_err = 0;

	/* Tracepoints cannot be disabled. */
	seam_kernel_detach(s->kernel);
	seam_kernel_want_all(s->kernel, false);
	err = seam_session_read(s);
	if (!err) {
		await_deferred();
		err = seam_session_read(s);
	}
	if (!err) {
		err = seam_kernel_take_sleepers(s->kernel);
		/* What has come is there whatever became of these. */
		read_err = seam_session_read(s);
		if (!read_err)
			read_err = read_held_up(s);
	}
	return err ? err : read_err;
}

int seam_session_stop(struct seam_session *s)
{
	int err = 0, read_err, deliver_err;

	if (!s->running)
		return 0;
	s->running = false;
	for (size_t i = 0; i < s->n_events; i++)
		seam_event_enable(&s->events[i], false);
	err = s->kernel ? stop_bpf(s) : stop_direct(s);
	/* And what the worker still has. */
	seam_worker_wait(s->worker);
	read_err = seam_session_read(s);
	if (!err)
		err = read_err;
	if (!s->kernel)
		seam_direct_end(s);
	deliver_err = seam_session_deliver(s, true);
	if (!err)
		err = deliver_err;
	/* What is written from here on may take any time. */
	if (s->tables)
		seam_tables_end(s->tables);
	return err;
}

uint64_t seam_session_refused(struct seam_session *s,
			      struct seam_refused ret[SEAM_REFUSED_NAMED])
{
	memcpy(ret, s->refused.files, sizeof(s->refused.files));
	return s->refused.n;
}

int seam_session_fd(const struct seam_session *s)
{
	if (!s->client.sz)
		return -EINVAL;
	if (s->poll_fd)
		return s->poll_fd;
	return s->kernel ? seam_kernel_poll_fd(s->kernel)
			 : seam_sideband_fd(s->sideband);
}

int seam_session_event(const struct seam_session *s, size_t i,
		       struct seam_event_info *ret)
{
	const struct seam_event *ev = i < s->n_events ? &s->events[i] : NULL;
	struct seam_event_info info = {.sz = sizeof(info)};

	if (i == s->n_events && s->sideband)
		ev = seam_sideband_event(s->sideband);
	if (!ev)
		return -ENOENT;
	info.attr = &ev->attr;
	info.name = ev->name;
	info.base = ev->base;
	info.ids = ev->ids;
	info.n_ids = ev->n;
	info.format = ev->tracepoint.format;
	info.payload_size = ev->tracepoint.size;
	info.payload_refused = ev->payload_refused;
	info.why_clock = ev->why_clock;
	return seam_opts_give(ret, &info, sizeof(info));
}

struct seam_session *seam_session_close(struct seam_session *s)
{
	if (!s)
		return NULL;
	seam_client_remove(s);
	free(s);
	return NULL;
}
