// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Prints the slow system calls of a process, each with its whole stack.
 *
 *	clang -target bpf -O2 -g -c slow-calls.bpf.c -o alone.o
 *	bpftool gen object slow-calls.o alone.o /usr/lib/seam/seam-request.bpf.o
 *	bpftool gen skeleton slow-calls.o name slow_calls > slow-calls.skel.h
 *	cc -O2 slow-calls.c -lseam -lbpf && ./a.out PID MS
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>

#include "seam/lend.h"
#include "slow-calls.h"
#include "slow-calls.skel.h"

#define MAX_WAITING 4096

static struct ring_buffer *calls;
static struct call waiting[MAX_WAITING]; /* for their stacks */
static unsigned int n_waiting, n_slow, n_none, n_lost;

static int on_call(void *ctx, void *data, size_t size)
{
	const struct call *call = data;

	n_slow++;
	if (!call->cookie)
		n_none++;
	else if (n_waiting < MAX_WAITING)
		waiting[n_waiting++] = *call;
	else
		n_lost++;
	return 0;
}

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	/* What asked for it was written before it, if its task goes on. */
	ring_buffer__consume(calls);
	for (unsigned int i = 0; i < n_waiting; i++) {
		const struct call *call = &waiting[i];

		if (call->cookie != stack->cookie)
			continue;
		printf("%u: call %u (%#llx, %#llx, %#llx) took %.3f ms, "
		       "cookie %#llx\n",
		       call->tid, call->nr, call->args[0], call->args[1],
		       call->args[2], (double)call->took_ns / 1e6,
		       call->cookie);
		for (size_t f = 0; f < stack->n_ips; f++)
			printf("\t%#llx\n", (unsigned long long)stack->ips[f]);
		printf("\t%s\n", seam_err_name(stack->end));
		waiting[i--] = waiting[--n_waiting];
	}
}

static int failed(const char *what, const struct seam_errinfo *info)
{
	fprintf(stderr, "%s: %s\n", what, info->reason);
	return 1;
}

int main(int argc, char **argv)
{
	uint32_t pid = argc == 3 ? (uint32_t)atoi(argv[1]) : 0;
	const struct seam_session_opts session_opts = {
		.sz = sizeof(session_opts), .table_memory = 256 << 20};
	const struct seam_client_opts opts = {.sz = sizeof(opts),
					      .name = "slow-calls",
					      .max_frames = 127,
					      .tasks = SEAM_TASKS_PROCESSES,
					      .ids = &pid,
					      .n_ids = 1,
					      .on_stack = on_stack};
	struct seam_errinfo info = {0};
	struct seam_session *session;
	struct seam_counts counts = {.sz = sizeof(counts)};
	struct slow_calls *skel;
	int client;

	if (!pid)
		return fprintf(stderr, "usage: %s PID MS\n", argv[0]), 2;
	if (seam_session_open(&session_opts, &session, &info) ||
	    seam_client_add(session, &opts, &info))
		return failed("session", &info);
	skel = slow_calls__open();
	if (!skel)
		return failed("cannot open the object", &info);
	client = seam_session_lend(session, skel->obj, &info);
	if (client < 0)
		return failed("lend", &info);
	skel->rodata->client = (unsigned int)client;
	skel->rodata->pid = pid;
	skel->rodata->slow_ns = (unsigned long long)(atof(argv[2]) * 1e6);
	if (slow_calls__load(skel) || slow_calls__attach(skel))
		return failed("cannot load", &info);
	calls = ring_buffer__new(bpf_map__fd(skel->maps.calls), on_call, NULL,
				 NULL);
	if (!calls || seam_session_start(session, &info))
		return failed("start", &info);
	fprintf(stderr, "ready\n");
	seam_session_run(session, -1); /* until the process has ended */
	slow_calls__detach(skel);
	seam_session_stop(session);
	ring_buffer__consume(calls);
	seam_session_counts(session, &counts);
	fprintf(stderr,
		"%u slow calls, %llu not seen: %llu asked, %u without a stack "
		"to come, %u whose stack was lost; %llu unwinds, %llu stacks "
		"by others\n",
		n_slow, skel->bss->lost_calls,
		(unsigned long long)counts.requests, n_none, n_waiting + n_lost,
		(unsigned long long)counts.unwinds,
		(unsigned long long)counts.by_others);
	ring_buffer__free(calls);
	slow_calls__destroy(skel);
	seam_session_close(session);
	return 0;
}
