// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam record: samples tasks, writes perf.data, says what it got. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/processes.h"
#include "cli/record-merge.h"
#include "cli/record-options.h"
#include "cli/summary.h"
#include "record/recorder.h"

#define DRAIN_MS 100

struct recording {
	const struct record_options *opts;
	struct seam_recorder *recorder;
	struct child child;
	int signals; /* signalfd */
	sigset_t mask; /* of signals, as it was before */
	bool ends; /* a signal or the command's end said so */
	unsigned n_asked; /* how often signals asked for the end */
	bool child_ended;
	int child_wait;
	bool is_written; /* whole, whatever the command's status */
	uint64_t deadline_ns; /* 0: none */
	uint32_t *ids; /* of a command that runs already; NULL: none */
	size_t n_ids;
};

static int complain(const char *what, const char *why)
{
	say("seam: %s: %s\n", what, why);
	return 1;
}

/*
 * Blocks what ends a recording, so that it comes by a descriptor, and until
 * seam ends: the status of a recording that ended by itself is not changed by
 * a signal that comes too late for it. A signal that seam was started to
 * ignore, as by nohup, stays ignored: a blocked one would come all the same.
 * The command is there already, and has none of it.
 */
static int open_signals(struct recording *rec)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction was;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &was) &&
		    was.sa_handler != SIG_IGN)
			sigaddset(&set, ends[i]);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &rec->mask);
	signal(SIGCHLD, SIG_DFL); /* ignored, no child could be waited for */
	signal(SIGXFSZ, SIG_IGN); /* a file size limit is a write error */
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Two descriptors for each event and CPU are more than the usual limit on
 * a large machine. The command keeps the limit it was given. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Return: true if the recording is to end. */
static bool on_signals(struct recording *rec)
{
	struct signalfd_siginfo si;
	bool asked = false;

	/* What comes at once is one wish. */
	while (read(rec->signals, &si, sizeof(si)) == sizeof(si))
		if (si.ssi_signo != SIGCHLD)
			asked = true;
	rec->n_asked += asked;
	rec->ends |= asked;
	if (rec->child.pid > 0 && !rec->child_ended &&
	    waitpid(rec->child.pid, &rec->child_wait, WNOHANG) ==
		    rec->child.pid) {
		rec->child_ended = true;
		rec->ends = true;
	}
	return rec->ends;
}

/* A pipe takes nothing. The first signal ends the recording and leaves its
 * reader time for the rest, the second does not. */
static int on_wait(void *ctx)
{
	struct recording *rec = ctx;

	on_signals(rec);
	return rec->n_asked > 1 ? -ECANCELED : 0;
}

static int loop(struct recording *rec)
{
	struct pollfd fds[2] = {
		{.fd = rec->signals, .events = POLLIN},
		{.fd = seam_recorder_fd(rec->recorder), .events = POLLIN},
	};

	for (;;) {
		int err;

		if (poll(fds, 2, DRAIN_MS) < 0 && errno != EINTR)
			return -errno;
		if (on_signals(rec))
			return 0;
		err = seam_recorder_run(rec->recorder);
		if (err)
			return err;
		if (rec->deadline_ns && seam_now_ns() >= rec->deadline_ns)
			return 0;
		if (seam_recorder_targets_gone(rec->recorder))
			return 0;
	}
}

/* Why a command cannot be run, and what to do. */
static void complain_command(const char *name, int err)
{
	const char *advice = "";

	if (err == -ENOENT && strchr(name, '/'))
		advice = "; is the path right?";
	else if (err == -ENOENT)
		advice = "; give its path, or add its folder to PATH";
	else if (err == -EACCES)
		advice = "; it must be a program that you may run (chmod +x)";
	say("seam: %s: %s%s\n", name,
	    err == -ENOENT ? "no such command" : strerror(-err), advice);
}

static int start_child(struct recording *rec)
{
	char **argv = rec->opts->command;
	int err;

	if (!argv)
		return 0;
	err = child_start(&rec->child, argv,
			  record_to_stdout(rec->opts) ? STDERR_FILENO
						      : STDOUT_FILENO);
	if (err)
		complain_command(argv[0], err);
	return err;
}

static const char *output_name(const struct record_options *o)
{
	return record_to_stdout(o) ? "standard output" : o->output;
}

/* With -i of a process the threads that were found. */
static enum seam_tasks tasks_of(const struct record_options *o)
{
	return o->no_inherit && o->tasks == SEAM_TASKS_PROCESSES
		       ? SEAM_TASKS_THREADS
		       : o->tasks;
}

