// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam export: a recording in the formats of other tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/exported.h"
#include "cli/json-summary.h"
#include "cli/messages.h"
#include "cli/replaced.h"

static const char help[] =
	"usage: seam export --to FORMAT [OPTIONS]\n\n"
	"Writes a recording, the kernel and the user half of its stacks\n"
	"joined, in a format of other tools.\n\n"
	"      --to FORMAT     folded: a line a stack and how often it was\n"
	"                      seen, for flame graphs\n"
	"                      speedscope: JSON for www.speedscope.app\n"
	"                      pprof: for go tool pprof and the like\n"
	"                      firefox: JSON for profiler.firefox.com\n"
	"                      chrome: JSON for chrome://tracing\n"
	"  -o, --output FILE   where to, '-' for standard output; what is\n"
	"                      there is replaced (default: perf.folded,\n"
	"                      perf.speedscope.json, perf.pb.gz,\n"
	"                      perf.firefox.json, perf.chrome.json)\n"
	"  -i, --input FILE    the recording, '-' for standard input\n"
	"                      (default: perf.data)\n"
	"      --join RULE     cookie: a sample has the stack of its cookie\n"
	"                      (default); order: the next of its thread\n"
	"      --comm NAME     only samples of commands of this name\n"
	"      --event NAME    only samples of this event\n"
	"      --max-stack N   at most N frames of a stack, from the leaf\n"
	"      --inline, --no-inline\n"
	"                      with functions that were inlined (default), or\n"
	"                      without them, and without files and lines\n"
	"      --no-demangle   C++ and Rust names as they are in the file\n"
	"      --kallsyms FILE kernel symbols (default: this kernel's)\n"
	"      --json-summary FILE\n"
	"                      what was counted, as JSON\n"
	"  -h, --help          this text\n\n"
	"What each format cannot hold is in seam-export(1).\n";

enum { OPT_TO = 256 };

static const struct option options[] = {
	{"to", required_argument, NULL, OPT_TO},
	{"output", required_argument, NULL, 'o'},
	INPUT_OPTIONS,
};

static const struct format {
	const char *name;
	enum seam_export_format format;
	const char *out; /* where to unless told */
	bool binary; /* nothing for a terminal */
} formats[] = {
	{"folded", SEAM_EXPORT_FOLDED, "perf.folded", false},
	{"speedscope", SEAM_EXPORT_SPEEDSCOPE, "perf.speedscope.json", false},
	{"pprof", SEAM_EXPORT_PPROF, "perf.pb.gz", true},
	{"firefox", SEAM_EXPORT_FIREFOX, "perf.firefox.json", false},
	{"chrome", SEAM_EXPORT_CHROME, "perf.chrome.json", false},
};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

struct export
{
	struct input in;
	const struct format *format;
	const char *out;
	struct seam_export_counts counts;
	bool told; /* why it cannot be written */
};

static void list_formats(struct message *m)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		message_add(m, "%s%s",
			    !i			? ""
			    : i + 1 < N_FORMATS ? ", "
						: " and ",
			    formats[i].name);
}

static int take_option(void *ctx, int option)
{
	struct export *e = ctx;
	struct message m = {0};

	if (option == 'o') {
		e->out = optarg;
		return 0;
	}
	for (size_t i = 0; i < N_FORMATS; i++)
		if (!strcmp(optarg, formats[i].name)) {
			e->format = &formats[i];
			return 0;
		}
	message_add(&m, "seam export: '%s' is not a format; ", optarg);
	list_formats(&m);
	message_add(&m, " are\n");
	message_say(&m);
	return -1;
}

static int check_usage(struct export *e)
{
	struct message m = {0};

	if (!e->format) {
		message_add(&m, "seam export: --to is needed: ");
		list_formats(&m);
		message_add(&m, " are formats\n");
		message_say(&m);
		return -1;
	}
	if (!e->out)
		e->out = e->format->out;
	if (strcmp(e->out, "-") != 0 || !e->format->binary ||
	    !isatty(STDOUT_FILENO))
		return 0;
	say("seam export: %s is not text, and standard output is a "
	    "terminal; name a file with -o\n",
	    e->format->name);
	return -1;
}

