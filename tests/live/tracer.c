// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * tracer PID SECONDS KIND...
 * Several sessions in one process, each with a client of its kind, that trace
 * the same process by <seam/tracer.h>. Says what their callbacks were given;
 * tracer.py judges. polls: one that waits by its descriptor alone, and then by
 * seam_session_run, until it has killed the process. itself: one that traces
 * the system calls of its own process. loses ENGINE: one with small buffers
 * that it reads when it is told so alone; loses-all: likewise, of others'
 * stacks.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "seam/tracer.h"

#define MAX_CLIENTS 8
#define RSP 7
#define RIP 16

static uint32_t pid;
static const struct seam_client_event event = {.name = "task:task_rename",
					       .period = 1};
static const struct seam_client_event exec = {
	.name = "sched:sched_process_exec", .period = 1};
static const struct seam_client_event user_exec = {
	.name = "sched:sched_process_exec:u", .period = 1};
static const struct seam_client_event call = {.name = "raw_syscalls:sys_enter",
					      .period = 1};

struct client {
	const char *kind;
	struct seam_session *session;
};

static void on_sample(void *ctx, const struct seam_sample *s)
{
	const struct client *c = ctx;

	printf("%s sample %" PRIx64 " %" PRIx64 " %s\n", c->kind, s->cookie,
	       s->user ? s->ip : s->user_ip,
	       s->cookie ? "-" : seam_err_name(s->end));
}

static void on_stack(void *ctx, const struct seam_user_stack *s)
{
	const struct client *c = ctx;

	if (s->pid != pid)
		return;
	printf("%s stack %" PRIx64 " %s %" PRIx64 " %" PRIx64, c->kind,
	       s->cookie, seam_err_name(s->end), s->regs ? s->regs[RIP] : 0,
	       s->regs ? s->regs[RSP] : 0);
	for (size_t i = 0; i < s->n_ips; i++)
		printf(" %" PRIx64, s->ips[i]);
	putchar('\n');
}

static int fail(const struct client *c, const char *what, int err,
		const struct seam_errinfo *info)
{
	fprintf(stderr, "%s: %s: %d %s\n", c->kind, what, err, info->reason);
	return 1;
}

static int add(struct client *c)
{
	struct seam_client_opts opts = {.sz = sizeof(opts),
					.name = c->kind,
					.events = &event,
					.n_events = 1,
					.tasks = SEAM_TASKS_PROCESSES,
					.ids = &pid,
					.n_ids = 1,
					.max_frames = 64,
					.on_sample = on_sample,
					.on_stack = on_stack,
					.ctx = c};
	struct seam_errinfo info = {0};
	const char *why = "", *alone;
	int err;

	if (!strcmp(c->kind, "deep") || !strcmp(c->kind, "loses"))
		opts.registers = true;
	if (!strcmp(c->kind, "execs"))
		opts.events = &exec;
	if (!strcmp(c->kind, "user-execs"))
		opts.events = &user_exec;
	if (!strcmp(c->kind, "shallow")) {
		opts.max_frames = 2;
		opts.tasks = SEAM_TASKS_THREADS;
	}
	if (!strcmp(c->kind, "order"))
		opts.unwind = "fp";
	if (!strcmp(c->kind, "none"))
		opts.max_frames = 0;
	if (!strcmp(c->kind, "all") || !strcmp(c->kind, "all-and-events")) {
		opts.all = true;
		opts.max_frames = 0;
	}
	if (!strcmp(c->kind, "itself")) {
		opts.events = &call;
		opts.stacks_only = true; /* others' calls fill payloads */
	}
	if (!strcmp(c->kind, "loses-all"))
		opts.all = true;
	if (!strcmp(c->kind, "all") || !strcmp(c->kind, "loses-all"))
		opts.n_events = 0;
	err = seam_client_add(c->session, &opts, &info);
	if (err)
		return fail(c, "add", err, &info);
	alone = seam_session_alone(c->session);
	printf("%s engine %s %s\n", c->kind,
	       seam_session_engine(c->session, &why) == SEAM_ENGINE_DEFERRED
		       ? "deferred"
		       : why,
	       alone ? alone : "shares");
	return 0;
}

/* When all are there, since who has begun has to be read. */
static int start(const struct client *c)
{
	struct seam_errinfo info = {0};
	int err = seam_session_start(c->session, &info);

	return err ? fail(c, "start", err, &info) : 0;
}

/* With a loop of its own, which waits for nothing else. Return: how often the
 * descriptor was readable, which the first of two small buffers makes it when a
 * quarter of it is full. */
static int await_often(struct seam_session *s)
{
	int loop = epoll_create1(EPOLL_CLOEXEC), n = 0;
	struct epoll_event ev = {.events = EPOLLIN};

	if (epoll_ctl(loop, EPOLL_CTL_ADD, seam_session_fd(s), &ev))
		return -1;
	while (n < 3 && epoll_wait(loop, &ev, 1, -1) == 1) {
		if (seam_session_read(s))
			return -1;
		n++;
	}
	close(loop);
	return n;
}

