// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record-perf.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/number.h"
#include "cli/processes.h"
#include "event/event-name.h"

/* Of "max". Each sample has a stack taken: at 100,000 Hz of a clock a program
 * of 0.4 s had 600 to 1,000 stacks, at 30 us a frame and more, and its
 * processor stood still for 0.5 to 2.5 s; at 50,000 Hz it had 2,800 to 4,300
 * stacks, at 20,000 Hz 3,700 to 5,300. */
#define FREQ_MAX 20000
#define CPUS_MAX 8192

enum how {
	TAKE, /* take() does it */
	SO, /* it is always so */
	TUNES, /* how perf does what is done otherwise here */
	NONE, /* there is something else, or nothing */
};

/* What the man page does not list among the options. */
#define ALWAYS(name, letter, arg)                                              \
	{                                                                      \
		name, arg, letter, SO, NULL                                    \
	}
#define TUNING(name, letter, arg, instead)                                     \
	{                                                                      \
		name, arg, letter, TUNES, instead                              \
	}
#define NOT_HERE(name, letter, arg, instead)                                   \
	{                                                                      \
		name, arg, letter, NONE, instead                               \
	}

static const struct perf_option {
	const char *name;
	int has_arg;
	int letter; /* 0: none */
	enum how how;
	const char *instead; /* of TUNES, NONE */
} perf_options[] = {
	{"cpu", required_argument, 'C', TAKE, NULL},
	{"delay", required_argument, 'D', TAKE, NULL},
	{"uid", required_argument, 'u', TAKE, NULL},
	{"clockid", required_argument, 'k', TAKE, NULL},
	{"verbose", no_argument, 'v', TAKE, NULL},
	{"no-inherit", no_argument, 'i', TAKE, NULL},
	{"all-user", no_argument, 0, TAKE, NULL},
	{"all-kernel", no_argument, 0, TAKE, NULL},
	/* The summary and perf's readers have them, and need no cache. */
	ALWAYS("no-buildid-cache", 'N', no_argument),
	/* No second pass is made for them: they come with the mappings. */
	ALWAYS("no-buildid", 'B', no_argument),
	ALWAYS("buildid-all", 0, no_argument),
	ALWAYS("buildid-mmap", 0, no_argument),
	ALWAYS("timestamp", 'T', no_argument),
	ALWAYS("period", 'P', no_argument),
	ALWAYS("sample-cpu", 0, no_argument),
	ALWAYS("sample-identifier", 0, no_argument),
	ALWAYS("raw-samples", 'R', no_argument), /* of tracepoints */
	/* A frequency that cannot be had is an error, never another one. */
	ALWAYS("strict-freq", 0, no_argument),
	ALWAYS("timestamp-boundary", 0, no_argument),
	/* BPF programs' names are not recorded. */
	ALWAYS("no-bpf-event", 0, no_argument),
	/* What is there is kept as .old. */
	ALWAYS("force", 'f', no_argument),
	TUNING("realtime", 'r', required_argument,
	       "run seam under chrt(1) instead"),
	TUNING("threads", 0, optional_argument, "one file is written"),
	TUNING("aio", 0, optional_argument, "one thread writes; see -m"),
	TUNING("affinity", 0, required_argument, "see taskset(1)"),
	TUNING("per-thread", 0, no_argument,
	       "buffers are each CPU's, and children are followed without -i"),
	TUNING("no-buffering", 0, no_argument, "see --live"),
	TUNING("mmap-flush", 0, required_argument,
	       "what is there is written twice a second; see -m"),
	TUNING("synth", 0, required_argument,
	       "what runs already is always told of"),
	TUNING("num-thread-synthesize", 0, required_argument,
	       "one thread tells of what runs already"),
	TUNING("proc-map-timeout", 0, required_argument,
	       "what processes have mapped is read to its end"),
	TUNING("group", 0, no_argument,
	       "each event has samples of its own; see -e '{A,B}'"),
	TUNING("clang-path", 0, required_argument,
	       "no program is compiled for a recording"),
	TUNING("clang-opt", 0, required_argument,
	       "no program is compiled for a recording"),
	TUNING("debuginfod", 0, optional_argument,
	       "none is fetched for a recording; readers take what "
	       "debuginfod-find has fetched"),
	TUNING("tail-synthesize", 0, no_argument,
	       "mappings come before the samples in them"),
	NOT_HERE("stat", 's', no_argument,
		 "events are each CPU's, and count for no thread by itself; "
		 "each sample has its thread"),
	NOT_HERE("data", 'd', no_argument, "samples have no data addresses"),
	NOT_HERE("phys-data", 0, no_argument, "samples have no data addresses"),
	NOT_HERE("data-mmap", 0, no_argument, "samples have no data addresses"),
	NOT_HERE("sample-mem-info", 0, no_argument,
		 "samples have no data addresses"),
	NOT_HERE("data-page-size", 0, no_argument,
		 "samples have no page sizes"),
	NOT_HERE("code-page-size", 0, no_argument,
		 "samples have no page sizes"),
	NOT_HERE("transaction", 0, no_argument,
		 "samples have no flags of transactions"),
	NOT_HERE("weight", 'W', no_argument, "samples have no weights"),
	NOT_HERE("branch-any", 'b', no_argument,
		 "samples have no branch records; stacks are whole without"),
	NOT_HERE("branch-filter", 'j', required_argument,
		 "samples have no branch records; stacks are whole without"),
	NOT_HERE("cgroup", 'G', required_argument,
		 "cgroups cannot be told apart; name processes with -p"),
	NOT_HERE("no-samples", 'n', no_argument,
		 "a recording without samples is of no use here"),
	NOT_HERE("snapshot", 'S', optional_argument, "there are no AUX traces"),
	NOT_HERE("aux-sample", 0, optional_argument, "there are no AUX traces"),
	NOT_HERE("intr-regs", 'I', optional_argument,
		 "registers are not kept: stacks are unwound"),
	NOT_HERE("user-regs", 0, optional_argument,
		 "registers are not kept: stacks are unwound"),
	NOT_HERE("filter", 0, required_argument,
		 "every hit is recorded; sort out with seam script or perf "
		 "script"),
	NOT_HERE("setup-filter", 0, required_argument, "there is no filter"),
	NOT_HERE("exclude-perf", 0, no_argument,
		 "there is no filter; seam's own samples have its name"),
	NOT_HERE("switch-output", 0, optional_argument,
		 "one file is written; --duration ends it"),
	NOT_HERE("switch-output-event", 0, required_argument,
		 "one file is written; --duration ends it"),
	NOT_HERE("switch-max-files", 0, required_argument,
		 "one file is written; --duration ends it"),
	NOT_HERE("timestamp-filename", 0, no_argument,
		 "-o names the file; see date(1)"),
	NOT_HERE("overwrite", 0, no_argument,
		 "all is written; --duration ends it"),
	NOT_HERE("control", 0, required_argument,
		 "a signal ends a recording, and --duration or -D bound it"),
	NOT_HERE("max-size", 0, required_argument,
		 "ulimit -f bounds a file; what was recorded before is kept"),
	NOT_HERE("kcore", 0, no_argument, "the kernel's code is not copied"),
	NOT_HERE("switch-events", 0, no_argument, "see --off-cpu"),
	NOT_HERE("latency", 0, no_argument, "see --off-cpu"),
	NOT_HERE("namespaces", 0, no_argument, "namespaces are not recorded"),
	NOT_HERE("all-cgroups", 0, no_argument, "cgroups are not recorded"),
	NOT_HERE("running-time", 0, no_argument,
		 "no leader reads its members (':S')"),
	NOT_HERE("vmlinux", 0, required_argument,
		 "no kernel is read; perf's readers have --vmlinux, seam's "
		 "--kallsyms"),
	NOT_HERE("off-cpu-thresh", 0, required_argument,
		 "--off-cpu takes every sleep"),
	NOT_HERE("dry-run", 0, no_argument, "see seam doctor"),
	NOT_HERE("user-callchains", 0, no_argument,
		 "as a term: -e EVENT/user-callchains/"),
	NOT_HERE("kernel-callchains", 0, no_argument,
		 "as a term: -e EVENT/kernel-callchains/"),
};

