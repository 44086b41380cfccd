// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Opening, starting and counting; direct-read.c has the samples. */
#include "capture/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "capture/session-priv.h"
#include "core/cookie.h"
#include "event/fail.h"

/* As the kernel has it: less than 64 KiB, in 8-byte steps. */
#define STACK_COPY_MAX 65528
/* Of cc1plus, whose stacks are deep, 0.3 % are longer; every sample takes so
 * much of the buffer, however short its stack is. */
#define STACK_COPY_USUAL 32768

/* In both by its number: a list of /proc may lack it while others end. */
static int add_thread(struct seam_session *s, uint32_t tid)
{
	int err = seam_scope_add(&s->direct.processes, tid);

	return err ? err : seam_scope_add(&s->direct.ask.scope, tid);
}

static int fill_scopes(struct seam_session *s)
{
	struct seam_scope *sampled = &s->direct.ask.scope;
	struct seam_scope *processes = &s->direct.processes;
	int err = 0;

	if (s->client.tasks == SEAM_TASKS_ALL)
		return 0;
	sampled->alone = processes->alone = s->client.alone;
	sampled->threads = s->client.tasks == SEAM_TASKS_PROCESSES;
	processes->threads = true; /* which map for all of their process */
	for (size_t i = 0; !err && i < s->n_targets; i++) {
		/* What other threads map is mapped for all. */
		err = seam_scope_add_process(processes, s->targets[i].tgid);
		if (!err && s->client.tasks == SEAM_TASKS_THREADS)
			err = add_thread(s, s->client.ids[i]);
		else if (!err)
			err = seam_scope_add_process(sampled,
						     s->targets[i].tgid);
		if (err == -ESRCH) /* it has ended since it was opened */
			err = 0;
	}
	if (!err && s->client.child) {
		err = seam_scope_add(processes, s->client.child);
		if (!err)
			err = seam_scope_add(sampled, s->client.child);
		sampled->on_exec = processes->on_exec = true;
	}
	return err;
}

/* The kernel's own deferral, or a line that says where it is. */
static int prepare_native(struct seam_session *s, struct seam_errinfo *reterr)
{
	if (seam_native_probe() == -EINVAL)
		return seam_fail(reterr, -ENOTSUP,
				 "engine native: this kernel does not defer "
				 "callchains; boot Linux 6.19 or later, or "
				 "take another engine ('seam doctor' says "
				 "which work)");
	s->direct.ask.defers = true;
	return seam_native_init(&s->direct.native, &s->client);
}

static int prepare_dump(struct seam_session *s)
{
	uint32_t copy =
		s->opts.stack_copy ? s->opts.stack_copy : STACK_COPY_USUAL;

	if (copy > STACK_COPY_MAX)
		copy = STACK_COPY_MAX;
	s->direct.ask.stack_copy = copy & ~7u;
	/* Where the kernel hides its addresses, it is not known. */
	s->direct.doubt.is_known = !seam_kernel_code_here(
		&s->direct.doubt.entry, &s->direct.doubt.doors);
	s->direct.copy = malloc(sizeof(struct seam_wire_copy) + STACK_COPY_MAX);
	return s->direct.copy ? 0 : -ENOMEM;
}

static bool gets_other_rights(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if (stat(path, &st) || statvfs(path, &fs) || fs.f_flag & ST_NOSUID)
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	       (st.st_mode & S_ISGID && st.st_mode & S_IXGRP &&
		st.st_gid != getegid()) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Events of such a command end without a word at its exec, as its memory is
 * not for who runs it to see. */
static int check_command(const struct seam_session *s,
			 struct seam_errinfo *reterr)
{
	const char *path = s->client.path;
	const char *what = NULL;

	if (!s->client.child || !path || !geteuid())
		return 0;
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) && errno == EACCES)
		what = "one may not read";
	else if (gets_other_rights(path))
		what = "gets other rights than yours";
	return what ? seam_fail(reterr, -EACCES,
				"the kernel ends the events of a command that "
				"%s: " SEAM_TAKES_RIGHTS,
				what)
		    : 0;
}