/* Return: as seam_recorder_open(). */
static int try_to_open(struct recording *rec, const uint32_t *ids, size_t n_ids,
		       struct seam_errinfo *reterr)
{
	const struct record_options *o = rec->opts;
	const struct seam_pd_wait wait = {rec->signals, on_wait, rec};
	/* A command beside -p says how long. */
	bool follows = o->command && !o->n_ids && !o->delay_ms;
	struct seam_recorder_opts opts = {
		.sz = sizeof(opts),
		.session = {.sz = sizeof(opts.session),
			    .table_memory = o->table_memory,
			    .tables_from = o->tables_from,
			    .stack_copy = o->stack_copy,
			    .buffer_pages = o->buffer_pages,
			    .engine = o->engine},
		.client = {.sz = sizeof(opts.client),
			   .name = "record",
			   .events = o->events,
			   .n_events = o->n_events,
			   .tasks = tasks_of(o),
			   .alone = o->no_inherit,
			   .ids = ids,
			   .n_ids = n_ids,
			   .child = follows ? (uint32_t)rec->child.pid : 0,
			   .path = follows ? rec->child.path : NULL,
			   .cpus = o->cpus,
			   .n_cpus = o->n_cpus,
			   .max_frames = o->max_stack,
			   .unwind = o->unwind},
		.stacks_only = o->stacks_only,
		.live = o->live,
		.output = o->output,
		.argv = o->argv,
		.argc = o->argc,
		.zstd_level = o->zstd_level,
		.wait = &wait,
	};

	return seam_recorder_open(&opts, &rec->recorder, reterr);
}

/* Nobody named the ones that -u, -D and -i found: of these, who has ended since
 * is not missed. */
static int open_found(struct recording *rec, uint32_t *ids, size_t n_ids,
		      struct seam_errinfo *reterr)
{
	int err;

	do {
		processes_drop_ended(ids, &n_ids);
		if (!n_ids) {
			snprintf(reterr->reason, sizeof(reterr->reason),
				 "none of the tasks that were found is left");
			return -ESRCH;
		}
		err = try_to_open(rec, ids, n_ids, reterr);
	} while (err == -ESRCH && processes_drop_ended(ids, &n_ids));
	return err;
}

/* With -i: as perf does it, the threads that processes have by now. */
static int find_threads(struct recording *rec, struct seam_errinfo *reterr)
{
	const struct record_options *o = rec->opts;
	int err = 0;

	if (!o->no_inherit || o->tasks != SEAM_TASKS_PROCESSES)
		return 0;
	for (size_t i = 0; !err && i < o->n_ids; i++) {
		err = processes_threads(o->ids[i], &rec->ids, &rec->n_ids);
		if (err == -ESRCH && o->by_user)
			err = 0;
		if (err == -ESRCH)
			snprintf(reterr->reason, sizeof(reterr->reason),
				 "there is no process %u; ps -e lists those "
				 "that run",
				 o->ids[i]);
	}
	return err;
}

static int open_targets(struct recording *rec, struct seam_errinfo *reterr)
{
	const struct record_options *o = rec->opts;
	int err = find_threads(rec, reterr);

	if (err)
		return err;
	if (rec->ids)
		return open_found(rec, rec->ids, rec->n_ids, reterr);
	if (o->by_user)
		return open_found(rec, o->ids, o->n_ids, reterr);
	return try_to_open(rec, o->ids, o->n_ids, reterr);
}

static int open_recorder(struct recording *rec)
{
	const struct record_options *o = rec->opts;
	struct seam_errinfo why = {0};
	int err = open_targets(rec, &why);

	if (!err)
		err = seam_recorder_start(rec->recorder, &why);
	if (err) {
		const char *where = why.where;

		if (!strcmp(where, "output"))
			where = output_name(o);
		say("seam: %s%s%s%s\n", where, where[0] ? ": " : "",
		    why.reason[0] ? why.reason : strerror(-err),
		    where == o->output ? "; name another with -o" : "");
	}
	return err;
}

static int exec_child(struct recording *rec)
{
	int err = rec->opts->command ? child_exec(&rec->child) : 0;

	if (err)
		complain_command(rec->opts->command[0], err);
	return err;
}

/* Unless it runs already. */
static int let_go(struct recording *rec)
{
	if (rec->opts->duration_s)
		rec->deadline_ns =
			seam_now_ns() + (uint64_t)(rec->opts->duration_s * 1e9);
	return rec->opts->delay_ms ? 0 : exec_child(rec);
}

/* The command runs for that long before anything is opened: it is then what -p
 * would name, with all that it has started. */
