/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/engine.h"
#include "kernel/probe.h"

enum engine { DEFERRED, IMMEDIATE, DUMP, NATIVE };
static const char *const engines[] = {
	[DEFERRED] = "deferred",
	[IMMEDIATE] = "immediate",
	[DUMP] = "dump",
	[NATIVE] = "native",
};

#define RIGHTS "sudo seam record ..."
#define SETCAP "sudo setcap cap_bpf,cap_perfmon=ep \"$(command -v seam)\""

struct judge {
	const struct seam_probe_facts *f;
	struct seam_probe *probe;
};

static struct seam_probe_result *add(struct judge *j, const char *name,
				     enum seam_probe_state state)
{
	struct seam_probe_result *r = &j->probe->results[j->probe->n++];

	*r = (struct seam_probe_result){.name = name, .state = state};
	return r;
}

__attribute__((format(printf, 2, 3))) static void
say(struct seam_probe_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->found, sizeof(r->found), fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void
advise(struct seam_probe_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->fix, sizeof(r->fix), fmt, ap);
	va_end(ap);
}

static const char *error_text(int rc)
{
	const char *text = strerrordesc_np(-rc);

	return text ? text : "unknown error";
}

static bool has_cap(const struct seam_probe_facts *f, int cap)
{
	return f->caps >> cap & 1;
}

static bool is_at_least(const struct seam_probe_facts *f, unsigned major,
			unsigned minor)
{
	return f->major > major || (f->major == major && f->minor >= minor);
}

