// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * request-cost EVENTS CLIENTS: what a request costs, the CLIENTS-th of so many
 * at each of EVENTS events, in each of which all ask for one stack. The first
 * schedules the unwind, the others join. Timed by the program that asks, and
 * by the kernel's statistics of BPF programs, beside a program at the same
 * events that does not ask. Prints
 *
 *	ASKS_NS EMPTY_NS TASK_NS REQUESTS BY_OTHERS STACKS
 *	ASKS_MEDIAN EMPTY_MEDIAN
 *
 * on one line: of one event, TASK_NS being CPU time of the program; how many
 * requests were made by this client, how many of its stacks another had
 * unwound, and how many it got. Root.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "request-cost.h"
#include "request-cost.skel.h"
#include "seam/lend.h"

#define MAX_CLIENTS 16
#define BURST 16

struct cost {
	struct request_cost *skel;
	struct seam_session *session;
	unsigned long n_stacks;
};

static int failed(const char *what, const char *reason)
{
	fprintf(stderr, "request-cost: %s: %s\n", what, reason);
	return -1;
}

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	struct cost *c = ctx;

	(void)stack;
	c->n_stacks++;
}

/* Joins those that were there before, behind them at the event. */
static int join(struct cost *c, uint32_t pid)
{
	const struct seam_session_opts session = {.sz = sizeof(session),
						  .table_memory = 64 << 20};
	const struct seam_client_opts opts = {.sz = sizeof(opts),
					      .name = "request-cost",
					      .max_frames = 127,
					      .tasks = SEAM_TASKS_PROCESSES,
					      .ids = &pid,
					      .n_ids = 1,
					      .on_stack = on_stack,
					      .ctx = c};
	struct seam_errinfo why = {0};
	int client;

	if (seam_session_open(&session, &c->session, &why) ||
	    seam_client_add(c->session, &opts, &why))
		return failed("session", why.reason);
	c->skel = request_cost__open();
	if (!c->skel)
		return failed("object", "cannot be opened");
	client = seam_session_lend(c->session, c->skel->obj, &why);
	if (client < 0)
		return failed("lend", why.reason);
	c->skel->rodata->client = (unsigned int)client;
	c->skel->rodata->pid = pid;
	if (request_cost__load(c->skel) || request_cost__attach(c->skel))
		return failed("object", "cannot be loaded");
	if (seam_session_start(c->session, &why))
		return failed("start", why.reason);
	return 0;
}

/* Until there is an end of what fd reads. */
static void work(struct cost *c, int fd)
{
	struct pollfd fds[] = {{seam_session_fd(c->session), POLLIN, 0},
			       {fd, POLLIN, 0}};

	while (!fds[1].revents) {
		poll(fds, 2, 100);
		seam_session_read(c->session);
	}
}

/* Its own end of the pipe is how it learns that we are gone. */
static int other(uint32_t pid, int ready, int end)
{
	struct cost c = {0};

	if (join(&c, pid) || write(ready, "r", 1) != 1)
		return 1;
	work(&c, end);
	request_cost__detach(c.skel);
	seam_session_stop(c.session);
	request_cost__destroy(c.skel);
	seam_session_close(c.session);
	return 0;
}

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Rests so that those who read have the CPU now and then. */
static int target(int go, int done, long events)
{
	const struct timespec rest = {.tv_nsec = 1000000};
	long long began, ns;
	char c;

	if (read(go, &c, 1) != 1)
		return 1;
	began = cpu_ns();
	for (long i = 0; i < events; i++) {
		prctl(PR_SET_NAME, "request-cost");
		if (i % BURST == BURST - 1)
			nanosleep(&rest, NULL);
	}
	ns = cpu_ns() - began;
	return write(done, &ns, sizeof(ns)) != sizeof(ns);
}

static double median_ns(const unsigned int calls[static COST_MAX_NS])
{
	unsigned long n = 0, below = 0;
	unsigned int ns;

	for (ns = 0; ns < COST_MAX_NS; ns++)
		n += calls[ns];
	for (ns = 0; ns < COST_MAX_NS; ns++) {
		below += calls[ns];
		if (2 * below >= n)
			break;
	}
	return ns;
}

static double cost_ns(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size) ||
	    !info.run_cnt)
		return 0;
	return (double)info.run_time_ns / (double)info.run_cnt;
}

static int measure(uint32_t pid, int go, int done, long events)
{
	struct seam_counts counts = {.sz = sizeof(counts)};
	struct cost c = {0};
	long long ns;
	int stats;

	if (join(&c, pid))
		return 1;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0 || write(go, "g", 1) != 1)
		return failed("statistics", strerror(-stats)) != 0;
	work(&c, done);
	if (read(done, &ns, sizeof(ns)) != sizeof(ns))
		return failed("program", "it did not get to its end") != 0;
	printf("%.1f %.1f %.1f", cost_ns(c.skel->progs.asks),
	       cost_ns(c.skel->progs.empty), (double)ns / (double)events);
	request_cost__detach(c.skel);
	seam_session_stop(c.session);
	seam_session_counts(c.session, &counts);
	printf(" %llu %llu %lu %.0f %.0f\n",
	       (unsigned long long)counts.requests,
	       (unsigned long long)counts.by_others, c.n_stacks,
	       median_ns(c.skel->bss->asks_ns),
	       median_ns(c.skel->bss->empty_ns));
	close(stats);
	request_cost__destroy(c.skel);
	seam_session_close(c.session);
	return 0;
}

int main(int argc, char **argv)
{
	long events = argc == 3 ? atol(argv[1]) : 0;
	int n = argc == 3 ? atoi(argv[2]) : 0, status = 0;
	int go[2], done[2], ready[2], end[2];
	pid_t pid;

	if (events < 1 || n < 1 || n > MAX_CLIENTS)
		return fprintf(stderr, "usage: %s EVENTS CLIENTS\n", argv[0]),
		       2;
	if (pipe(go) || pipe(done) || pipe(ready) || pipe(end))
		return 1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		close(end[1]);
		_exit(target(go[0], done[1], events));
	}
	close(done[1]);
	for (int i = 1; i < n; i++) {
		char c;

		if (!fork()) {
			close(go[1]);
			close(end[1]);
			_exit(other((uint32_t)pid, ready[1], end[0]));
		}
		if (read(ready[0], &c, 1) != 1)
			return 1;
	}
	status = measure((uint32_t)pid, go[1], done[0], events);
	close(go[1]);
	close(end[1]);
	while (wait(NULL) > 0)
		;
	return status;
}
