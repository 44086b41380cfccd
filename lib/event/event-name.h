/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What an event is called on the command line, in perf's spelling:
 *
 *	NAME[/TERM[=VALUE],.../][:MODIFIERS]
 *	PMU/TERM[=VALUE],.../[MODIFIERS]
 *
 * NAME is one of perf's events, rHEX of one that the hardware has by that
 * number, SUBSYSTEM:NAME of a tracepoint, or a probe as bpftrace has it:
 * uprobe:FILE:SYMBOL[+OFFSET] or uretprobe:FILE:SYMBOL. Terms: max-stack, freq,
 * period, name, call-graph, kernel-callchains, user-callchains and no-payload;
 * modifiers: u and k, and p, up to three times, or P. A PMU has terms of its
 * own beside these, which event/pmu.h reads.
 */
#ifndef SEAM_LIB_EVENT_EVENT_NAME_H
#define SEAM_LIB_EVENT_EVENT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seam/error.h"

/* Where tasks sleep, and how long: perf's name of it. */
#define SEAM_SLEEP_EVENT "offcpu-time"

enum seam_event_halves {
	SEAM_HALVES_BOTH,
	SEAM_HALVES_KERNEL, /* kernel-callchains */
	SEAM_HALVES_USER, /* user-callchains */
	SEAM_HALVES_NONE, /* call-graph=no */
};

struct seam_known_event { /* of perf's own names */
	const char *name;
	uint32_t type; /* as perf_event_attr has it */
	uint64_t config;
};

struct seam_event_name {
	/* Of NAME, with which the text begins; of a PMU's with its terms. */
	size_t base_len;
	size_t pmu_len; /* of the PMU's name; 0: it is no PMU's */
	/* NULL: raw, a PMU's, a tracepoint, or a probe if there is a probed
	 * file. */
	const struct seam_known_event *known;
	bool raw;
	uint64_t config; /* of raw */
	size_t file_at, file_len; /* of a probe, in the text; at 0: none */
	bool returns; /* uretprobe */
	bool user, kernel; /* modifiers; neither: as both */
	unsigned int precise; /* how many p: the attribute's precise_ip */
	bool precise_max; /* P: as many as there can be */
	bool has_max_stack;
	uint32_t max_stack; /* 0: no limit */
	enum seam_event_halves halves;
	bool no_payload; /* of a tracepoint */
	uint64_t freq, period; /* 0: not given */
	const char *label; /* in the text; NULL: no name= */
	size_t label_len;
};

/* -EINVAL: reterr says what is wrong with which part. */
int seam_event_name_parse(const char *text, struct seam_event_name *ret,
			  struct seam_errinfo *reterr);

/* Whether that is a term of ours, of whatever event. */
bool seam_event_name_owns(const char *key, size_t len);

/* The length of the first event of a list, to its comma or the end. */
size_t seam_event_name_end(const char *list);

#endif
