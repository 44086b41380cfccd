// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Prints a process' slow system calls, each with its stack: latency PID MS */
#include <bpf/libbpf.h>
#include <stdlib.h>

#include "latency.skel.h"
#include "seam/lend.h"

static struct latency *skel;

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	uint64_t ns = 0;

	bpf_map__lookup_and_delete_elem(skel->maps.took, &stack->cookie, 8, &ns,
					sizeof(ns), 0);
	printf("%u: %.3f ms\n", stack->tid, (double)ns / 1e6);
	seam_stack_print(stdout, stack);
}

int main(int argc, char **argv)
{
	uint32_t pid = argc == 3 ? (uint32_t)atoi(argv[1]) : 0;
	struct seam_client_opts opts = {.sz = sizeof(opts), .name = "latency"};

	skel = pid ? latency__open() : NULL;
	if (!skel)
		return fprintf(stderr, "usage: %s PID MS\n", argv[0]), 2;
	skel->rodata->pid = pid;
	skel->rodata->slow_ns = (uint64_t)(atof(argv[2]) * 1e6);
	opts.max_frames = 127;
	opts.tasks = SEAM_TASKS_PROCESSES;
	opts.ids = &pid;
	opts.n_ids = 1;
	opts.on_stack = on_stack;
	return seam_tool_run(skel->skeleton, &opts, &skel->rodata->client);
}
