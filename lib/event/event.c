// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "event/event-direct.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/uapi.h"
#include "core/wire.h"
#include "event/event-name.h"
#include "event/fail.h"
#include "event/pmu.h"
#include "event/precise.h"
#include "event/syscall-name.h"
#include "event/uprobe.h"
#include "perfdata/writer.h"

int seam_perf_event_open(struct perf_event_attr *attr, int pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

void seam_event_defer(struct perf_event_attr *attr, unsigned bit)
{
	uint8_t *bytes = (uint8_t *)attr + SEAM_ATTR_FLAGS_OFFSET;
	uint64_t flags;

	memcpy(&flags, bytes, sizeof(flags));
	flags |= 1ULL << bit;
	memcpy(bytes, &flags, sizeof(flags));
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

/* Return: 0, or why no counter of the hardware is to be had: -errno. */
static int try_pmu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = SEAM_ATTR_SIZE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
	};
	int fd = seam_perf_event_open(&attr, 0, -1);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* What nobody asked for by name. */
static const char *usual_event(struct seam_event *ev)
{
	int err = try_pmu();

	if (!err)
		return "cycles";
	ev->why_clock = err == -EACCES || err == -EPERM
				? "hardware counters are refused"
				: "no hardware counter here";
	return "cpu-clock";
}

/* The text without its terms, as perf has it, or what name= says. */
static char *display_name(const char *text, const struct seam_event_name *n)
{
	char mods[8] = "", *s;
	size_t i = 0;

	if (n->label)
		return strndup(n->label, n->label_len);
	if (n->user)
		mods[i++] = 'u';
	if (n->kernel)
		mods[i++] = 'k';
	memset(mods + i, 'p', n->precise);
	if (n->precise_max)
		mods[i + n->precise] = 'P';
	if (!*mods)
		return strndup(text, n->base_len);
	if (asprintf(&s, "%.*s%s%s", (int)n->base_len, text,
		     n->pmu_len ? "" : ":", mods) < 0)
		return NULL;
	return s;
}

/* What the modifiers and callchain terms ask for. The kernel itself is told
 * only of a hardware counter's modes: of a software event it would make
 * nothing at all when the interrupt lands where the event excludes. */
static int set_halves(const struct seam_event_name *name, struct seam_event *ev,
		      struct seam_errinfo *reterr)
{
	bool user_only = name->user && !name->kernel;
	bool kernel_only = name->kernel && !name->user;

	if (user_only && name->halves == SEAM_HALVES_KERNEL)
		return seam_fail(reterr, -EINVAL,
				 "%s: ':u' and kernel-callchains exclude each "
				 "other",
				 ev->name);
	ev->attr.exclude_kernel = user_only;
	ev->attr.exclude_user = kernel_only;
	ev->attr.exclude_hv = name->user || name->kernel;
	ev->attr.exclude_callchain_user = name->halves & SEAM_HALVES_KERNEL;
	ev->attr.exclude_callchain_kernel =
		(name->halves & SEAM_HALVES_USER) != 0;
	if (user_only)
		ev->asks |= SEAM_ASK_NO_KERNEL;
	if (kernel_only)
		ev->asks |= SEAM_ASK_KERNEL_MODE;
	if (name->halves & SEAM_HALVES_USER)
		ev->asks |= SEAM_ASK_NO_KERNEL_STACK;
	if (name->halves & SEAM_HALVES_KERNEL)
		ev->max_frames = 0;
	if (!ev->max_frames)
		ev->attr.exclude_callchain_user = 1;
	return 0;
}

static void set_depth(const struct seam_event_spec *spec,
		      const struct seam_event_name *name, struct seam_event *ev)
{
	ev->max_frames = spec->max_frames;
	if (name->has_max_stack)
		ev->max_frames =
			name->max_stack ? name->max_stack : SEAM_MAX_FRAMES;
	if (ev->max_frames < SEAM_MAX_FRAMES)
		ev->attr.sample_max_stack = (uint16_t)ev->max_frames;
}

static int open_probe(const struct seam_event_name *name, struct seam_event *ev,
		      struct seam_errinfo *reterr)
{
	const char *where = ev->base + name->file_at + name->file_len;
	char *file = strndup(ev->base + name->file_at, name->file_len);
	int fd;

	if (!file)
		return -ENOMEM;
	if (*where == ':' && where[1] && *file)
		fd = seam_uprobe_open(file, where + 1, name->returns, reterr);
	else
		fd = seam_fail(reterr, -EINVAL,
			       "'%.60s': want uprobe:FILE:FUNCTION", ev->base);
	free(file);
	if (fd < 0)
		return fd;
	ev->probe_fd = fd;
	ev->is_probe = true;
	return 0;
}

static int set_kind(const struct seam_event_name *name, struct seam_event *ev,
		    struct seam_errinfo *reterr)
{
	if (name->known) {
		ev->attr.type = name->known->type;
		ev->attr.config = name->known->config;
		/* Of tasks that run one tells what the other does. */
		ev->is_clock = ev->attr.type == PERF_TYPE_SOFTWARE &&
			       (ev->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
				ev->attr.config == PERF_COUNT_SW_TASK_CLOCK);
		ev->is_sleep = !strcmp(name->known->name, SEAM_SLEEP_EVENT);
		if (ev->is_sleep && (name->freq || name->period))
			return seam_fail(reterr, -EINVAL,
					 "%s takes every sleep: it has no "
					 "freq and no period",
					 ev->base);
		return 0;
	}
	if (name->raw) {
		ev->attr.type = PERF_TYPE_RAW;
		ev->attr.config = name->config;
		return 0;
	}
	if (name->pmu_len)
		return seam_pmu_read(SEAM_PMU_DEVICES, ev->base, name->pmu_len,
				     &ev->attr, reterr);
	if (!strchr(ev->base, ':'))
		return seam_fail(reterr, -EINVAL,
				 "'%.40s' is no event that seam knows; 'seam "
				 "record --help' lists them",
				 ev->base);
	/* An event that counts nothing lends these its ids. */
	ev->attr.type = PERF_TYPE_SOFTWARE;
	ev->attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	if (name->file_at)
		return open_probe(name, ev, reterr);
	ev->is_tracepoint = true;
	ev->raw_name = strchr(ev->base, ':') + 1;
	ev->syscall = seam_syscall_of(ev->base, &ev->raw_name);
	if (!strncmp(ev->base, "nmi:", strlen("nmi:")))
		ev->asks |= SEAM_ASK_IN_NMI;
	return 0;
}

/* Whatever else the name asks for. */
static int want_stack_only(struct seam_event_name *name,
			   struct seam_errinfo *reterr)
{
	if (name->halves & SEAM_HALVES_KERNEL)
		return seam_fail(reterr, -EINVAL,
				 "an event without user stacks is of no use "
				 "where only these are wanted");
	name->halves = SEAM_HALVES_USER;
	name->no_payload = true;
	return 0;
}

static int set_name(const struct seam_event_spec *spec, struct seam_event *ev,
		    struct seam_event_name *name, struct seam_errinfo *reterr)
{
	char chosen[32];
	const char *text = spec->name;
	int err;

	/* Modifiers alone are the default's. */
	if (!text || *text == ':') {
		snprintf(chosen, sizeof(chosen), "%s%s", usual_event(ev),
			 text ? text : "");
		text = chosen;
	}
	err = seam_event_name_parse(text, name, reterr);
	if (err)
		return err;
	err = spec->stacks_only ? want_stack_only(name, reterr) : 0;
	if (err)
		return err;
	ev->name = display_name(text, name);
	ev->base = strndup(text, name->base_len);
	if (!ev->name || !ev->base)
		return -ENOMEM;
	err = set_kind(name, ev, reterr);
	if (err)
		return err;
	set_depth(spec, name, ev);
	err = seam_event_precise(name, ev, reterr);
	return err ? err : set_halves(name, ev, reterr);
}

static void set_period(const struct seam_event_spec *spec,
		       const struct seam_event_name *name,
		       struct seam_event *ev)
{
	struct perf_event_attr *attr = &ev->attr;
	bool own = name->freq || name->period;
	uint64_t period = own ? name->period : spec->period;
	uint64_t freq = period ? 0 : own ? name->freq : spec->freq;

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
		ev->period_ns = freq ? 1000000000 / freq : period;
		attr->sample_period = ev->period_ns;
	} else if (ev->is_sleep) {
		attr->sample_period = 1;
	} else if (ev->is_tracepoint || ev->is_probe) {
		attr->sample_period = period ? period : 1;
	} else if (freq) {
		attr->freq = 1;
		attr->sample_freq = freq;
	} else {
		attr->sample_period = period;
	}
}

