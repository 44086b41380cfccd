/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "kernel/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "event/native.h"
#include "event/sideband.h"
#include "event/unsure.h"
#include "kernel/engine.h"
#include "kernel/kernel-btf.h"
#include "kernel/kernel.h"
#include "kernel/share.h"
#include "table/table.h"

/* Newer than the headers of Debian 12. */
#define ARENA_MAP 33
#define ARENA_FLAGS 0x400 /* BPF_F_MMAPABLE */

static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(buf, (int)size, f);

	if (f)
		fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

static int read_setting(const char *path)
{
	char line[32];

	return read_line(path, line, sizeof(line)) ? atoi(line) : -1000;
}

static void gather_system(struct seam_probe_facts *f)
{
	struct utsname u;

	f->is_realtime = seam_kernel_is_realtime(NULL);
	if (uname(&u))
		return;
	snprintf(f->machine, sizeof(f->machine), "%.15s", u.machine);
	snprintf(f->release, sizeof(f->release), "%s", u.release);
	if (sscanf(u.release, "%u.%u", &f->major, &f->minor) != 2)
		f->major = f->minor = 0;
}

static void gather_rights(struct seam_probe_facts *f)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {0};
	unsigned from, to, count;
	struct rlimit limit;
	char line[80];

	f->is_root = geteuid() == 0;
	/* The initial one maps every id to itself. */
	if (read_line("/proc/self/uid_map", line, sizeof(line)))
		f->in_user_ns =
			sscanf(line, "%u %u %u", &from, &to, &count) == 3 &&
			(from || to || count != UINT32_MAX);
	if (!syscall(SYS_capget, &head, data))
		f->caps = data[0].effective | (uint64_t)data[1].effective << 32;
	if (!getrlimit(RLIMIT_MEMLOCK, &limit))
		f->memlock = limit.rlim_cur;
}

/* "none [integrity] confidentiality": the one in force is in brackets. */
static void gather_lockdown(struct seam_probe_facts *f)
{
	char line[80], *from, *to;

	if (!read_line("/sys/kernel/security/lockdown", line, sizeof(line)))
		return;
	from = strchr(line, '[');
	to = from ? strchr(from, ']') : NULL;
	if (!to)
		return;
	*to = '\0';
	if (strcmp(from + 1, "none"))
		snprintf(f->lockdown, sizeof(f->lockdown), "%s", from + 1);
}

static void gather_btf(struct seam_probe_facts *f)
{
	struct seam_kernel_facts facts;

	f->btf_rc = seam_kernel_ask_btf(&facts);
	if (!f->btf_rc)
		f->task_work = facts.task_work;
}

static void gather_bpf(struct seam_probe_facts *f)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = ARENA_FLAGS);
	int rc;

	rc = bpf_map_create(ARENA_MAP, "seam_probe", 0, 0, 1, &opts);
	f->arena_rc = rc < 0 ? rc : 0;
	if (rc >= 0)
		close(rc);
}

static int try_event(struct perf_event_attr *attr, int pid, int cpu)
{
	long fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1,
		     PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static void gather_events(struct seam_probe_facts *f)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
	};
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
	};

	f->cycles_rc = try_event(&attr, 0, -1);
	f->clock_rc = try_event(&clock, -1, 0);
	attr = clock;
	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1; /* or 7.3 refuses it */
	f->own_clock_rc = try_event(&attr, 0, -1);
	f->defer_rc = seam_native_probe();
	attr = clock;
	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	attr.exclude_callchain_user = 1;
	attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.sample_regs_user = 0xff0fff; /* all of x86-64's */
	attr.sample_stack_user = 8192;
	f->dump_rc = try_event(&attr, 0, -1);
}

/* Opening one names its range, which /proc/self/maps knows. */
static int open_map_file(void)
{
	char line[512], path[128];
	unsigned long start, end;
	int fd = -1, rc = -ENOENT;
	FILE *maps;

	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strchr(line, '/') ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx",
			 start, end);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		rc = fd < 0 ? -errno : 0;
		break;
	}
	if (fd >= 0)
		close(fd);
	if (maps)
		fclose(maps);
	return rc;
}

