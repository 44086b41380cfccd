// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * wakes PID MODE [PARENT]: has BPF programs ask for stacks of a process'
 * threads that are not the current task, and prints what they were told and the
 * stacks, until that process ends or there is a signal. MODE is of wakes.h.
 */
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "seam/lend.h"
#include "stack.h"
#include "wakes.h"
#include SKELETON

static const char *const modes[WAKES_MODES] = {
	[WAKES_WAKEUP] = "wakeup",
	[WAKES_BOTH] = "both",
	[WAKES_NEXT] = "next",
	[WAKES_KICK] = "kick",
};

static int on_wake(void *ctx, void *data, size_t size)
{
	const struct wake *wake = data;

	(void)ctx;
	(void)size;
	printf("%s %u %#llx\n", wake->what == WAKES_ASLEEP ? "asleep" : "awake",
	       wake->tid, wake->cookie);
	return 0;
}

static int print_wakes(struct wakes *skel)
{
	struct ring_buffer *ring = ring_buffer__new(
		bpf_map__fd(skel->maps.asked), on_wake, NULL, NULL);

	if (!ring || ring_buffer__consume(ring) < 0)
		return 1;
	ring_buffer__free(ring);
	printf("unseen %llu\n", skel->bss->lost_asks);
	return 0;
}

static void on_signal(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	uint32_t pid = argc > 2 ? (uint32_t)atoi(argv[1]) : 0;
	struct seam_client_opts opts = {.sz = sizeof(opts),
					.name = "wakes",
					.max_frames = 127,
					.tasks = SEAM_TASKS_PROCESSES,
					.ids = &pid,
					.n_ids = 1,
					.on_stack = on_stack};
	struct wakes *skel = pid ? wakes__open() : NULL;
	unsigned mode = 0;
	int status;

	while (skel && mode < WAKES_MODES && strcmp(argv[2], modes[mode]))
		mode++;
	if (!skel || mode == WAKES_MODES)
		return fprintf(stderr, "usage: %s PID MODE [PARENT]\n",
			       argv[0]),
		       2;
	signal(SIGINT, on_signal);
	skel->rodata->pid = pid;
	skel->bss->mode = mode;
	skel->rodata->parent = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	status = seam_tool_run(skel->skeleton, &opts, &skel->rodata->client);
	if (print_wakes(skel))
		status = 1;
	wakes__destroy(skel);
	return status;
}