/* What the kernel is to know of it. */
static struct perf_event_attr attr_to_open(const struct seam_event *ev)
{
	struct perf_event_attr attr = ev->attr;

	attr.sample_max_stack = 0;
	attr.exclude_callchain_kernel = attr.exclude_callchain_user = 0;
	if (attr.type == PERF_TYPE_SOFTWARE)
		attr.exclude_kernel = attr.exclude_user = attr.exclude_hv = 0;
	if (attr.precise_ip)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	return attr;
}

static int open_one(struct seam_event *ev, int tid, int cpu,
		    struct seam_errinfo *reterr)
{
	int fd = seam_perf_event_open(&ev->opened, tid, cpu);
	uint64_t id;

	if (fd == -ESRCH && tid > 0)
		return 0; /* a thread that has ended since */
	if (fd < 0)
		return seam_event_fail(ev, tid, cpu, fd, reterr);
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

/* Of the n that are online, those that are wanted. Return: how many. */
static int choose_cpus(const struct seam_event_spec *spec,
		       const struct seam_event *ev, int *cpus, int n,
		       struct seam_errinfo *reterr)
{
	if (spec->n_cpus && seam_event_is_lent(ev))
		return seam_fail(reterr, -EINVAL,
				 "%s is taken on every CPU; of counted events "
				 "alone a CPU can be named",
				 ev->base);
	if (spec->n_cpus > (size_t)n)
		return seam_fail(reterr, -EINVAL, "only %d CPUs are online", n);
	for (size_t i = 0; i < spec->n_cpus; i++) {
		bool is_online = false;

		for (int at = 0; at < n && !is_online; at++)
			is_online = (uint32_t)cpus[at] == spec->cpus[i];
		if (!is_online)
			return seam_fail(reterr, -EINVAL,
					 "CPU %u is not online", spec->cpus[i]);
	}
	for (size_t i = 0; i < spec->n_cpus; i++)
		cpus[i] = (int)spec->cpus[i];
	return spec->n_cpus ? (int)spec->n_cpus : n;
}

static int open_all(struct seam_event *ev, const struct seam_event_spec *spec,
		    struct seam_errinfo *reterr)
{
	const struct seam_scope *scope =
		spec->direct ? &spec->direct->scope : NULL;
	size_t n_tasks = seam_scope_n(scope), all;
	int *cpus = NULL, n = seam_online_cpus(&cpus), err;

