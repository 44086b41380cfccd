// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record-options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/bad-option.h"
#include "cli/messages.h"
#include "cli/number.h"
#include "cli/record-pattern.h"
#include "cli/record-perf.h"
#include "event/event-name.h"
#include "event/order.h"
#include "kernel/engine.h"

static const char usage_text[] =
	"usage: seam record [OPTIONS] [-a | -p PID | -t TID | [--] COMMAND]\n"
	"\n"
	"Records whole call stacks of tasks to perf.data.\n"
	"\n"
	"  -e, --event EVENT     cpu-clock, task-clock, cycles, instructions,\n"
	"                        branches, branch-misses, cache-references, "
	"cache-misses,\n"
	"                        page-faults, minor-faults, major-faults,\n"
	"                        context-switches, cpu-migrations, or a\n"
	"                        tracepoint, as sched:sched_switch, or "
	"several,\n"
	"                        as 'sched:*exec*', or a place\n"
	"                        in a program, uprobe:FILE:FUNCTION or\n"
	"                        uretprobe:FILE:FUNCTION; a list, or\n"
	"                        repeated (default: cycles, or cpu-clock "
	"where\n"
	"                        there is no PMU). EVENT:u tells nothing of "
	"the\n"
	"                        kernel, EVENT:k is the kernel's alone, "
	"EVENT:p,\n"
	"                        :pp and :ppp are ever more precise, :P as can "
	"be;\n"
	"                        rHEX is the hardware's event of that number; "
	"and\n"
	"                        EVENT/TERM,TERM.../ with max-stack=N, "
	"freq=HZ,\n"
	"                        period=N, name=TEXT, kernel-callchains,\n"
	"                        user-callchains or call-graph=no\n"
	"  -F, --freq HZ         samples a second (default 999), or max, which "
	"is\n"
	"                        20000 at most; a tracepoint is sampled at "
	"each\n"
	"                        hit, or by -c\n"
	"  -c, --count N         a sample every N events instead\n"
	"      --off-cpu         -e offcpu-time as well: where tasks sleep, "
	"and\n"
	"                        for how long\n"
	"  -p, --pid PID[,PID]   running processes, and their children\n"
	"  -t, --tid TID[,TID]   running threads, and what they start\n"
	"  -a, --all, --all-cpus every task of the machine\n"
	"  -o, --output FILE     default perf.data; an old one is kept as "
	".old;\n"
	"                        '-' is standard output, for a pipe\n"
	"  -g                    stacks; always on, and whole, for perf's "
	"users\n"
	"      --call-graph M    the same, by fp, dwarf or lbr\n"
	"      --max-stack N     frames of a user stack, to 8184; 0: no limit "
	"(0)\n"
	"      --stack-copy B    bytes of stack to copy, at most 65536: where "
	"there\n"
	"                        is no table yet (65536); of each sample, "
	"with\n"
	"                        --engine dump (32768)\n"
	"      --table-memory B  for tables in the kernel; K, M, G (512M)\n"
	"      --tables WHERE    kernel; mapped: of a file with .sframe, in "
	"its\n"
	"                        process; auto: that where the memory is "
	"spent\n"
	"  -m, --mmap-pages N    pages of each buffer between kernel and seam, "
	"a\n"
	"                        power of two; or a size in B, K, M, G\n"
	"      --merge           whole stacks in each sample, for perf before "
	"6.19\n"
	"      --live            with -o -: for a reader that shows what is "
	"there\n"
	"      --stacks-only     user stacks alone, with the times between "
	"which\n"
	"                        they hold: to join to another tracer's "
	"events\n"
	"      --unwind ORDER    how frames are found: sframe, fp, guess, "
	"guess-all,\n"
	"                        in the order to try them (sframe,fp)\n"
	"      --duration S      seconds to record\n"
	"      --engine E        how to get user stacks: auto (the best that "
	"works),\n"
	"                        deferred, immediate, at the event itself, "
	"dump,\n"
	"                        which needs no rights for your own "
	"programs, or\n"
	"                        native, the kernel's own, by frame pointers "
	"alone\n"
	"  -z, --compress LEVEL, --compression-level LEVEL\n"
	"                        zstd level, 0 to 19; 0: none (1)\n"
	"  -C, --cpu LIST        every task on these CPUs, as 0,2-3\n"
	"  -u, --uid USER        the processes of a user, and their children\n"
	"  -i, --no-inherit      the command's first thread alone, or the "
	"threads\n"
	"                        that -p and -u find, and nothing they "
	"start\n"
	"  -D, --delay MS        let the command run for so long first\n"
	"      --all-user        EVENT:u of all events; --all-kernel: EVENT:k\n"
	"      --json-summary F  the summary as JSON too\n"
	"  -q, --quiet           no summary; -v, --verbose: one\n"
	"  -k, --clockid mono    no other clock is taken\n"
	"  -h, --help            this\n";

