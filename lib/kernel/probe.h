/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What this machine can run, and why not the rest: the kernel is asked, not
 * its version believed. seam_probe_gather asks, seam_probe_judge says what
 * the answers mean; the two are apart so that the second can be tested with
 * the answers of other machines.
 *
 *	struct seam_probe_facts facts;
 *	struct seam_probe probe;
 *
 *	seam_probe_gather(&facts);
 *	seam_probe_judge(&facts, &probe);
 */
#ifndef SEAM_LIB_KERNEL_PROBE_H
#define SEAM_LIB_KERNEL_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All "rc" are 0 for "it works", else -errno as the kernel gave it. */
struct seam_probe_facts {
	char machine[16]; /* uname: "x86_64" */
	char release[80]; /* uname: "6.18.44-1-amd64" */
	unsigned major, minor; /* of release; 0: not readable */
	bool is_root; /* effective user id 0 */
	bool in_user_ns; /* not the initial user namespace */
	uint64_t caps; /* effective; bit CAP_x */
	int btf_rc; /* the kernel's own type information */
	const char *task_work; /* name of the kfunc; NULL: it has none */
	bool is_realtime; /* the kernel is PREEMPT_RT */
	int arena_rc; /* a BPF arena map can be made */
	int load_rc; /* seam's own BPF programs load */
	char load_reason[160]; /* why not */
	int at_once_rc; /* those of the engine immediate do */
	char at_once_reason[160]; /* why not */
	int map_files_rc; /* /proc/PID/map_files can be opened */
	int cycles_rc; /* a hardware counter can be opened */
	int clock_rc; /* cpu-clock on every CPU can */
	int own_clock_rc; /* cpu-clock on this process can */
	int defer_rc; /* the kernel defers callchains itself */
	int dump_rc; /* registers and stack copy can be asked for */
	int paranoid; /* kernel.perf_event_paranoid; -1000: unknown */
	int kptr_restrict; /* -1000: unknown */
	bool kallsyms_shown; /* kernel addresses are not all zero */
	uint64_t memlock; /* RLIMIT_MEMLOCK, bytes */
	int buffers_rc; /* perf buffers, where events can be had */
	char buffers_reason[160]; /* why not */
	char lockdown[24]; /* "confidentiality"; empty: none */
	int cache_rc; /* the folder for tables */
	uint32_t clients, client_groups; /* recordings that share */
	char client_pids[80]; /* the first of them */
	bool has_debug_files; /* /usr/lib/debug/.build-id */
	bool has_debuginfod; /* DEBUGINFOD_URLS */
};

enum seam_probe_state { SEAM_PROBE_NO, SEAM_PROBE_PART, SEAM_PROBE_YES };

struct seam_probe_result {
	const char *name; /* stable, for programs */
	bool is_engine;
	enum seam_probe_state state;
	char found[200]; /* what there is, or why not */
	char fix[200]; /* one command or step that would help; or empty */
};

#define SEAM_PROBE_MAX 24

struct seam_probe {
	size_t n;
	/* Checks first, then the engines, best first. */
	struct seam_probe_result results[SEAM_PROBE_MAX];
	const char *engine; /* what --engine auto takes; NULL: none */
	char next[200]; /* the one step to a better engine; or empty */
};

void seam_probe_gather(struct seam_probe_facts *ret);
void seam_probe_judge(const struct seam_probe_facts *facts,
		      struct seam_probe *ret);
/* Return: "yes", "part" or "no". */
const char *seam_probe_word(enum seam_probe_state state);

#endif
