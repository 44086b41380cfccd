// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Where the programs are attached: those that follow tasks once, those of
 * events one by one. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel-priv.h"

/*
 * By hand, since libbpf 1.1 gives raw tracepoints no cookie. The layout of
 * the kernel's union bpf_attr for BPF_RAW_TRACEPOINT_OPEN, Linux 6.10.
 */
static int raw_tracepoint_open(const char *name, int prog_fd, uint64_t cookie)
{
	struct {
		uint64_t name;
		uint32_t prog_fd, pad;
		uint64_t cookie;
	} attr = {
		.name = (uint64_t)(uintptr_t)name,
		.prog_fd = (uint32_t)prog_fd,
		.cookie = cookie,
	};
	long fd =
		syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/* Programs at raw tracepoints that are no event's; first ones first, too. */
static int attach_raw(struct seam_kernel *k)
{
	const struct {
		const struct bpf_program *prog;
		const char *name;
		uint64_t what; /* enum seam_raw_what */
	} raw[RAW_PROGRAMS] = {
		{k->skel->progs.seam_exec, "sched_prepare_exec", SEAM_RAW_EXEC},
		{k->skel->progs.seam_exit, "sched_process_exit", SEAM_RAW_EXIT},
		{k->skel->progs.seam_expired, "hrtimer_expire_exit",
		 SEAM_RAW_TICK},
		{k->skel->progs.seam_exec_again, "sched_prepare_exec",
		 SEAM_RAW_EXEC},
		{k->skel->progs.seam_exit_again, "sched_process_exit",
		 SEAM_RAW_EXIT},
	};

	for (size_t i = 0; i < RAW_PROGRAMS; i++) {
		int fd;

		if (!bpf_program__autoload(raw[i].prog))
			continue;
		fd = raw_tracepoint_open(
			raw[i].name, bpf_program__fd(raw[i].prog), raw[i].what);
		if (fd < 0)
			return fd;
		k->raw[k->n_raw++] = fd;
	}
	return 0;
}

void seam_kernel_followers(const struct seam_kernel *k, bool again,
			   struct bpf_program *ret[static FOLLOWERS])
{
	struct bpf_program *const progs[2][FOLLOWERS] = {
		{k->skel->progs.seam_exec, k->skel->progs.seam_exit,
		 k->skel->progs.seam_fork, k->skel->progs.seam_exec_done,
		 k->skel->progs.seam_free, k->skel->progs.seam_prctl},
		{k->skel->progs.seam_exec_again, k->skel->progs.seam_exit_again,
		 k->skel->progs.seam_fork_again,
		 k->skel->progs.seam_exec_done_again,
		 k->skel->progs.seam_free_again,
		 k->skel->progs.seam_prctl_again},
	};

	memcpy(ret, progs[again], sizeof(progs[again]));
}

/* Who came first is called first, which the second programs of again.h go by.
 */
int seam_kernel_attach_tasks(struct seam_kernel *k)
{
	struct bpf_program *progs[TASK_PROGRAMS] = {
		k->skel->progs.seam_expiry,
		k->skel->progs.seam_exit_signals,
	};

	seam_kernel_followers(k, false, progs + TASK_PROGRAMS - 2 * FOLLOWERS);
	seam_kernel_followers(k, true, progs + TASK_PROGRAMS - FOLLOWERS);
	for (size_t i = 0; i < TASK_PROGRAMS; i++) {
		struct bpf_link *link;

		/* Raw ones are below. */
		if (!bpf_program__autoload(progs[i]) ||
		    bpf_program__type(progs[i]) == BPF_PROG_TYPE_RAW_TRACEPOINT)
			continue;
		link = bpf_program__attach(progs[i]);
		if (!link)
			return -errno;
		k->links[k->n_links++] = link;
	}
	return attach_raw(k);
}

/* Takes fd, which is closed in any case. */
static int keep_fd(struct seam_kernel *k, int fd)
{
	int *fds = realloc(k->attached, (k->n_attached + 1) * sizeof(*fds));

	if (!fds) {
		close(fd);
		return -ENOMEM;
	}
	k->attached = fds;
	fds[k->n_attached++] = fd;
	return 0;
}

static int attach_to(struct seam_kernel *k, const struct bpf_program *prog,
		     int perf_fd, uint32_t event)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .perf_event.bpf_cookie = k->event_tag | event);
	/* libbpf's own attachment would enable the event now, and close the
	 * caller's descriptor in the end. */
	int fd = bpf_link_create(bpf_program__fd(prog), perf_fd, BPF_PERF_EVENT,
				 &opts);

	return fd < 0 ? fd : keep_fd(k, fd);
}

int seam_kernel_attach(struct seam_kernel *k, int perf_fd, uint32_t event)
{
	return attach_to(k, k->skel->progs.seam_event, perf_fd, event);
}

int seam_kernel_attach_probe(struct seam_kernel *k, int perf_fd, uint32_t event)
{
	return attach_to(k, k->skel->progs.seam_uprobe, perf_fd, event);
}

int seam_kernel_try_tracepoint(struct seam_kernel *k, const char *name)
{
	int fd = raw_tracepoint_open(
		name, bpf_program__fd(k->skel->progs.seam_no_tracepoint), 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int seam_kernel_attach_tracepoint(struct seam_kernel *k, const char *name,
				  uint32_t event)
{
	int fd = raw_tracepoint_open(
		name, bpf_program__fd(k->skel->progs.seam_tracepoint),
		k->event_tag | event);

	return fd < 0 ? fd : keep_fd(k, fd);
}

int seam_kernel_attach_sleeps(struct seam_kernel *k)
{
	int fd = raw_tracepoint_open(
		"sched_switch", bpf_program__fd(k->skel->progs.seam_switch),
		SEAM_RAW_SLEEP);

	return fd < 0 ? fd : keep_fd(k, fd);
}

/* Where they may be preempted, one may be at its sample yet, for as long as its
 * task waits. They are readers of RCU's, for which this call waits. */
static void await_programs(const struct seam_kernel *k)
{
	if (k->skel->rodata_seam->seam_follow_again)
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

void seam_kernel_detach(struct seam_kernel *k)
{
	if (!k->n_attached)
		return;
	while (k->n_attached)
		close(k->attached[--k->n_attached]);
	await_programs(k);
}