static int bad(const char *option, const char *value, const char *want)
{
	say("seam: record: %s '%s': %s\n", option, value, want);
	return 2;
}

static int parse_ids(struct record_options *o, const char *list)
{
	while (*list) {
		char *end;
		unsigned long id = strtoul(list, &end, 10);
		uint32_t *ids;

		if (end == list || !id || id > INT32_MAX ||
		    (*end && *end != ','))
			return -EINVAL;
		ids = realloc(o->ids, (o->n_ids + 1) * sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		o->ids = ids;
		o->ids[o->n_ids++] = (uint32_t)id;
		list = *end ? end + 1 : end;
	}
	return o->n_ids ? 0 : -EINVAL;
}

enum { /* options without a letter */
       OPT_MAX_STACK = 256,
       OPT_STACK_COPY,
       OPT_TABLE_MEMORY,
       OPT_DURATION,
       OPT_ENGINE,
       OPT_JSON,
       OPT_OFF_CPU,
       OPT_UNWIND,
       OPT_STACKS_ONLY,
       OPT_LIVE,
       OPT_MERGE,
       OPT_CALL_GRAPH,
       OPT_TABLES,
};

static const struct option long_options[] = {
	{"event", required_argument, NULL, 'e'},
	{"freq", required_argument, NULL, 'F'},
	{"count", required_argument, NULL, 'c'},
	{"pid", required_argument, NULL, 'p'},
	{"tid", required_argument, NULL, 't'},
	{"all", no_argument, NULL, 'a'},
	{"all-cpus", no_argument, NULL, 'a'},
	{"call-graph", required_argument, NULL, OPT_CALL_GRAPH},
	{"output", required_argument, NULL, 'o'},
	{"mmap-pages", required_argument, NULL, 'm'},
	{"max-stack", required_argument, NULL, OPT_MAX_STACK},
	{"stack-copy", required_argument, NULL, OPT_STACK_COPY},
	{"table-memory", required_argument, NULL, OPT_TABLE_MEMORY},
	{"tables", required_argument, NULL, OPT_TABLES},
	{"unwind", required_argument, NULL, OPT_UNWIND},
	{"duration", required_argument, NULL, OPT_DURATION},
	{"engine", required_argument, NULL, OPT_ENGINE},
	{"compress", optional_argument, NULL, 'z'},
	{"compression-level", optional_argument, NULL, 'z'},
	{"json-summary", required_argument, NULL, OPT_JSON},
	{"off-cpu", no_argument, NULL, OPT_OFF_CPU},
	{"merge", no_argument, NULL, OPT_MERGE},
	{"live", no_argument, NULL, OPT_LIVE},
	{"stacks-only", no_argument, NULL, OPT_STACKS_ONLY},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
};

#define N_LONG (sizeof(long_options) / sizeof(long_options[0]))

/* Options whose value is a number in a range. */
static int on_number(struct record_options *o, int c, const char *value)
{
	uint64_t v = 0;
	bool units = c == OPT_TABLE_MEMORY || c == OPT_STACK_COPY;
	int err;

	if (c == 'F' && !strcmp(value, "max")) {
		o->freq = record_perf_max_freq();
		return -1;
	}
	err = cli_number(value, units, &v);

	switch (c) {
	case 'F':
		o->freq = v;
		return err || !v || v > 100000
			       ? bad("-F", value, "want 1 to 100000 Hz")
			       : -1;
	case 'c':
		o->period = v;
		return err || !v ? bad("-c", value, "want 1 or more events")
				 : -1;
	case 'z':
		o->zstd_level = (int)v;
		return err || v > 19 ? bad("-z", value, "want 0 to 19") : -1;
	case OPT_MAX_STACK:
		o->max_stack = (uint32_t)v;
		return err || v > SEAM_CLIENT_MAX_FRAMES
			       ? bad("--max-stack", value,
				     "want 1 to 8184, or 0 for no limit")
			       : -1;
	case OPT_STACK_COPY:
		o->stack_copy = (uint32_t)v;
		return err || v < 256 || v > 65536
			       ? bad("--stack-copy", value, "want 256 to 65536")
			       : -1;
	case OPT_TABLE_MEMORY:
		o->table_memory = v;
		return err || !v || v > 1ULL << 30
			       ? bad("--table-memory", value,
				     "want at most 1G, as in 512M")
			       : -1;
	}
	return 2;
}

static int on_target(struct record_options *o, int c, const char *value)
{
	enum seam_tasks tasks = c == 'a'   ? SEAM_TASKS_ALL
				: c == 'p' ? SEAM_TASKS_PROCESSES
					   : SEAM_TASKS_THREADS;

	if (o->by_user ||
	    (o->tasks != tasks && (o->n_ids || o->tasks == SEAM_TASKS_ALL))) {
		say("seam: record: -a, -p, -t and -u exclude each other\n");
		return 2;
	}
	o->tasks = tasks;
	if (c != 'a' && parse_ids(o, value))
		return bad(c == 'p' ? "-p" : "-t", value,
			   "want numbers, separated by commas");
	return -1;
}

static int add_event(struct record_options *o, const char *name, size_t len)
{
	if (!len)
		return bad("-e", name, "want an event, or several with commas");
	if (record_is_pattern(name, len))
		return record_pattern(o, name, len, add_event);
	if (o->n_events == sizeof(o->events) / sizeof(o->events[0]))
		return bad("-e", name, "16 events are the most");
	o->names[o->n_events] = strndup(name, len);
	if (!o->names[o->n_events])
		return bad("-e", name, "no memory");
	o->events[o->n_events].name = o->names[o->n_events];
	o->n_events++;
	return -1;
}

static int on_event(struct record_options *o, const char *list)
{
	for (;;) {
		int status;

		if (*list == '{') {
			status = record_perf_group(o, &list, add_event);
		} else {
			size_t len = seam_event_name_end(list);

			status = add_event(o, list, len);
			list += len;
		}
		if (status >= 0 || !*list)
			return status;
		list++;
	}
}

/* Alone it is a level, and so is a number behind it, as --compress 3 was here
 * before perf's -z: no command has such a name. */
static int on_compress(struct record_options *o, const char *value)
{
	const char *next = o->argv[optind];
	const char *level = value && *value == '=' ? value + 1 : value;

	if (!level && next && *next &&
	    strspn(next, "0123456789") == strlen(next)) {
		level = next;
		optind++;
	}
	if (level)
		return on_number(o, 'z', level);
	o->zstd_level = 1;
	return -1;
}

static int on_duration(struct record_options *o, const char *value)
{
	char *end;

	o->duration_s = strtod(value, &end);
	if (end == value || *end || !(o->duration_s > 0) || o->duration_s > 1e9)
		return bad("--duration", value, "want seconds, as in 2.5");
	return -1;
}

static int on_engine(struct record_options *o, const char *value)
{
	if (!seam_engine_by_name(value, &o->engine))
		return bad("--engine", value,
			   "want auto, deferred, immediate, native or dump; "
			   "'seam doctor' says which work here");
	return -1;
}

static int on_tables(struct record_options *o, const char *value)
{
	static const char *const names[] = {
		[SEAM_TABLES_AUTO] = "auto",
		[SEAM_TABLES_KERNEL] = "kernel",
		[SEAM_TABLES_MAPPED] = "mapped",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]))
			continue;
		o->tables_from = (enum seam_tables_from)i;
		return -1;
	}
	return bad("--tables", value, "want auto, kernel or mapped");
}

