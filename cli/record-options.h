/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The command line of `seam record`. */
#ifndef SEAM_CLI_RECORD_OPTIONS_H
#define SEAM_CLI_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "seam/tracer.h"

struct record_options {
	struct seam_client_event events[16];
	char *names[16]; /* of events */
	size_t n_events;
	uint64_t freq, period;
	enum seam_tasks tasks;
	uint32_t *ids;
	size_t n_ids;
	uint32_t *cpus; /* NULL: all */
	size_t n_cpus;
	uint64_t delay_ms; /* the command runs before it is recorded */
	char mode; /* 'u' or 'k', which events are to have; 0: as named */
	const char *output, *json_summary;
	uint32_t max_stack, stack_copy; /* copy 0: the engine's usual */
	enum seam_engine engine;
	uint32_t buffer_pages; /* 0: the library's choice */
	uint64_t table_memory;
	enum seam_tables_from tables_from;
	const char *unwind; /* NULL: the default */
	double duration_s;
	int zstd_level; /* < 0 while nobody said one */
	bool by_user; /* -u named the processes */
	bool no_inherit; /* only what was named, not what that starts */
	bool quiet, off_cpu, stacks_only, live, merge;
	char **command; /* NULL: none */
	char **argv;
	int argc;
};

/* Return: -1 to go on; else the exit status. Strings are argv's. */
int record_options_parse(struct record_options *o, int argc, char **argv);
/* The recording is what seam prints; the command's output goes elsewhere. */
bool record_to_stdout(const struct record_options *o);
void record_options_fini(struct record_options *o);

#endif