static void judge_system(struct judge *j)
{
	const struct seam_probe_facts *f = j->f;
	bool right = !strcmp(f->machine, "x86_64");
	struct seam_probe_result *r;

	r = add(j, "machine", right ? SEAM_PROBE_YES : SEAM_PROBE_NO);
	say(r, right ? "%s" : "%s; seam runs on x86_64 so far", f->machine);
	r = add(j, "kernel",
		is_at_least(f, 6, 18) ? SEAM_PROBE_YES : SEAM_PROBE_PART);
	say(r, "Linux %s", f->release);
	if (r->state != SEAM_PROBE_YES)
		advise(r, "boot Linux 6.18 or later");
	r = add(j, "btf", f->btf_rc ? SEAM_PROBE_NO : SEAM_PROBE_YES);
	if (f->btf_rc) {
		say(r, "the kernel has no type information (%s)",
		    error_text(f->btf_rc));
		advise(r, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
	} else {
		say(r, "the kernel has type information");
	}
}

static void judge_features(struct judge *j)
{
	const struct seam_probe_facts *f = j->f;
	struct seam_probe_result *r;

	r = add(j, "task-work", f->task_work ? SEAM_PROBE_YES : SEAM_PROBE_NO);
	if (f->task_work) {
		say(r, "%s", f->task_work);
	} else {
		say(r, "the kernel has no BPF task work");
		advise(r, "boot Linux 6.18 or later");
	}
	r = add(j, "arena", f->arena_rc ? SEAM_PROBE_NO : SEAM_PROBE_YES);
	if (!f->arena_rc) {
		say(r, "the kernel has BPF arenas");
	} else if (f->arena_rc == -EPERM || f->arena_rc == -EACCES) {
		say(r, "cannot be told without the right to use BPF");
		advise(r, "%s", RIGHTS);
	} else {
		say(r, "the kernel has no BPF arenas (%s)",
		    error_text(f->arena_rc));
		advise(r, "boot Linux 6.9 or later");
	}
}

static bool can_trace_cpus(const struct seam_probe_facts *f)
{
	return !f->in_user_ns &&
	       (has_cap(f, CAP_SYS_ADMIN) || has_cap(f, CAP_PERFMON));
}

static bool can_use_bpf(const struct seam_probe_facts *f)
{
	return can_trace_cpus(f) &&
	       (has_cap(f, CAP_SYS_ADMIN) || has_cap(f, CAP_BPF));
}

/* Without these two nothing can be recorded: BPF programs, and events on
 * every CPU, whose programs read the kernel's memory. */
static const char *missing(const struct seam_probe_facts *f)
{
	if (!has_cap(f, CAP_BPF) && !has_cap(f, CAP_PERFMON))
		return "CAP_BPF, CAP_PERFMON";
	return has_cap(f, CAP_BPF) ? "CAP_PERFMON" : "CAP_BPF";
}

static void judge_rights(struct judge *j)
{
	const struct seam_probe_facts *f = j->f;
	const bool enough = can_use_bpf(f);
	/* Of other users; of one's own there is the check map-files. */
	const bool of_others =
		has_cap(f, CAP_DAC_READ_SEARCH) && has_cap(f, CAP_SYS_PTRACE);
	struct seam_probe_result *r;

	r = add(j, "rights",
		!enough	     ? SEAM_PROBE_NO
		: !of_others ? SEAM_PROBE_PART
			     : SEAM_PROBE_YES);
	if (f->in_user_ns) {
		say(r, "this is a user namespace (a rootless container?), "
		       "whose root may not use BPF");
		advise(r, "run seam outside of the container");
	} else if (!enough) {
		say(r, "missing: %s", missing(f));
		advise(r, "%s, or once: %s", RIGHTS, SETCAP);
	} else if (!of_others) {
		say(r, "enough to record; of other users' programs, files "
		       "that you may not read need CAP_DAC_READ_SEARCH, and "
		       "those in containers CAP_SYS_PTRACE");
		advise(r, "%s", RIGHTS);
	} else {
		say(r, "%s", f->is_root ? "root" : "all that is needed");
	}
	if (!f->lockdown[0])
		return;
	r = add(j, "lockdown",
		strcmp(f->lockdown, "confidentiality") ? SEAM_PROBE_YES
						       : SEAM_PROBE_NO);
	say(r, "kernel lockdown: %s", f->lockdown);
	if (r->state == SEAM_PROBE_NO)
		advise(r, "boot without lockdown=confidentiality");
}

static void judge_programs(struct judge *j)
{
	const struct seam_probe_facts *f = j->f;
	struct seam_probe_result *r;

	r = add(j, "programs", f->load_rc ? SEAM_PROBE_NO : SEAM_PROBE_YES);
	if (!f->load_rc) {
		say(r, "the kernel takes seam's BPF programs");
	} else {
		say(r, "%s",
		    f->load_reason[0] ? f->load_reason
				      : error_text(f->load_rc));
		if (!has_cap(f, CAP_SYS_ADMIN))
			advise(r, "%s", RIGHTS);
	}
	r = add(j, "map-files",
		f->map_files_rc ? SEAM_PROBE_PART : SEAM_PROBE_YES);
	if (!f->map_files_rc) {
		say(r, "mapped files can be opened, deleted ones too");
	} else {
		say(r,
		    "/proc/PID/map_files is closed (%s): files are opened "
		    "by path, deleted ones not at all; it takes "
		    "CAP_CHECKPOINT_RESTORE",
		    error_text(f->map_files_rc));
		advise(r, "%s", RIGHTS);
	}
}

/* Debian's kernels know 3; it binds CAP_PERFMON, too. */
static bool is_roots_alone(const struct seam_probe_facts *f)
{
	return f->paranoid > 2 && !has_cap(f, CAP_SYS_ADMIN);
}

static void judge_events(struct judge *j)
{
	const struct seam_probe_facts *f = j->f;
	struct seam_probe_result *r;

	if (!f->cycles_rc) {
		r = add(j, "events", SEAM_PROBE_YES);
		say(r, "hardware counters; the default event is cycles");
	} else if (!f->clock_rc || !f->own_clock_rc) {
		r = add(j, "events", SEAM_PROBE_PART);
		say(r,
		    "no hardware counter (%s), as in many virtual machines; "
		    "the default event is cpu-clock",
		    error_text(f->cycles_rc));
	} else if (!can_trace_cpus(f)) {
		r = add(j, "events", SEAM_PROBE_PART);
		say(r, "cannot be told without the right to use them");
		advise(r, "%s", RIGHTS);
	} else if (is_roots_alone(f)) {
		r = add(j, "events", SEAM_PROBE_NO);
		say(r,
		    "perf_event_open is refused (%s): kernel."
		    "perf_event_paranoid is %d, as Debian sets it, which lets "
		    "CAP_SYS_ADMIN alone by",
		    error_text(f->clock_rc), f->paranoid);
		advise(r, "sudo sysctl kernel.perf_event_paranoid=2");
	} else {
		r = add(j, "events", SEAM_PROBE_NO);
		say(r, "perf_event_open is refused (%s), as in containers",
		    error_text(f->clock_rc));
		advise(r, "run seam outside of the container");
	}
	/* The setting binds only those who lack the capability. */
	r = add(j, "perf-event-paranoid",
		!f->clock_rc ? SEAM_PROBE_YES : SEAM_PROBE_PART);
	if (f->paranoid == -1000)
		say(r, "cannot be read");
	else
		say(r, "%d%s", f->paranoid,
		    !f->clock_rc && f->paranoid > 0
			    ? ", but you may trace every CPU"
			    : "");
	if (f->clock_rc)
		advise(r, "%s",
		       is_roots_alone(f)
			       ? "sudo sysctl kernel.perf_event_paranoid=2"
			       : RIGHTS);
}

static void judge_kernel_symbols(struct judge *j)
{
	const struct seam_probe_facts *f = j->f;
	struct seam_probe_result *r;

	r = add(j, "kernel-symbols",
		f->kallsyms_shown ? SEAM_PROBE_YES : SEAM_PROBE_PART);
	if (f->kallsyms_shown) {
		say(r, "/proc/kallsyms shows addresses");
		return;
	}
	/* 0 shows them to those who may trace the kernel, too; 2 to nobody. */
	if (f->kptr_restrict > 1 || has_cap(f, CAP_SYSLOG)) {
		say(r,
		    "/proc/kallsyms hides addresses (kernel.kptr_restrict is "
		    "%d): kernel frames get no names",
		    f->kptr_restrict);
		advise(r, "sudo sysctl kernel.kptr_restrict=1");
		return;
	}
	say(r,
	    "/proc/kallsyms hides addresses from those without CAP_SYSLOG "
	    "(kernel.kptr_restrict is %d, perf_event_paranoid %d): kernel "
	    "frames get no names",
	    f->kptr_restrict, f->paranoid);
	advise(r, "sudo seam script ...");
}

static void judge_files(struct judge *j)
{
	const struct seam_probe_facts *f = j->f;
	struct seam_probe_result *r;

	/* From 5.11 on BPF memory counts to the cgroup, not to this limit. */
	r = add(j, "memlock",
		is_at_least(f, 5, 11) || f->memlock >= 512u << 20
			? SEAM_PROBE_YES
			: SEAM_PROBE_PART);
	if (f->buffers_rc) {
		r->state = SEAM_PROBE_NO;
		say(r, "%s",
		    f->buffers_reason[0] ? f->buffers_reason
					 : error_text(f->buffers_rc));
		advise(r, "sudo sysctl kernel.perf_event_mlock_kb=4096");
	} else if (is_at_least(f, 5, 11)) {
		say(r, "this kernel does not count BPF memory to a limit");
	} else {
		say(r, "locked memory is limited to %llu KiB",
		    (unsigned long long)f->memlock >> 10);
		if (r->state != SEAM_PROBE_YES)
			advise(r, "ulimit -l unlimited");
	}
	r = add(j, "table-cache",
		f->cache_rc ? SEAM_PROBE_PART : SEAM_PROBE_YES);
	if (f->cache_rc) {
		say(r,
		    "no folder to keep tables in (%s): each recording "
		    "makes them anew",
		    error_text(f->cache_rc));
		advise(r, "export XDG_CACHE_HOME=FOLDER that is yours");
	} else {
		say(r, "tables are kept between recordings");
	}
	if (f->clients) {
		r = add(j, "clients", SEAM_PROBE_YES);
		say(r, "%u recordings share their unwinds, in %u groups: %s",
		    f->clients, f->client_groups, f->client_pids);
	}
	r = add(j, "debug-files",
		f->has_debug_files ? SEAM_PROBE_YES : SEAM_PROBE_PART);
	if (f->has_debug_files) {
		say(r, "/usr/lib/debug has symbols of stripped files");
	} else {
		say(r, "none installed: static functions of stripped files "
		       "get no names");
		advise(r, "%sdebuginfod-find debuginfo FILE",
		       f->has_debuginfod ? ""
					 : "DEBUGINFOD_URLS=https://"
					   "debuginfod.elfutils.org ");
	}
}

/* needed: the checks that must not say no, n of them. Return: whether none
 * does; else r has what the first of them says. */
static bool has_needed(const struct judge *j, struct seam_probe_result *r,
		       const char *const *needed, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < j->probe->n; i++) {
			const struct seam_probe_result *c =
				&j->probe->results[i];

			if (strcmp(c->name, needed[k]) || c->state)
				continue;
			r->state = SEAM_PROBE_NO;
			say(r, "%s: %.180s", c->name, c->found);
			advise(r, "%s", c->fix);
			return false;
		}
	}
	return true;
}