	if (n >= 0)
		n = choose_cpus(spec, ev, cpus, n, reterr);
	if (n < 0) {
		free(cpus);
		return n;
	}
	all = n_tasks * (size_t)n;
	ev->fds = calloc(all, sizeof(*ev->fds));
	ev->ids = calloc(all, sizeof(*ev->ids));
	ev->cpus = calloc(all, sizeof(*ev->cpus));
	err = ev->fds && ev->ids && ev->cpus ? 0 : -ENOMEM;
	for (size_t i = 0; !err && i < all; i++)
		err = open_one(ev, seam_scope_tid(scope, i / (size_t)n),
			       cpus[i % (size_t)n], reterr);
	free(cpus);
	return err;
}

/*
 * Opens the tracepoint itself to lend the ids, since that tells the payload.
 * Every hit: which of them are samples BPF knows. Where tracefs or our rights
 * do not allow it, samples have none.
 */
static void ask_payload(struct seam_event *ev)
{
	struct perf_event_attr attr = ev->opened;
	int fd;

	ev->payload_refused = true;
	if (seam_tracepoint_read(ev->base, &ev->tracepoint))
		return;
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = ev->tracepoint.id;
	attr.sample_period = 1;
	attr.sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	attr.read_format |= SEAM_READ_LOST;
	fd = seam_perf_event_open(&attr, -1, 0);
	if (fd < 0) {
		seam_tracepoint_fini(&ev->tracepoint);
		return;
	}
	close(fd);
	ev->opened = attr;
	seam_event_use_payload(ev);
}

static int plan(const struct seam_event_spec *spec, struct seam_event *ev,
		struct seam_event_name *name, struct seam_errinfo *reterr)
{
	int err = set_name(spec, ev, name, reterr);

