// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/event.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/fail.h"
#include "core/uapi.h"
#include "perfdata/writer.h"

/* The names perf uses, aliases included. */
static const struct known_event {
	const char *name;
	uint32_t type;
	uint64_t config;
} known_events[] = {
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", PERF_TYPE_SOFTWARE,
	 PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

int seam_perf_event_open(struct perf_event_attr *attr, int pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* "0-3,6" */
static int parse_cpus(const char *s, int *to, int max)
{
	int n = 0;

	while (isdigit((unsigned char)*s)) {
		char *end;
		long first = strtol(s, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long c = first; c <= last && n < max; c++)
			to[n++] = (int)c;
		s = *end == ',' ? end + 1 : end;
	}
	return n;
}

int seam_online_cpus(int **ret)
{
	long max = sysconf(_SC_NPROCESSORS_CONF);
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	char line[4096] = "";
	int *cpus, n = 0;

	if (!f)
		return -errno;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	cpus = calloc((size_t)(max > 0 ? max : 1), sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	n = parse_cpus(line, cpus, (int)max);
	if (n < 1) {
		free(cpus);
		return -ENODEV;
	}
	*ret = cpus;
	return n;
}

static bool has_pmu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = SEAM_ATTR_SIZE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
	};
	int fd = seam_perf_event_open(&attr, 0, -1);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static const struct known_event *find_known(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(known_events) / sizeof(known_events[0]);
	     i++)
		if (strlen(known_events[i].name) == len &&
		    !strncmp(known_events[i].name, name, len))
			return &known_events[i];
	return NULL;
}

static int set_name(const struct seam_event_spec *spec, struct seam_event *ev,
		    struct seam_errinfo *reterr)
{
	const struct known_event *known;
	const char *name = spec->name;
	size_t len;

	if (!name)
		name = has_pmu() ? "cycles" : "cpu-clock";
	len = strcspn(name, ":");
	known = find_known(name, len);
	if (known && name[len])
		return seam_fail(reterr, -EINVAL,
				 "'%.40s': seam has no modifiers yet; -e %s "
				 "samples user and kernel code",
				 name, known->name);
	if (known) {
		snprintf(ev->name, sizeof(ev->name), "%s", name);
		ev->attr.type = known->type;
		ev->attr.config = known->config;
		ev->is_clock = ev->attr.type == PERF_TYPE_SOFTWARE &&
			       ev->attr.config == PERF_COUNT_SW_CPU_CLOCK;
		return 0;
	}
	/* SUBSYSTEM:NAME. An event that counts nothing lends it its ids. */
	if (name[len] && strlen(name) < sizeof(ev->name)) {
		strcpy(ev->name, name);
		ev->is_tracepoint = true;
		ev->attr.type = PERF_TYPE_SOFTWARE;
		ev->attr.config = PERF_COUNT_SW_BPF_OUTPUT;
		return 0;
	}
	return seam_fail(reterr, -EINVAL,
			 "'%.40s' is no event that seam knows; 'seam record "
			 "--help' lists them",
			 name);
}

static void set_period(const struct seam_event_spec *spec,
		       struct seam_event *ev)
{
	struct perf_event_attr *attr = &ev->attr;

	attr->size = SEAM_ATTR_SIZE;
	attr->disabled = 1;
	attr->sample_type = SEAM_PD_SAMPLE_TYPE;
	/* BPF takes the stacks itself; with this the kernel would first. */
	attr->sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	/* With this a software event would fire at each, whatever -c says;
	 * BPF knows the period. */
	attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	attr->read_format = PERF_FORMAT_ID;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = 1; /* CLOCK_MONOTONIC, as bpf_ktime_get_ns */
	if (ev->is_clock) {
		/* The kernel turns a clock's frequency into a period too,
		 * but by jiffies of its own; this one we know. */
		ev->period_ns =
			spec->freq ? 1000000000 / spec->freq : spec->period;
		attr->sample_period = ev->period_ns;
	} else if (ev->is_tracepoint) {
		attr->sample_period = spec->period ? spec->period : 1;
	} else if (spec->freq) {
		attr->freq = 1;
		attr->sample_freq = spec->freq;
	} else {
		attr->sample_period = spec->period;
	}
}

/* Debian's kernels know 3, and have it by default: events are root's then,
 * whatever other capabilities say. */
static int fail_rights(const struct seam_event *ev, int err,
		       struct seam_errinfo *reterr)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int paranoid = 0;

	if (f) {
		if (fscanf(f, "%d", &paranoid) != 1)
			paranoid = 0;
		fclose(f);
	}
	if (paranoid > 2)
		return seam_fail(reterr, err,
				 "opening %s on every CPU is not permitted: "
				 "run as root, or with CAP_BPF, CAP_PERFMON "
				 "and kernel.perf_event_paranoid below 3",
				 ev->name);
	return seam_fail(reterr, err,
			 "opening %s on every CPU is not "
			 "permitted: " SEAM_TAKES_RIGHTS,
			 ev->name);
}

