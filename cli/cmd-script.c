// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam script: every sample of a recording with its whole stack. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpus.h"
#include "cli/commands.h"
#include "cli/exported.h"
#include "cli/json-summary.h"
#include "cli/messages.h"
#include "perfdata/stream.h"
#include "report/order.h"

static const char help[] =
	"usage: seam script [OPTIONS]\n\n"
	"Prints every sample of a recording, the kernel and the user half of\n"
	"its stack joined.\n\n"
	"  -i, --input FILE    the recording, '-' for standard input\n"
	"                      (default: perf.data)\n"
	"      --format FORMAT perf: as perf script prints it (default)\n"
	"                      folded: one line a stack, root first, with how\n"
	"                      many samples have it\n"
	"                      json: one object a line and sample\n"
	"  -F, --fields +srcline\n"
	"                      perf: file and line below each frame\n"
	"      --full-source-path\n"
	"                      with the file's whole path\n"
	"      --inline, --no-inline\n"
	"                      with functions that were inlined (default), or\n"
	"                      without; json has files and lines only with\n"
	"      --join RULE     cookie: a sample has the stack of its cookie\n"
	"                      (default); order: the next of its thread\n"
	"      --window S      how many seconds a sample that comes by a pipe\n"
	"                      waits for its user stack (default: 2); all:\n"
	"                      nothing is printed before the pipe ends\n"
	"      --comm NAME     only samples of commands of this name\n"
	"      --event NAME    only samples of this event\n"
	"      --max-stack N   at most N frames of a stack, from the leaf\n"
	"      --no-demangle   C++ and Rust names as they are in the file\n"
	"      --kallsyms FILE kernel symbols (default: this kernel's)\n"
	"      --json-summary FILE\n"
	"                      what was counted, as JSON\n"
	"  -h, --help          this text\n\n"
	"A stack that is not whole says why: see seam-script(1).\n";

/* Tasks that are not asleep come out of the kernel in far less. */
#define WINDOW_NS 2000000000

/* Records of fewer are not worth a thread. */
#define ORDER_MIN 1024

enum { OPT_FORMAT = 256, OPT_FULL_PATH, OPT_WINDOW };

static const struct option options[] = {
	{"format", required_argument, NULL, OPT_FORMAT},
	{"fields", required_argument, NULL, 'F'},
	{"full-source-path", no_argument, NULL, OPT_FULL_PATH},
	{"window", required_argument, NULL, OPT_WINDOW},
	INPUT_OPTIONS,
};

enum format { FORMAT_PERF, FORMAT_FOLDED, FORMAT_JSON };

struct script {
	struct input in;
	enum format format;
};

static int parse_format(const char *s, enum format *ret)
{
	static const char *const names[] = {"perf", "folded", "json"};

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(s, names[i])) {
			*ret = (enum format)i;
			return 0;
		}
	say("seam script: '%s' is not a format; perf, folded and json "
	    "are\n",
	    s);
	return -1;
}

/* perf's other fields are not chosen among: the layout has what they name. */
static int parse_fields(const char *s, bool *ret_srcline)
{
	if (strcmp(s, "+srcline") != 0) {
		say("seam script: '%s' are no fields; +srcline is the one "
		    "that can be added\n",
		    s);
		return -1;
	}
	*ret_srcline = true;
	return 0;
}