#define N_OPTIONS (sizeof(perf_options) / sizeof(perf_options[0]))

static int code_of(size_t i)
{
	return perf_options[i].letter ? perf_options[i].letter
				      : RECORD_PERF_FIRST + (int)i;
}

size_t record_perf_options(struct option *v, size_t room)
{
	if (room < N_OPTIONS + 1)
		abort();
	for (size_t i = 0; i < N_OPTIONS; i++)
		v[i] = (struct option){perf_options[i].name,
				       perf_options[i].has_arg, NULL,
				       code_of(i)};
	v[N_OPTIONS] = (struct option){0};
	return N_OPTIONS;
}

static int bad(const char *option, const char *value, const char *want)
{
	say("seam: record: %s '%s': %s\n", option, value, want);
	return 2;
}

static int add_cpu(struct record_options *o, unsigned long cpu)
{
	uint32_t *cpus;

	for (size_t i = 0; i < o->n_cpus; i++)
		if (o->cpus[i] == cpu)
			return 0;
	cpus = realloc(o->cpus, (o->n_cpus + 1) * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	o->cpus = cpus;
	o->cpus[o->n_cpus++] = (uint32_t)cpu;
	return 0;
}

/* 0,2-3 */
static int on_cpus(struct record_options *o, const char *list)
{
	static const char want[] = "want CPUs, as in 0,2-3";
	const char *p = list;

	do {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (*p < '0' || *p > '9')
			return bad("-C", list, want);
		if (*end == '-') {
			p = end + 1;
			last = strtoul(p, &end, 10);
			if (*p < '0' || *p > '9')
				return bad("-C", list, want);
		}
		if (last < first || last >= CPUS_MAX || (*end && *end != ','))
			return bad("-C", list, want);
		for (; first <= last; first++)
			if (add_cpu(o, first))
				return bad("-C", list, "no memory");
		p = *end ? end + 1 : NULL;
	} while (p);
	return -1;
}

static int on_delay(struct record_options *o, const char *value)
{
	uint64_t ms = 0;

	if (!strcmp(value, "-1"))
		return bad("-D", value,
			   "nothing could begin it: there is no --control");
	if (cli_number(value, false, &ms) || ms > INT32_MAX)
		return bad("-D", value,
			   "want milliseconds, without ranges of time");
	o->delay_ms = ms;
	return -1;
}

static int on_user(struct record_options *o, const char *value)
{
	struct passwd *user = getpwnam(value);
	uint64_t uid = 0;
	int err;

	if (!user && (cli_number(value, false, &uid) || uid > INT32_MAX))
		return bad("-u", value, "want a user's name or number");
	if (o->tasks == SEAM_TASKS_ALL || o->n_ids)
		return bad("-u", value, "-a, -p, -t and -u exclude each other");
	o->tasks = SEAM_TASKS_PROCESSES;
	o->by_user = true;
	err = processes_of_user(user ? user->pw_uid : (uid_t)uid, &o->ids,
				&o->n_ids);
	if (err)
		return bad("-u", value, strerror(-err));
	return o->n_ids ? -1 : bad("-u", value, "no process is that user's");
}

static int on_clock(const char *value)
{
	static const char *const names[] = {"mono", "monotonic",
					    "CLOCK_MONOTONIC"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(value, names[i]))
			return -1;
	return bad("-k", value, "times are always CLOCK_MONOTONIC's");
}

static int on_mode(struct record_options *o, char mode)
{
	if (o->mode && o->mode != mode) {
		say("seam: record: --all-user and --all-kernel exclude each "
		    "other\n");
		return 2;
	}
	o->mode = mode;
	return -1;
}

static int take(struct record_options *o, const struct perf_option *p,
		const char *value)
{
	switch (p->letter) {
	case 'C':
		return on_cpus(o, value);
	case 'D':
		return on_delay(o, value);
	case 'u':
		return on_user(o, value);
	case 'k':
		return on_clock(value);
	case 'v':
		o->quiet = false; /* there is no more to be said */
		return -1;
	case 'i':
		o->no_inherit = true;
		return -1;
	}
	return on_mode(o, !strcmp(p->name, "all-user") ? 'u' : 'k');
}

int record_perf_take(struct record_options *o, int c, const char *value)
{
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct perf_option *p = &perf_options[i];

		if (code_of(i) != c)
			continue;
		if (p->how == TAKE)
			return take(o, p, value);
		if (p->how == TUNES && !o->quiet)
			say("seam: record: perf's --%s changes nothing here: "
			    "%s\n",
			    p->name, p->instead);
		if (p->how == SO || p->how == TUNES)
			return -1;
		say("seam: record: perf's --%s is not here: %s\n", p->name,
		    p->instead);
		return 2;
	}
	return -2;
}