int seam_direct_open(struct seam_session *s, struct seam_errinfo *reterr)
{
	struct seam_sideband_opts opts = {
		.pages = s->opts.buffer_pages,
		.scope = &s->direct.processes,
		.samples = true,
		.stacks = s->engine == SEAM_ENGINE_NATIVE,
	};
	int err = check_command(s, reterr);

	if (!err)
		err = opts.stacks ? prepare_native(s, reterr) : prepare_dump(s);
	/* Anywhere, so that other recordings have other cookies; but not where
	 * they would soon wrap. */
	if (!err && getrandom(&s->direct.cookies, sizeof(s->direct.cookies),
			      0) != sizeof(s->direct.cookies))
		err = -EIO;
	s->direct.cookies &= SEAM_COOKIE_COUNT_MASK >> 1;
	if (!err)
		err = fill_scopes(s);
	for (size_t i = 0; !err && i < s->client.n_events; i++)
		err = seam_session_open_event(s, &s->direct.ask, reterr);
	if (!err)
		err = seam_sideband_open(&opts, &s->sideband, reterr);
	for (size_t i = 0; !err && i < s->n_events; i++)
		err = seam_sideband_take(s->sideband, &s->events[i]);
	return err;
}

int seam_direct_start(struct seam_session *s)
{
	int err = 0;

	/* A command's own events begin by themselves, at its exec. */
	for (size_t i = 0; !err && i < s->n_events; i++)
		if (!s->direct.ask.scope.on_exec)
			err = seam_event_enable(&s->events[i], true);
	return err;
}

/* Of all events together. A clock's own count is the time that its tasks ran.
 */
static uint64_t expected(const struct seam_session *s, uint64_t *ret_lost)
{
	uint64_t total = 0;

	for (size_t i = 0; i < s->n_events; i++) {
		uint64_t n = seam_event_counted(&s->events[i], ret_lost);

		total = n == SEAM_UNKNOWN || total == SEAM_UNKNOWN
				? SEAM_UNKNOWN
				: total + n;
	}
	return total;
}

/* Where the kernel defers, its events count what they lost: the sideband's
 * deferred stacks together with records of processes. */
static void set_lost(const struct seam_session *s, struct seam_counts *ret)
{
	uint64_t all = s->direct.lost_records;

	ret->expected = expected(s, &ret->lost_samples);
	ret->expected_watched = ret->expected;
	if (s->direct.ask.defers) {
		seam_event_counted(seam_sideband_event(s->sideband),
				   &ret->lost_records);
		return;
	}
	/* Before Linux 6.0 events do not count theirs, and what records say
	 * comes when there is room again, if it comes. */
	if (s->sideband)
		seam_event_counted(seam_sideband_event(s->sideband),
				   &ret->lost_sideband);
	if (!ret->lost_samples && !ret->lost_sideband)
		ret->lost_samples = all;
}

bool seam_direct_lost_any(const struct seam_session *s)
{
	uint64_t lost = 0;

	if (s->sideband)
		seam_event_counted(seam_sideband_event(s->sideband), &lost);
	return lost || s->direct.lost_records;
}

void seam_direct_end(struct seam_session *s)
{
	struct seam_counts c = {0};

	if (!s->direct.ask.defers)
		return;
	set_lost(s, &c);
	seam_native_end(&s->direct.native, c.lost_samples + c.lost_records >
						   s->direct.lost_records);
}

void seam_direct_counts(const struct seam_session *s, struct seam_counts *ret)
{
	const struct seam_direct *d = &s->direct;
	struct seam_worker_stats w;

	seam_worker_stats(s->worker, &w);
	set_lost(s, ret);
	ret->events = d->events + ret->lost_samples;
	ret->watched = ret->events;
	ret->samples = d->samples;
	ret->wanted = d->wanted;
	ret->excluded = d->excluded;
	ret->unwinds = d->copies + d->native.stacks;
	ret->copies = d->copies;
	ret->copy_bytes = d->copy_bytes;
	ret->lost_copies = s->lost_waiting;
	ret->frames = w.frames + d->native.frames;
	ret->fp_frames = d->native.frames - d->native.stacks;
	/* The kernel does not tell. */
	ret->unwind_ns = d->ask.defers ? SEAM_UNKNOWN : w.unwind_ns;
	ret->images = w.images.n;
	ret->image_bytes = w.images.bytes;
	ret->image_bytes_max = w.images.bytes_max;
	ret->images_evicted = w.images.evicted;
	ret->images_gone = w.images.gone;
	ret->lost_payloads = d->lost_payloads;
	ret->payload_addresses = d->payload_addresses;
}

void seam_direct_fini(struct seam_direct *d)
{
	seam_scope_fini(&d->ask.scope);
	seam_scope_fini(&d->processes);
	seam_native_fini(&d->native);
	free(d->copy);
	free(d->payload);
	d->copy = d->payload = NULL;
}