static int open_one(struct seam_event *ev, int cpu, struct seam_errinfo *reterr)
{
	int fd = seam_perf_event_open(&ev->attr, -1, cpu);
	uint64_t id;

	if (fd == -EACCES || fd == -EPERM)
		return fail_rights(ev, fd, reterr);
	if (fd == -ENOENT || fd == -EOPNOTSUPP || fd == -ENODEV)
		return seam_fail(reterr, fd,
				 "this machine cannot count %s; try -e "
				 "cpu-clock",
				 ev->name);
	if (fd < 0)
		return seam_fail(reterr, fd, "opening %s on CPU %d failed (%s)",
				 ev->name, cpu, strerror(-fd));
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id)) {
		int err = -errno;

		close(fd);
		return err;
	}
	ev->fds[ev->n] = fd;
	ev->ids[ev->n] = id;
	ev->cpus[ev->n] = cpu;
	ev->n++;
	return 0;
}

int seam_event_open(const struct seam_event_spec *spec, struct seam_event *ret,
		    struct seam_errinfo *reterr)
{
	struct seam_event ev = {0};
	int *cpus, n, err;

	err = set_name(spec, &ev, reterr);
	if (err)
		return err;
	set_period(spec, &ev);
	n = seam_online_cpus(&cpus);
	if (n < 0)
		return n;
	ev.fds = calloc((size_t)n, sizeof(*ev.fds));
	ev.ids = calloc((size_t)n, sizeof(*ev.ids));
	ev.cpus = calloc((size_t)n, sizeof(*ev.cpus));
	err = ev.fds && ev.ids && ev.cpus ? 0 : -ENOMEM;
	for (int i = 0; !err && i < n; i++)
		err = open_one(&ev, cpus[i], reterr);
	free(cpus);
	if (err) {
		seam_event_close(&ev);
		return err;
	}
	*ret = ev;
	return 0;
}

void seam_event_close(struct seam_event *ev)
{
	for (size_t i = 0; i < ev->n; i++)
		close(ev->fds[i]);
	free(ev->fds);
	free(ev->ids);
	free(ev->cpus);
	memset(ev, 0, sizeof(*ev));
}

int seam_event_enable(struct seam_event *ev, bool on)
{
	for (size_t i = 0; !ev->is_tracepoint && i < ev->n; i++)
		if (ioctl(ev->fds[i],
			  on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
			  0))
			return -errno;
	return 0;
}

uint64_t seam_event_expected(const struct seam_event *ev)
{
	uint64_t total = 0, value[2];

	if (ev->is_clock || ev->is_tracepoint)
		return 0;
	if (ev->attr.freq)
		return SEAM_UNKNOWN;
	for (size_t i = 0; i < ev->n; i++)
		if (read(ev->fds[i], value, sizeof(value)) == sizeof(value))
			total += value[0] / ev->attr.sample_period;
	return total;
}

uint64_t seam_event_id(const struct seam_event *ev, uint32_t cpu)
{
	if (cpu < ev->n && ev->cpus[cpu] == (int)cpu)
		return ev->ids[cpu];
	for (size_t i = 0; i < ev->n; i++)
		if (ev->cpus[i] == (int)cpu)
			return ev->ids[i];
	return ev->n ? ev->ids[0] : 0;
}