/*
 * As perf has it: a number of pages, which is a power of two; or a size with
 * its unit, taken up to the next such number of pages.
 */
static int on_pages(struct record_options *o, const char *value)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), v = 0, pages = 1;
	int err = cli_number(value, true, &v);
	bool is_size = !err && strpbrk(value, "bBkKmMgG");

	if (is_size)
		v = v / page + (v % page != 0);
	while (pages < v && pages < SEAM_SESSION_MAX_PAGES)
		pages *= 2;
	if (err || !v || v > pages || (!is_size && v != pages))
		return bad("-m", value,
			   "want a power of two of pages, as 512, or a size "
			   "with its unit, as 2M; at most 65536 pages");
	o->buffer_pages = (uint32_t)pages;
	return -1;
}

static int on_unwind(struct record_options *o, const char *value)
{
	uint32_t methods;
	const char *wrong = seam_order_parse(value, &methods);

	if (wrong)
		return bad("--unwind", value, wrong);
	o->unwind = value;
	return -1;
}

/* perf's ways to stacks, of which none is taken: all get whole ones. */
static int on_call_graph(const char *value)
{
	static const char *const ways[] = {"fp", "dwarf", "lbr"};
	size_t len = strcspn(value, ",");

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (len == strlen(ways[i]) && !strncmp(value, ways[i], len))
			return -1;
	return bad("--call-graph", value,
		   "want fp, dwarf or lbr, which make no difference: stacks "
		   "are whole; see --engine and --unwind");
}