/* Samples that are not whole, by reason, and what else was left out. */
static void say_counts(const struct export *e,
		       const struct seam_export_counts *c)
{
	const struct seam_stitch_stats *st = seam_stitch_stats(e->in.stitch);
	struct message m = {0};
	const char *between = " (";
	uint64_t not_whole = c->samples - c->whole - c->no_user - c->end[0];

	message_add(&m, "seam: %s: %llu samples, %llu whole",
		    strcmp(e->out, "-") != 0 ? e->out : e->in.path,
		    (unsigned long long)c->samples,
		    (unsigned long long)c->whole);
	if (c->no_user)
		message_add(&m, ", %llu no-user",
			    (unsigned long long)c->no_user);
	if (c->end[0])
		message_add(&m, ", %llu not said",
			    (unsigned long long)c->end[0]);
	message_add(&m, ", %llu not whole", (unsigned long long)not_whole);
	for (int i = 1; i < SEAM_END_MAX; i++) {
		if (!c->end[i])
			continue;
		message_add(&m, "%s%s %llu", between, seam_err_name(i),
			    (unsigned long long)c->end[i]);
		between = ", ";
	}
	message_add(&m, "%s", not_whole ? ")" : "");
	if (st->lost_samples || st->lost_records)
		message_add(&m, ", %llu samples and %llu records lost",
			    (unsigned long long)st->lost_samples,
			    (unsigned long long)st->lost_records);
	if (c->cut_names)
		message_add(&m, ", %llu names cut",
			    (unsigned long long)c->cut_names);
	message_add(&m, "\n");
	message_say(&m);
}

static int complain(const char *path, int rc)
{
	if (rc == -EINVAL)
		say("seam: %s: it is no regular file; '-o -' writes to "
		    "standard output\n",
		    path);
	else
		say("seam: %s: %s\n", path, strerror(-rc));
	return -1;
}

static int write_to(void *ctx, int fd)
{
	struct export *e = ctx;
	struct exported_to to = {.path = e->out, .fd = fd};
	int rc = exported_write(&e->in, e->format->format, &to, &e->counts);

	e->told = rc;
	return rc;
}

/* Return: 0 or -1, said on stderr. */
static int to_file(struct export *e)
{
	const struct replaced r = {.path = e->out,
				   .like_fd = REPLACED_OWN,
				   .make = write_to,
				   .ctx = e};
	int rc;

	if (input_is(&e->in, e->out)) {
		say("seam: %s: that is the recording itself\n", e->out);
		return -1;
	}
	rc = replaced(&r);
	if (rc && !e->told)
		complain(e->out, rc);
	return rc ? -1 : 0;
}

/* The same for programs. What was exported may be a part of all samples. */
static int write_counts(const struct export *e)
{
	const struct seam_export_counts *c = &e->counts;
	struct seam_strbuf b = {0};
	int rc;

	if (!e->in.json_summary)
		return 0;
	seam_strbuf_printf(
		&b,
		"\"exported\":{\"samples\":%llu,\"whole\":%llu,"
		"\"no_user\":%llu,\"not_said\":%llu,\"end\":{",
		(unsigned long long)c->samples, (unsigned long long)c->whole,
		(unsigned long long)c->no_user, (unsigned long long)c->end[0]);
	for (int i = SEAM_OUTERMOST + 1; i <= SEAM_END_LAST; i++)
		seam_strbuf_printf(
			&b, "%s\"%s\":%llu", i > SEAM_OUTERMOST + 1 ? "," : "",
			seam_err_name(i), (unsigned long long)c->end[i]);
	seam_strbuf_printf(&b, "},\"names_cut\":%llu}",
			   (unsigned long long)c->cut_names);
	rc = b.err ? complain(e->in.json_summary, b.err)
		   : json_summary_write(&e->in, seam_stitch_stats(e->in.stitch),
					b.s);
	seam_strbuf_fini(&b);
	return rc;
}

static int run(struct export *e)
{
	struct exported_to to = {.fd = STDOUT_FILENO};
	int rc;

	if (input_open(&e->in))
		return 1;
	if (strcmp(e->out, "-") != 0)
		rc = to_file(e);
	else
		rc = exported_write(&e->in, e->format->format, &to, &e->counts);
	if (rc)
		return 1;
	input_warn(&e->in);
	say_counts(e, &e->counts);
	return write_counts(e) ? 1 : 0;
}

int cmd_export(int argc, char **argv)
{
	struct export e = {.in = INPUT_INIT};
	const struct input_command command = {.name = "export",
					      .help = help,
					      .options = options,
					      .letters = INPUT_LETTERS "o:",
					      .take = take_option,
					      .ctx = &e};
	int status = input_parse(&e.in, &command, argc, argv);

	if (status)
		return status < 0 ? 0 : status;
	if (check_usage(&e))
		return 2;
	status = run(&e);
	input_close(&e.in);
	return status;
}
