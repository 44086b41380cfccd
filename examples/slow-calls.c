// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Prints the slow system calls of a process, each with its whole stack.
 *
 *	clang -target bpf -O2 -g -c slow-calls.bpf.c -o alone.o \
 *		$(pkg-config --cflags seam) \
 *		-idirafter /usr/include/$(gcc -print-multiarch)
 *	bpftool gen object slow-calls.o alone.o \
 *		"$(pkg-config --variable=request_object seam)"
 *	bpftool gen skeleton slow-calls.o name slow_calls > slow-calls.skel.h
 *	cc -O2 slow-calls.c $(pkg-config --cflags --libs seam libbpf)
 *	./a.out PID MS
 *
 * -idirafter: Debian has <asm/types.h> there, which clang does not look through
 * for BPF.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>

#include "seam/lend.h"
#include "slow-calls.h"
#include "slow-calls.skel.h"

static struct slow_calls *skel;

/* For each cookie that the programs were given. */
static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	struct call call;

	if (bpf_map__lookup_and_delete_elem(skel->maps.calls, &stack->cookie, 8,
					    &call, sizeof(call), 0))
		printf("%u: a call that is not in the map", stack->tid);
	else
		printf("%u: call %u (%#llx, %#llx, %#llx) took %.3f ms",
		       stack->tid, call.nr, call.args[0], call.args[1],
		       call.args[2], (double)call.took_ns / 1e6);
	printf(", cookie %#llx\n", (unsigned long long)stack->cookie);
	seam_stack_print(stdout, stack);
}

int main(int argc, char **argv)
{
	uint32_t pid = argc == 3 ? (uint32_t)atoi(argv[1]) : 0;
	const struct seam_client_opts opts = {.sz = sizeof(opts),
					      .name = "slow-calls",
					      .max_frames = 127,
					      .tasks = SEAM_TASKS_PROCESSES,
					      .ids = &pid,
					      .n_ids = 1,
					      .on_stack = on_stack};
	struct seam_errinfo info = {0};
	struct seam_session *session;
	int client;

	if (!pid)
		return fprintf(stderr, "usage: %s PID MS\n", argv[0]), 2;
	skel = slow_calls__open();
	client = seam_session_open_for(skel ? skel->obj : NULL, &opts, &session,
				       &info);
	if (client >= 0) {
		skel->rodata->client = (unsigned int)client;
		skel->rodata->pid = pid;
		skel->rodata->slow_ns = (uint64_t)(atof(argv[2]) * 1e6);
	}
	if (client < 0 || slow_calls__load(skel) || slow_calls__attach(skel) ||
	    seam_session_start(session, &info))
		return fprintf(stderr, "slow-calls: %s\n",
			       info.reason[0] ? info.reason : strerror(errno)),
		       1;
	fprintf(stderr, "ready\n");
	seam_session_run(session, -1); /* until the process has ended */
	slow_calls__detach(skel);
	seam_session_stop(session);
	seam_requests_print(stderr, session);
	slow_calls__destroy(skel);
	seam_session_close(session);
	return 0;
}