static int load(const struct seam_kernel_entry *at_once,
		struct seam_errinfo *reterr)
{
	const struct seam_kernel_opts opts = {
		.watch = SEAM_WATCH_TGID,
		.asks = {{.depth = 512}},
		.stack_copy = 65536,
		.at_once = at_once,
		.alone = true,
		.every_program = true,
	};
	struct seam_kernel *kernel;
	int rc = seam_kernel_open(&opts, &kernel, reterr);

	if (!rc)
		seam_kernel_close(kernel);
	return rc;
}

/* The surest answer: load what any recording loads. */
static void gather_load(struct seam_probe_facts *f)
{
	struct seam_errinfo err = {0}, at_once_err = {0};
	struct seam_kernel_entry entry;

	f->load_rc = load(NULL, &err);
	snprintf(f->load_reason, sizeof(f->load_reason), "%s", err.reason);
	f->at_once_rc = seam_unsure_open(&entry, &at_once_err);
	if (!f->at_once_rc)
		f->at_once_rc = load(&entry, &at_once_err);
	snprintf(f->at_once_reason, sizeof(f->at_once_reason), "%s",
		 at_once_err.reason);
}

/* The buffers that a recording opens. Without rights to its events their
 * lack says it all. */
static void gather_buffers(struct seam_probe_facts *f)
{
	struct seam_errinfo err = {0};
	struct seam_sideband *sb;

	if (f->clock_rc)
		return;
	f->buffers_rc =
		seam_sideband_open(&(struct seam_sideband_opts){0}, &sb, &err);
	if (!f->buffers_rc)
		seam_sideband_close(sb);
	snprintf(f->buffers_reason, sizeof(f->buffers_reason), "%s",
		 err.reason);
}

static bool is_kallsyms_shown(void)
{
	char line[128];

	return read_line("/proc/kallsyms", line, sizeof(line)) &&
	       strtoull(line, NULL, 16);
}

static int open_cache(void)
{
	struct seam_table_cache *cache;
	int rc = seam_table_cache_open(NULL, &cache);

	if (!rc)
		seam_table_cache_close(cache);
	return rc;
}

static void gather_clients(struct seam_probe_facts *f)
{
	struct seam_share_list list;
	size_t at = 0;

	if (seam_share_list(&list))
		return;
	f->clients = list.n;
	f->client_groups = list.n_groups;
	for (uint32_t i = 0; i < list.n; i++) {
		int n = snprintf(f->client_pids + at,
				 sizeof(f->client_pids) - at, "%s%u",
				 i ? " " : "", list.clients[i].pid);

		if (n < 0 || (size_t)n >= sizeof(f->client_pids) - at)
			break;
		at += (size_t)n;
	}
	f->client_pids[at] = '\0'; /* no number cut short */
}

static int be_quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

void seam_probe_gather(struct seam_probe_facts *ret)
{
	libbpf_print_fn_t print = libbpf_set_print(be_quiet);
	const int saved_errno = errno;
	const char *urls = getenv("DEBUGINFOD_URLS");

	*ret = (struct seam_probe_facts){0};
	gather_system(ret);
	gather_rights(ret);
	gather_lockdown(ret);
	gather_btf(ret);
	gather_bpf(ret);
	gather_events(ret);
	gather_load(ret);
	gather_buffers(ret);
	ret->map_files_rc = open_map_file();
	ret->paranoid = read_setting("/proc/sys/kernel/perf_event_paranoid");
	ret->kptr_restrict = read_setting("/proc/sys/kernel/kptr_restrict");
	ret->kallsyms_shown = is_kallsyms_shown();
	ret->cache_rc = open_cache();
	gather_clients(ret);
	ret->has_debug_files = !access("/usr/lib/debug/.build-id", R_OK);
	ret->has_debuginfod = urls && urls[0];
	libbpf_set_print(print);
	errno = saved_errno;
}