static int delay(struct recording *rec)
{
	const struct record_options *o = rec->opts;
	uint64_t end = seam_now_ns() + o->delay_ms * 1000000, now;
	struct pollfd fd = {.fd = rec->signals, .events = POLLIN};

	while (!on_signals(rec) && (now = seam_now_ns()) < end)
		poll(&fd, 1, (int)((end - now) / 1000000) + 1);
	if (rec->child_ended || rec->ends)
		return complain("-D", "the end came before the recording "
				      "began; nothing is written");
	if (!o->command || o->tasks == SEAM_TASKS_ALL || o->n_ids)
		return 0;
	if (o->no_inherit) { /* its first thread */
		rec->ids = malloc(sizeof(*rec->ids));
		if (!rec->ids)
			return complain("-D", strerror(ENOMEM));
		rec->ids[rec->n_ids++] = (uint32_t)rec->child.pid;
		return 0;
	}
	if (processes_below((uint32_t)rec->child.pid, &rec->ids, &rec->n_ids))
		return complain("-D", strerror(ENOMEM));
	return 0;
}

/* A command that outlives its recording is asked to end, as perf does. */
static int end_child(struct recording *rec)
{
	if (rec->child.pid <= 0)
		return 0;
	if (!rec->child_ended) {
		kill(rec->child.pid, SIGTERM);
		waitpid(rec->child.pid, &rec->child_wait, 0);
	}
	rec->child.pid = 0;
	return child_status(rec->child_wait);
}

/* One that runs already is not one that waits to. */
static void give_up_child(struct recording *rec)
{
	if (rec->child_ended || rec->child.go < 0)
		end_child(rec);
	child_abandon(&rec->child);
}

static const char *advice_on_writing(int err)
{
	if (err == -ENOSPC || err == -EDQUOT)
		return "; make room, or write elsewhere with -o";
	return err == -EFBIG ? "; raise the limit with ulimit -f" : "";
}

static const char *what_failed(int err)
{
	if (err == -ETIMEDOUT)
		return "a task was preempted as it told of a stack, and did "
		       "not run again: what came behind that is missing";
	return err == -ECANCELED ? "nobody reads it, and a second signal came"
				 : strerror(-err);
}

static int finish(struct recording *rec, int err)
{
	const struct record_options *o = rec->opts;
	struct message m = {0};
	struct seam_summary sum;
	int stop_err = seam_recorder_stop(rec->recorder, &sum);
	int status = end_child(rec);

	if (!err)
		err = stop_err;
	if (!o->quiet) {
		summary_print(&m, &sum, output_name(o));
		message_say(&m);
	}
	if (o->json_summary) {
		int json_err = summary_write_json(o->json_summary, &sum);

		if (json_err)
			status = complain(o->json_summary, strerror(-json_err));
	}
	if (err) {
		say("seam: %s: %s; what was recorded before is %s%s\n",
		    output_name(o), what_failed(err),
		    record_to_stdout(o) ? "out" : "kept",
		    advice_on_writing(err));
		return 1;
	}
	rec->is_written = true;
	return status;
}

/* The recorder is gone then, and a signal ends it as any program: what was
 * recorded is there, and merging may take its time. One that came before asked
 * for the end that has come. */
static int merge(struct recording *rec, int status)
{
	if (!rec->is_written || !rec->opts->merge)
		return status;
	on_signals(rec);
	sigprocmask(SIG_SETMASK, &rec->mask, NULL);
	return record_merge(rec->opts->output) ? 1 : status;
}

/* The status that a shell gives for a command that cannot be run. */
static int not_run(int err)
{
	return err == -ENOENT ? 127 : 126;
}

int cmd_record(int argc, char **argv)
{
	struct record_options opts;
	struct recording rec = {.opts = &opts};
	int status = record_options_parse(&opts, argc, argv), err;

	if (status >= 0)
		return status;
	err = start_child(&rec);
	if (err) {
		record_options_fini(&opts);
		return not_run(err);
	}
	raise_files();
	rec.signals = open_signals(&rec);
	if (rec.signals < 0)
		status = complain("signalfd", strerror(errno));
	else if (opts.delay_ms && (err = exec_child(&rec)))
		status = not_run(err);
	else if (opts.delay_ms && delay(&rec))
		status = 1;
	else if (open_recorder(&rec))
		status = 1;
	else if ((err = let_go(&rec)))
		status = not_run(err);
	else
		status = finish(&rec, loop(&rec));
	give_up_child(&rec);
	seam_recorder_close(rec.recorder);
	status = merge(&rec, status);
	close(rec.signals);
	free(rec.ids);
	record_options_fini(&opts);
	return status;
}