static int parse_window(const char *s, struct input *in)
{
	char *end;
	double seconds = strtod(s, &end);

	in->has_window = strcmp(s, "all") != 0;
	if (!in->has_window)
		return 0;
	if (end == s || *end || !(seconds >= 0) || seconds > 1e9) {
		say("seam script: --window takes seconds, as in 0.5, or "
		    "all, not '%s'\n",
		    s);
		return -1;
	}
	in->window_ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int take_option(void *ctx, int option)
{
	struct script *script = ctx;

	switch (option) {
	case 'F':
		return parse_fields(optarg, &script->in.srcline);
	case OPT_FULL_PATH:
		script->in.full_path = true;
		return 0;
	case OPT_WINDOW:
		return parse_window(optarg, &script->in);
	}
	return parse_format(optarg, &script->format);
}

/* What is known is printed before more is waited for. That it cannot be is seen
 * when the next is written. */
struct printing {
	struct seam_strbuf b;
	int err; /* errno; 0: all could be written */
};

static void emit_text(struct printing *p, struct seam_strbuf *text)
{
	if (input_emit(text))
		p->err = errno;
}

static void emit(struct printing *p)
{
	emit_text(p, &p->b);
}

static void print_now(void *ctx)
{
	struct printing *p = ctx;

	emit(p);
	if (!p->err && fflush(stdout))
		p->err = errno;
}

/* One by one, as a pipe brings them. Return: 0, or -errno. */
static int print_each(struct input *in, bool json, struct printing *p)
{
	const struct seam_printer_opts opts = input_printer(in, json);
	struct seam_printer *printer;
	struct seam_stitched s;
	int rc = seam_printer_new(&opts, NULL, &printer);

	if (rc)
		return rc;
	if (seam_pd_is_stream(in->reader))
		seam_pd_stream_idle(in->reader, print_now, p);
	while (!p->err && (rc = input_next_sample(in, &s)) > 0) {
		rc = seam_printer_add(printer, &s, &p->b);
		if (rc)
			break;
		if (p->b.len >= 1 << 16)
			emit(p);
	}
	seam_printer_free(printer);
	return rc < 0 ? rc : 0;
}

static bool wants(const void *in, const struct seam_stitched *s)
{
	return input_wants(in, s);
}

static int print_in_order(struct seam_order *o, struct printing *p)
{
	struct seam_strbuf *text;
	int rc = 0;

	while (!p->err && (rc = seam_order_next(o, &text)) > 0)
		emit_text(p, text);
	return rc < 0 ? rc : 0;
}

/* Where there is more than one processor, and no payload, which one process
 * prints, and that slowly. */
static struct seam_order *order_of(struct input *in, bool json)
{
	const struct seam_order_opts opts = {.stitch = in->stitch,
					     .printer = input_printer(in, json),
					     .wants = wants,
					     .ctx = in};
	struct seam_order *o = NULL;

	if (seam_pd_is_stream(in->reader) || in->payloads || seam_cpus() < 2 ||
	    seam_pd_n_records(in->reader) < ORDER_MIN ||
	    seam_order_new(&opts, &o))
		return NULL;
	return o;
}

/* Return: 0 or -1. */
static int print_all(struct input *in, enum format format)
{
	const bool json = format == FORMAT_JSON;
	struct seam_order *o = order_of(in, json);
	struct printing p = {0};
	int rc = o ? print_in_order(o, &p) : print_each(in, json, &p);

	seam_order_free(o);
	input_stop(in);
	if (!p.err)
		emit(&p); /* what was good before an error too */
	seam_strbuf_fini(&p.b);
	if (rc)
		return input_failed(in, rc);
	if (p.err)
		errno = p.err; /* input_finish says it */
	return p.err ? -1 : 0;
}

static int print_folded(struct input *in)
{
	struct exported_to to = {.fd = STDOUT_FILENO};

	return exported_write(in, SEAM_EXPORT_FOLDED, &to, NULL);
}

static int run(struct script *script)
{
	struct input *in = &script->in;
	int rc, status;

	in->is_printed = script->format != FORMAT_FOLDED;
	if (input_open(in))
		return 1;
	rc = script->format == FORMAT_FOLDED ? print_folded(in)
					     : print_all(in, script->format);
	status = input_finish();
	input_warn(in);
	if (!rc)
		rc = json_summary_write(in, seam_stitch_stats(in->stitch),
					NULL);
	return rc ? 1 : status;
}

int cmd_script(int argc, char **argv)
{
	struct script script = {.in = INPUT_INIT};
	const struct input_command command = {.name = "script",
					      .help = help,
					      .options = options,
					      .letters = INPUT_LETTERS "F:",
					      .take = take_option,
					      .ctx = &script};
	int status;

	script.in.has_window = true;
	script.in.window_ns = WINDOW_NS;
	status = input_parse(&script.in, &command, argc, argv);

	if (status)
		return status < 0 ? 0 : status;
	status = run(&script);
	input_close(&script.in);
	return status;
}