static void judge_deferred(struct judge *j)
{
	static const char *const needed[] = {
		"machine", "btf",      "task-work", "rights", "lockdown",
		"arena",   "programs", "events",    "memlock"};
	struct seam_probe_result *r = add(j, engines[DEFERRED], SEAM_PROBE_YES);

	r->is_engine = true;
	if (!has_needed(j, r, needed, sizeof(needed) / sizeof(*needed)))
		return;
	if (j->f->is_realtime) {
		r->state = SEAM_PROBE_NO;
		say(r, SEAM_REALTIME_WHY);
	} else {
		say(r, "user stacks are taken at the return to user space");
	}
}

static void judge_immediate(struct judge *j)
{
	static const char *const needed[] = {"machine",	 "btf",	  "rights",
					     "lockdown", "arena", "events",
					     "memlock"};
	const struct seam_probe_facts *f = j->f;
	struct seam_probe_result *r =
		add(j, engines[IMMEDIATE], SEAM_PROBE_YES);

	r->is_engine = true;
	if (!has_needed(j, r, needed, sizeof(needed) / sizeof(*needed)))
		return;
	if (f->at_once_rc && !is_at_least(f, 6, 11)) {
		r->state = SEAM_PROBE_NO;
		say(r, "needs Linux 6.11: before, its programs miss a "
		       "tracepoint, or find no file's times");
	} else if (f->at_once_rc) {
		r->state = SEAM_PROBE_NO;
		say(r, "%s",
		    f->at_once_reason[0] ? f->at_once_reason
					 : error_text(f->at_once_rc));
	} else {
		say(r, "user stacks are taken at the event, as far as their "
		       "memory is resident");
	}
}