uint64_t record_perf_max_freq(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned long max = 0;

	if (f) {
		if (fscanf(f, "%lu", &max) != 1)
			max = 0;
		fclose(f);
	}
	return max && max < FREQ_MAX ? max : FREQ_MAX;
}

/* --- events --- */

/* The name with more modifiers. Return: NULL: no memory. */
static char *with_modifiers(const char *name, size_t len, const char *mods,
			    size_t n_mods)
{
	struct seam_event_name parsed = {0};
	struct seam_errinfo why = {0};
	char *text = malloc(len + 1 + n_mods + 1);
	bool is_open;

	if (!text)
		return NULL;
	memcpy(text, name, len);
	text[len] = '\0';
	if (!n_mods)
		return text;
	/* What is wrong with a name is said when it is opened. */
	is_open = !seam_event_name_parse(text, &parsed, &why) &&
		  (parsed.user || parsed.kernel || parsed.precise ||
		   parsed.precise_max);
	for (size_t i = 0; i < n_mods; i++) {
		if ((mods[i] == 'u' && parsed.user) ||
		    (mods[i] == 'k' && parsed.kernel))
			continue; /* it says so itself */
		if (!is_open && (!len || text[len - 1] != '/'))
			text[len++] = ':';
		is_open = true;
		text[len++] = mods[i];
	}
	text[len] = '\0';
	return text;
}

