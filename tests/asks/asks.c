// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * asks PID [ROOM [PAGES [TYPE]]]: has BPF programs of each type ask for stacks
 * of a program, until that ends, and prints these; what it attaches to is in
 * asks.bpf.c, and the program's probed(), slept() and returned(). And what they
 * find themselves; ROOM: of so many stacks, which they leave there, or 0;
 * PAGES: of a session's buffer, or 0; TYPE: those of one type alone ask.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asks.h"
#include SKELETON
#include "seam/lend.h"
#include "stack.h"

static const char *const names[ASKS_TYPES] = {
	[ASKS_PERF_EVENT] = "perf_event",
	[ASKS_TRACEPOINT] = "tracepoint",
	[ASKS_RAW_TP] = "raw_tp",
	[ASKS_TP_BTF] = "tp_btf",
	[ASKS_FENTRY] = "fentry",
	[ASKS_FEXIT] = "fexit",
	[ASKS_UPROBE] = "uprobe",
	[ASKS_URETPROBE] = "uretprobe",
	[ASKS_UPROBE_S] = "uprobe.s",
	[ASKS_KPROBE] = "kprobe",
	[ASKS_IRQ] = "irq",
	[ASKS_NMI] = "nmi",
};
/* What this kernel has none of. */
static bool is_none[ASKS_TYPES];

static unsigned long long requests, n_found;

static int on_found(const struct found *found)
{
	n_found++;
	printf("found %#llx %s %u", found->cookie,
	       seam_err_name((int)found->end), found->nr);
	for (unsigned i = 0; i < found->nr && i < FOUND_IPS; i++)
		printf(" %#llx", found->ips[i]);
	putchar('\n');
	return 0;
}

static int on_ask(void *ctx, void *data, size_t size)
{
	const struct ask *ask = data;

	(void)ctx;
	if (size == sizeof(struct found))
		return on_found(data);
	requests++;
	printf("ask %s %u %#llx\n", names[ask->type], ask->tid, ask->cookie);
	return 0;
}

static int failed(const char *what, const struct seam_errinfo *info)
{
	fprintf(stderr, "%s: %s\n", what, info->reason);
	return 1;
}

static struct bpf_link *attach_perf(struct bpf_program *prog, int pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.freq = 1,
		.sample_freq = 999,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? NULL : bpf_program__attach_perf_event(prog, fd);
}

static struct bpf_link *attach_probe(struct bpf_program *prog, int pid,
				     const char *function, bool at_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = function,
		    .retprobe = at_return);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return bpf_program__attach_uprobe_opts(prog, pid, path, 0, &opts);
}

/* Whether a program at a function that does nothing can be had; so that what
 * ours cannot is not taken for what this kernel cannot. */
static bool has_fentry(const char *function)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K}, /* r0 = 0 */
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = BPF_TRACE_FENTRY);
	int id = libbpf_find_vmlinux_btf_id(function, BPF_TRACE_FENTRY);
	int fd, link;

	if (id < 0)
		return false;
	opts.attach_btf_id = (uint32_t)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", nothing, 2,
			   &opts);
	if (fd < 0)
		return false;
	link = bpf_raw_tracepoint_open(NULL, fd);
	if (link >= 0)
		close(link);
	close(fd);
	return link >= 0;
}

static void lack(enum asks_type type)
{
	is_none[type] = true;
	printf("none %s: %s\n", names[type], strerror(errno));
}

static void choose(struct asks *skel)
{
	if (!has_fentry("__x64_sys_getpgid")) {
		lack(ASKS_FENTRY);
		lack(ASKS_FEXIT);
	}
	if (access("/sys/bus/event_source/devices/kprobe", F_OK))
		lack(ASKS_KPROBE);
	bpf_program__set_autoload(skel->progs.of_fentry, !is_none[ASKS_FENTRY]);
	bpf_program__set_autoload(skel->progs.of_fexit, !is_none[ASKS_FEXIT]);
	bpf_program__set_autoload(skel->progs.of_kprobe, !is_none[ASKS_KPROBE]);
}

static int attach(struct asks *skel, int pid)
{
	struct bpf_link *links[ASKS_TYPES] = {0};
	int n_missing = 0;

	if (!is_none[ASKS_FENTRY]) {
		links[ASKS_FENTRY] = bpf_program__attach(skel->progs.of_fentry);
		links[ASKS_FEXIT] = bpf_program__attach(skel->progs.of_fexit);
	}
	if (!is_none[ASKS_KPROBE])
		links[ASKS_KPROBE] = bpf_program__attach(skel->progs.of_kprobe);
	links[ASKS_IRQ] = bpf_program__attach(skel->progs.of_irq);
	links[ASKS_NMI] = bpf_program__attach(skel->progs.of_nmi);
	links[ASKS_PERF_EVENT] = attach_perf(skel->progs.of_perf_event, pid);
	links[ASKS_TRACEPOINT] = bpf_program__attach(skel->progs.of_tracepoint);
	if (!bpf_program__attach(skel->progs.finds))
		return -errno;
	links[ASKS_RAW_TP] = bpf_program__attach(skel->progs.of_raw_tp);
	links[ASKS_TP_BTF] = bpf_program__attach(skel->progs.of_tp_btf);
	links[ASKS_UPROBE] =
		attach_probe(skel->progs.of_uprobe, pid, "probed", false);
	links[ASKS_URETPROBE] =
		attach_probe(skel->progs.of_uretprobe, pid, "returned", true);
	links[ASKS_UPROBE_S] =
		attach_probe(skel->progs.of_uprobe_s, pid, "slept", false);
	for (int i = 0; i < ASKS_TYPES; i++) {
		if (links[i] || is_none[i])
			continue;
		fprintf(stderr, "%s cannot be attached: %s\n", names[i],
			strerror(errno));
		n_missing++;
	}
	return n_missing;
}