	if (err)
		return err;
	set_period(spec, name, ev);
	ev->opened = attr_to_open(ev);
	return 0;
}

int seam_event_plan(const struct seam_event_spec *spec, struct seam_event *ret,
		    struct seam_errinfo *reterr)
{
	struct seam_event_name name;
	struct seam_event ev = {0};
	int err = plan(spec, &ev, &name, reterr);

	if (err)
		seam_event_close(&ev);
	else
		*ret = ev;
	return err;
}

int seam_event_open(const struct seam_event_spec *spec, struct seam_event *ret,
		    struct seam_errinfo *reterr)
{
	struct seam_event_name name;
	struct seam_event ev = {0};
	int err = plan(spec, &ev, &name, reterr);

	if (!err && spec->direct)
		err = seam_event_settle(&ev, spec->direct, reterr);
	else if (!err && ev.is_tracepoint && !name.no_payload)
		ask_payload(&ev);
	if (!err)
		err = open_all(&ev, spec, reterr);
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
	if (ev->is_probe)
		close(ev->probe_fd);
	seam_tracepoint_fini(&ev->tracepoint);
	free(ev->name);
	free(ev->base);
	free(ev->fds);
	free(ev->ids);
	free(ev->cpus);
	memset(ev, 0, sizeof(*ev));
}

bool seam_event_is_lent(const struct seam_event *ev)
{
	return ev->is_tracepoint || ev->is_sleep || ev->is_probe;
}

bool seam_event_has_payload(const struct seam_event *ev)
{
	return ev->attr.sample_type & PERF_SAMPLE_RAW;
}

void seam_event_use_payload(struct seam_event *ev)
{
	ev->payload_refused = !(ev->opened.sample_type & PERF_SAMPLE_RAW) &&
			      ev->tracepoint.format;
	if (!(ev->opened.sample_type & PERF_SAMPLE_RAW)) {
		seam_tracepoint_fini(&ev->tracepoint);
		return;
	}
	ev->attr.type = PERF_TYPE_TRACEPOINT;
	ev->attr.config = ev->tracepoint.id;
	ev->attr.sample_type |= PERF_SAMPLE_RAW;
}

int seam_event_enable(struct seam_event *ev, bool on)
{
	/* One that lends its ids and payloads does so to the last sample. */
	if (seam_event_is_lent(ev) && !(seam_event_has_payload(ev) && on))
		return 0;
	for (size_t i = 0; i < ev->n; i++)
		if (ioctl(ev->fds[i],
			  on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
			  0))
			return -errno;
	return 0;
}

uint64_t seam_event_expected(const struct seam_event *ev)
{
	uint64_t total = 0, value[2];

	if (ev->is_clock || seam_event_is_lent(ev))
		return 0;
	/* Switches of idle tasks are counted, but may make no event. */
	if (ev->attr.freq ||
	    (ev->attr.type == PERF_TYPE_SOFTWARE &&
	     ev->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES))
		return SEAM_UNKNOWN;
	for (size_t i = 0; i < ev->n; i++)
		if (read(ev->fds[i], value, sizeof(value)) == sizeof(value))
			total += value[0] / ev->attr.sample_period;
	return total;
}

uint64_t seam_event_counted(const struct seam_event *ev, uint64_t *ret_lost)
{
	uint64_t total = 0;

	for (size_t i = 0; i < ev->n; i++) {
		uint64_t value[3] = {0};

		if (read(ev->fds[i], value, sizeof(value)) <= 0)
			continue;
		total += ev->attr.freq ? 0 : value[0] / ev->attr.sample_period;
		*ret_lost += value[2];
	}
	return ev->attr.freq || ev->opened.exclude_kernel ||
			       ev->opened.exclude_user
		       ? SEAM_UNKNOWN
		       : total;
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