static int poll_only(struct client *c)
{
	const struct seam_session_opts opts = {.sz = sizeof(opts),
					       .buffer_pages = 1};
	int n, over, gone;

	if (seam_session_open(&opts, &c->session, NULL) || add(c))
		return 1;
	if (seam_session_run(c->session, 0) != -EINVAL || start(c))
		return 1;
	n = await_often(c->session);
	over = seam_session_run(c->session, 200);
	kill((pid_t)pid, SIGKILL);
	gone = seam_session_run(c->session, -1);
	seam_session_close(c->session);
	printf("polls %d %d %d\n", n, over, gone);
	return 0;
}

static void *make_calls(void *arg)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	for (;;)
		nanosleep(&ms, NULL);
	return arg;
}

#define READINGS 40

/* A buffer of a page, of which the calls between two readings are more than a
 * quarter. Tables are asked for at first, which is urgent. */
static int trace_itself(struct client *c)
{
	const struct seam_session_opts opts = {.sz = sizeof(opts),
					       .buffer_pages = 1};
	struct seam_counts began = {.sz = sizeof(began)}, ended = began;
	pthread_t thread;
	int n = 0;

	pid = (uint32_t)getpid();
	if (pthread_create(&thread, NULL, make_calls, NULL) ||
	    seam_session_open(&opts, &c->session, NULL) || add(c) || start(c))
		return 1;
	for (int i = -READINGS; i < READINGS; i++) {
		struct pollfd fd = {seam_session_fd(c->session), POLLIN, 0};

		if (!i)
			seam_session_counts(c->session, &began);
		n += poll(&fd, 1, 100) > 0 && i >= 0;
		seam_session_read(c->session);
	}
	seam_session_counts(c->session, &ended);
	seam_session_close(c->session);
	printf("itself %d of %d, %" PRIu64 "\n", n, READINGS,
	       ended.watched - began.watched);
	return 0;
}

/* Of each line of its input: reads, and says so. */
static int lose(struct client *c, const char *engine)
{
	struct seam_session_opts opts = {.sz = sizeof(opts), .buffer_pages = 1};
	struct seam_counts counts = {.sz = sizeof(counts)};
	char line[16];

	opts.engine = strcmp(engine, "immediate") ? SEAM_ENGINE_DEFERRED
						  : SEAM_ENGINE_IMMEDIATE;
	if (seam_session_open(&opts, &c->session, NULL) || add(c) || start(c))
		return 1;
	for (;;) {
		puts("loses read");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			break;
		if (seam_session_read(c->session))
			return 1;
	}
	if (seam_session_stop(c->session) ||
	    seam_session_counts(c->session, &counts))
		return 1;
	printf("loses counts %" PRIu64 " %" PRIu64 "\n",
	       counts.lost_stacks + counts.lost_copies, counts.lost_untold);
	seam_session_close(c->session);
	return 0;
}

static void run(struct client *clients, int n, double seconds)
{
	struct pollfd fds[MAX_CLIENTS];
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	do {
		for (int i = 0; i < n; i++)
			fds[i] = (struct pollfd){
				seam_session_fd(clients[i].session), POLLIN, 0};
		poll(fds, (nfds_t)n, 100);
		for (int i = 0; i < n; i++)
			seam_session_read(clients[i].session);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

int main(int argc, char **argv)
{
	const struct seam_session_opts opts = {.sz = sizeof(opts)};
	struct client clients[MAX_CLIENTS];
	int n = argc - 3, err = 0;

	if (n < 1 || n > MAX_CLIENTS)
		return 2;
	pid = (uint32_t)atoi(argv[1]);
	clients[0] = (struct client){.kind = argv[3]};
	if (!strcmp(argv[3], "polls"))
		return poll_only(clients);
	if (!strcmp(argv[3], "itself"))
		return trace_itself(clients);
	if (!strncmp(argv[3], "loses", strlen("loses")))
		return lose(clients, argv[4] ? argv[4] : "");
	for (int i = 0; i < n && !err; i++) {
		clients[i] = (struct client){.kind = argv[3 + i]};
		err = seam_session_open(&opts, &clients[i].session, NULL);
		if (!err)
			err = add(&clients[i]);
	}
	for (int i = 0; i < n && !err; i++)
		err = start(&clients[i]);
	if (err)
		return 1;
	run(clients, n, atof(argv[2]));
	/* Who was last begins once more. */
	if (seam_client_remove(clients[n - 1].session) ||
	    add(&clients[n - 1]) || start(&clients[n - 1]))
		return 1;
	run(clients, n, atof(argv[2]));
	for (int i = n - 1; i >= 0; i--) {
		struct seam_counts c = {.sz = sizeof(c)};

		seam_session_stop(clients[i].session);
		seam_session_counts(clients[i].session, &c);
		printf("%s counts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		       "\n",
		       clients[i].kind, c.unwinds, c.by_others, c.lost_stacks,
		       c.samples);
		seam_session_close(clients[i].session);
	}
	return 0;
}