#define LAST_SAID 2000

/* seam has libbpf say nothing, but what the kernel does not take of ours is to
 * be seen: the end of what the verifier says is the reason. */
static int complain(enum libbpf_print_level level, const char *format,
		    va_list args)
{
	char *said;
	int n;

	if (level != LIBBPF_WARN || vasprintf(&said, format, args) < 0)
		return 0;
	n = (int)strlen(said);
	fputs(said + (n > LAST_SAID ? n - LAST_SAID : 0), stderr);
	free(said);
	return n;
}

static int trace(struct seam_session *session, struct asks *skel, int pid)
{
	struct ring_buffer *asked = ring_buffer__new(
		bpf_map__fd(skel->maps.asked), on_ask, NULL, NULL);
	struct seam_errinfo info = {0};
	struct seam_counts counts = {.sz = sizeof(counts)};

	if (!asked || seam_session_start(session, &info))
		return failed("start", &info);
	if (attach(skel, pid))
		return 1;
	puts("ready");
	fflush(stdout);
	while (!kill(pid, 0)) {
		struct pollfd fd = {seam_session_fd(session), POLLIN, 0};

		poll(&fd, 1, 100);
		ring_buffer__consume(asked);
		seam_session_read(session);
	}
	asks__detach(skel);
	seam_session_stop(session);
	ring_buffer__consume(asked);
	seam_session_counts(session, &counts);
	printf("counts %llu asked, %llu in others, %llu without a stack to "
	       "come, "
	       "%llu seen, %llu unseen, %llu by others, %llu found, %llu not "
	       "kept, %llu lost, %llu untold\n",
	       (unsigned long long)counts.requests,
	       (unsigned long long)counts.requests_filtered,
	       (unsigned long long)counts.requests_none, requests,
	       skel->bss->lost_asks, (unsigned long long)counts.by_others,
	       n_found, (unsigned long long)counts.not_kept,
	       (unsigned long long)(counts.lost_stacks + counts.lost_copies),
	       (unsigned long long)counts.lost_untold);
	ring_buffer__free(asked);
	return 0;
}

/* ASKS_TYPES: it is none. */
static unsigned type_of(const char *name)
{
	unsigned i = 0;

	while (i < ASKS_TYPES && strcmp(name, names[i]))
		i++;
	return i;
}

int main(int argc, char **argv)
{
	uint32_t pid = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	uint32_t room = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	const struct seam_session_opts session_opts = {
		.sz = sizeof(session_opts),
		.table_memory = 256 << 20,
		.buffer_pages = argc > 3 ? (uint32_t)atoi(argv[3]) : 0};
	const struct seam_client_opts opts = {.sz = sizeof(opts),
					      .name = "asks",
					      .max_frames = 127,
					      .tasks = SEAM_TASKS_PROCESSES,
					      .ids = &pid,
					      .n_ids = 1,
					      .on_stack = on_stack};
	struct seam_errinfo info = {0};
	struct seam_session *session;
	struct asks *skel;
	int client, status;

	if (!pid)
		return fprintf(stderr, "usage: %s PID [ROOM [PAGES [TYPE]]]\n",
			       argv[0]),
		       2;
	if (seam_session_open(&session_opts, &session, &info) ||
	    seam_client_add(session, &opts, &info))
		return failed("session", &info);
	skel = asks__open();
	client = skel ? seam_session_lend(session, skel->obj, &info) : -ENOMEM;
	if (client < 0)
		return failed("lend", &info);
	skel->rodata->client = (unsigned int)client;
	skel->rodata->pid = pid;
	skel->bss->one_type = type_of(argc > 4 ? argv[4] : "");
	choose(skel);
	skel->rodata->deletes = !room;
	if (room)
		bpf_map__set_max_entries(skel->maps.stacks, room);
	libbpf_set_print(complain);
	if (asks__load(skel))
		return failed("cannot load", &info);
	if (seam_session_keep(session, skel->maps.asked, &info) != -EINVAL)
		return failed("a ring taken for a map of stacks", &info);
	if (seam_session_keep(session, skel->maps.stacks, &info))
		return failed("keep", &info);
	status = trace(session, skel, (int)pid);
	asks__destroy(skel);
	seam_session_close(session);
	return status;
}