/* Of the engines that need no rights for what is one's own. does: what the
 * engine does; needs: what the kernel refuses it if rc is not 0. */
static void judge_direct(struct judge *j, enum engine engine, int rc,
			 const char *does, const char *needs)
{
	const struct seam_probe_facts *f = j->f;
	bool right = !strcmp(f->machine, "x86_64");
	struct seam_probe_result *r =
		add(j, engines[engine],
		    right && !rc ? SEAM_PROBE_YES : SEAM_PROBE_NO);

	r->is_engine = true;
	if (!right)
		say(r, "machine: %s; seam runs on x86_64 so far", f->machine);
	else if (rc)
		say(r, "needs %s (%s)", needs, error_text(rc));
	else
		say(r, "%s%s", does,
		    f->clock_rc ? "; of your own programs, and without the "
				  "kernel's part"
				: "");
	if (right && rc && rc != -EINVAL && is_roots_alone(f))
		advise(r, "sudo sysctl kernel.perf_event_paranoid=2");
}

static void judge_engines(struct judge *j)
{
	const struct seam_probe_facts *f = j->f;

	judge_deferred(j);
	judge_immediate(j);
	judge_direct(j, DUMP, f->dump_rc,
		     "a stack copy with each sample, unwound by seam",
		     "perf events with registers and stack copies");
	judge_direct(j, NATIVE, f->defer_rc,
		     "by frame pointers, in the kernel; only by name",
		     f->defer_rc == -EINVAL
			     ? "Linux 6.19 with deferred callchains"
			     : "perf events");
}

static void choose(struct seam_probe *probe)
{
	for (size_t i = 0; i < probe->n; i++) {
		const struct seam_probe_result *r = &probe->results[i];

		/* What few programs are built for is taken by name alone. */
		if (!r->is_engine || !strcmp(r->name, engines[NATIVE]))
			continue;
		if (r->state == SEAM_PROBE_YES) {
			probe->engine = r->name;
			return;
		}
		if (r->fix[0] && !probe->next[0])
			snprintf(probe->next, sizeof(probe->next), "%s",
				 r->fix);
	}
}

void seam_probe_judge(const struct seam_probe_facts *facts,
		      struct seam_probe *ret)
{
	struct judge j = {.f = facts, .probe = ret};

	*ret = (struct seam_probe){0};
	judge_system(&j);
	judge_features(&j);
	judge_rights(&j);
	judge_programs(&j);
	judge_events(&j);
	judge_kernel_symbols(&j);
	judge_files(&j);
	judge_engines(&j);
	choose(ret);
}

const char *seam_probe_word(enum seam_probe_state state)
{
	static const char *const words[] = {"no", "part", "yes"};

	return words[state];
}