static int on_option(struct record_options *o, int c)
{
	int status = record_perf_take(o, c, optarg);

	if (status != -2)
		return status;
	switch (c) {
	case 'e':
		return on_event(o, optarg);
	case 'p':
	case 't':
	case 'a':
		return on_target(o, c, optarg);
	case 'o':
		o->output = optarg;
		return -1;
	case 'g':
		return -1;
	case 'q':
		o->quiet = true;
		return -1;
	case OPT_OFF_CPU:
		o->off_cpu = true;
		return -1;
	case OPT_STACKS_ONLY:
		o->stacks_only = true;
		return -1;
	case OPT_LIVE:
		o->live = true;
		return -1;
	case OPT_MERGE:
		o->merge = true;
		return -1;
	case OPT_CALL_GRAPH:
		return on_call_graph(optarg);
	case OPT_DURATION:
		return on_duration(o, optarg);
	case 'm':
		return on_pages(o, optarg);
	case OPT_UNWIND:
		return on_unwind(o, optarg);
	case 'z':
		return on_compress(o, optarg);
	case OPT_ENGINE:
		return on_engine(o, optarg);
	case OPT_TABLES:
		return on_tables(o, optarg);
	case OPT_JSON:
		o->json_summary = optarg;
		return -1;
	case 'h':
		fputs(usage_text, stdout);
		return 0;
	case '?':
		return bad_option("record", o->argv);
	}
	return on_number(o, c, optarg);
}

bool record_to_stdout(const struct record_options *o)
{
	return !strcmp(o->output, "-");
}

/* A pipe's reader is on this machine and wants it soon: not compressed. */
static int complete_output(struct record_options *o)
{
	if (o->merge && o->stacks_only) {
		say("seam: record: --merge and --stacks-only exclude each "
		    "other\n");
		return 2;
	}
	if (o->merge && record_to_stdout(o)) {
		say("seam: record: --merge goes back over what was written; "
		    "name a file with -o, or lead it through 'seam inject "
		    "-i - -o -'\n");
		return 2;
	}
	if (o->live && !record_to_stdout(o)) {
		say("seam: record: --live is for who reads along: it takes "
		    "-o -\n");
		return 2;
	}
	if (record_to_stdout(o) && isatty(STDOUT_FILENO)) {
		say("seam: record: -o - writes a recording, and standard "
		    "output is a terminal; lead it elsewhere\n");
		return 2;
	}
	if (o->zstd_level < 0)
		o->zstd_level = record_to_stdout(o) ? 0 : 1;
	return -1;
}

/* What follows from all options together. */
static int complete(struct record_options *o, int argc, char **argv)
{
	int status;

	if (optind < argc)
		o->command = argv + optind;
	if (o->live && o->command) {
		say("seam: record: --live is for what runs already, and "
		    "takes no command\n");
		return 2;
	}
	if (o->live && !o->n_ids && !o->n_cpus)
		o->tasks = SEAM_TASKS_ALL;
	if (!o->command && !o->n_ids && o->tasks != SEAM_TASKS_ALL &&
	    !o->n_cpus) {
		say("seam: record: nothing to record: give a command, -p, "
		    "-t or -a\n");
		return 2;
	}
	if (o->freq && o->period) {
		say("seam: record: -F and -c exclude each other\n");
		return 2;
	}
	status = complete_output(o);
	if (status >= 0)
		return status;
	if (!o->n_events)
		o->n_events = 1; /* without a name */
	if (o->off_cpu && (status = add_event(o, SEAM_SLEEP_EVENT,
					      strlen(SEAM_SLEEP_EVENT))) >= 0)
		return status;
	status = record_perf_complete(o);
	if (status >= 0)
		return status;
	if (!o->max_stack)
		o->max_stack = SEAM_CLIENT_MAX_FRAMES;
	for (size_t i = 0; i < o->n_events; i++) {
		o->events[i].period = o->period;
		o->events[i].freq = o->period ? 0 : o->freq ? o->freq : 999;
	}
	return -1;
}

int record_options_parse(struct record_options *o, int argc, char **argv)
{
	struct option all[N_LONG + RECORD_PERF_ROOM];
	int c, status = -1;

	memcpy(all, long_options, sizeof(long_options));
	record_perf_options(all + N_LONG, RECORD_PERF_ROOM);
	*o = (struct record_options){
		.tasks = SEAM_TASKS_PROCESSES,
		.output = "perf.data",
		.table_memory = 512ULL << 20,
		.zstd_level = -1,
		.argv = argv,
		.argc = argc,
	};
	optind = 1;
	while (status < 0 &&
	       (c = getopt_long(argc, argv,
				"+e:F:c:p:t:ao:gm:z::qh" RECORD_PERF_LETTERS,
				all, NULL)) != -1)
		status = on_option(o, c);
	if (status < 0)
		status = complete(o, argc, argv);
	if (status >= 0)
		record_options_fini(o);
	return status;
}

void record_options_fini(struct record_options *o)
{
	for (size_t i = 0; i < o->n_events; i++) {
		free(o->names[i]);
		o->names[i] = NULL;
	}
	free(o->ids);
	free(o->cpus);
	o->ids = o->cpus = NULL;
}