int record_perf_group(struct record_options *o, const char **list,
		      int (*add)(struct record_options *o, const char *name,
				 size_t len))
{
	const char *p = *list + 1, *end = strchr(p, '}'), *mods;
	size_t n_mods;
	int status = -1;

	if (!end)
		return bad("-e", *list, "want a '}' at the group's end");
	mods = end + 1 + (end[1] == ':');
	n_mods = strcspn(mods, ",");
	if (memchr(mods, 'S', n_mods))
		return bad("-e", *list,
			   "the leader does not read its members (':S') here; "
			   "each has samples of its own");
	while (status < 0 && p < end) {
		size_t len = seam_event_name_end(p);
		char *name;

		if (len > (size_t)(end - p))
			len = (size_t)(end - p);
		name = with_modifiers(p, len, mods, n_mods);
		status = name ? add(o, name, len ? strlen(name) : 0)
			      : bad("-e", *list, "no memory");
		free(name);
		p += len + 1;
	}
	*list = mods + n_mods;
	return status;
}

/* Whether an event has the other half alone. */
static bool is_against(const char *name, char mode)
{
	struct seam_event_name parsed = {0};
	struct seam_errinfo why = {0};

	return !seam_event_name_parse(name, &parsed, &why) &&
	       parsed.user != parsed.kernel &&
	       (mode == 'u' ? parsed.kernel : parsed.user);
}

/* The default event's name is the library's to find: modifiers alone. */
static int set_mode(struct record_options *o)
{
	for (size_t i = 0; o->mode && i < o->n_events; i++) {
		const char *old = o->names[i] ? o->names[i] : "";
		char *name;

		if (is_against(old, o->mode))
			return bad("-e", old,
				   "--all-user and --all-kernel ask for the "
				   "other half");
		name = with_modifiers(old, strlen(old), &o->mode, 1);
		if (!name)
			return bad("-e", old, "no memory");
		free(o->names[i]);
		o->events[i].name = o->names[i] = name;
	}
	return -1;
}

int record_perf_complete(struct record_options *o)
{
	if (o->n_cpus && o->n_ids) {
		say("seam: record: -C and -p, -t or -u exclude each other\n");
		return 2;
	}
	/* As perf has it: every task there, as long as the command runs. */
	if (o->n_cpus)
		o->tasks = SEAM_TASKS_ALL;
	return set_mode(o);
}
