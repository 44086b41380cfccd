// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * fp-walk HZ COMMAND...
 * Runs a command with a cpu-clock event whose program times the kernel's own
 * stack walks, and prints the sums as JSON on standard error.
 */
#include "bench/fp-walk.h"
#include "fp-walk.skel.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that runs the command once a byte can be read from go. */
static pid_t command_start(char **argv, int *ret_go)
{
	int go[2];
	char byte;
	pid_t pid;

	if (pipe(go))
		return -1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

static int event_open(pid_t pid, unsigned int hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
		.disabled = 1,
		.enable_on_exec = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static void print_sum(const struct fp_walk_sum *sum)
{
	fprintf(stderr,
		"{\"samples\": %" PRIu64 ", \"user_frames\": %" PRIu64
		", \"user_ns\": %" PRIu64 ", \"kernel_samples\": %" PRIu64
		", \"kernel_frames\": %" PRIu64 ", \"kernel_ns\": %" PRIu64
		", \"clock_ns\": %" PRIu64 "}\n",
		sum->samples, sum->user_frames, sum->user_ns,
		sum->kernel_samples, sum->kernel_frames, sum->kernel_ns,
		sum->clock_ns);
}

static int measure(struct fp_walk_bpf *skel, unsigned int hz, char **argv)
{
	struct bpf_link *link;
	int go = -1, event, status = -1;
	pid_t pid = command_start(argv, &go);

	if (pid < 0)
		return -errno;
	event = event_open(pid, hz);
	if (event < 0)
		return -errno;
	link = bpf_program__attach_perf_event(skel->progs.fp_walk, event);
	if (!link)
		return -errno;
	if (write(go, "", 1) != 1)
		return -errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	print_sum(&skel->bss->sum);
	bpf_link__destroy(link);
	return status ? -ECHILD : 0;
}

int main(int argc, char **argv)
{
	struct fp_walk_bpf *skel;
	int err;

	if (argc < 3) {
		fputs("usage: fp-walk HZ COMMAND...\n", stderr);
		return 2;
	}
	skel = fp_walk_bpf__open_and_load();
	if (!skel) {
		fprintf(stderr, "fp-walk: cannot load: %s\n", strerror(errno));
		return 1;
	}
	err = measure(skel, (unsigned int)atoi(argv[1]), argv + 2);
	fp_walk_bpf__destroy(skel);
	if (err)
		fprintf(stderr, "fp-walk: %s\n", strerror(-err));
	return err ? 1 : 0;
}
