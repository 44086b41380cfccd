// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam report: a recording added up, as call tree and table. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/doubts.h"
#include "cli/input.h"
#include "cli/json-summary.h"
#include "cli/messages.h"
#include "report/render.h"

static const char help[] =
	"usage: seam report [OPTIONS]\n\n"
	"Adds up a recording: how many samples and how many whole stacks, a\n"
	"call tree from the outermost function, and a table of functions.\n\n"
	"  -i, --input FILE      the recording, '-' for standard input\n"
	"                        (default: perf.data)\n"
	"      --stdio           as text, which is the only way yet\n"
	"      --json            all of it, for programs\n"
	"      --join RULE       cookie: a sample has the stack of its cookie\n"
	"                        (default); order: the next of its thread\n"
	"      --comm NAME       only samples of commands of this name\n"
	"      --event NAME      only samples of this event\n"
	"      --percent-limit P leave out what is under P % (default: 0.5)\n"
	"      --max-stack N     at most N frames of a stack, from the leaf\n"
	"      --no-demangle     C++ and Rust names as they are in the file\n"
	"      --kallsyms FILE   kernel symbols (default: this kernel's)\n"
	"      --json-summary FILE\n"
	"                        what was counted, as JSON, beside the text\n"
	"      --inline, --no-inline\n"
	"                        functions that were inlined have frames of\n"
	"                        their own (default), or have none\n"
	"  -h, --help            this text\n";

enum { OPT_STDIO = 256, OPT_JSON, OPT_PERCENT };

static const struct option options[] = {
	{"stdio", no_argument, NULL, OPT_STDIO},
	{"json", no_argument, NULL, OPT_JSON},
	{"percent-limit", required_argument, NULL, OPT_PERCENT},
	INPUT_OPTIONS,
};

struct report {
	struct input in;
	struct seam_style style;
	bool json;
	struct seam_profile *profiles; /* one for each event */
	size_t n;
	size_t n_used; /* of them have samples */
};

static int parse_percent(const char *text, double *ret)
{
	char *end;
	double p = strtod(text, &end);

	if (end == text || *end || !(p >= 0 && p <= 100)) {
		say("seam report: --percent-limit takes a number from 0 "
		    "to 100, not '%s'\n",
		    text);
		return -1;
	}
	*ret = p;
	return 0;
}

static int take_option(void *ctx, int option)
{
	struct report *r = ctx;

	switch (option) {
	case OPT_JSON:
		r->json = true;
		return 0;
	case OPT_PERCENT:
		return parse_percent(optarg, &r->style.min_percent);
	}
	return 0; /* OPT_STDIO: the only way yet */
}

static void choose_style(struct seam_style *style)
{
	setlocale(LC_CTYPE, "");
	style->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	style->colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

static int out_of_memory(void)
{
	say("seam: no memory\n");
	return -1;
}

/* What a profile returned; -1 is input_emit's, and told. */
static int told(int rc)
{
	if (rc == -ENOMEM)
		return out_of_memory();
	if (rc == -EOVERFLOW)
		say("seam: the recording has too many different stacks\n");
	return rc ? -1 : 0;
}

/* Profiles share what memory one may have. */
static int add(struct report *r, struct seam_profile *p,
	       const struct seam_text *t)
{
	if (!p->samples)
		r->n_used++;
	p->most = SEAM_PROFILE_MOST / r->n_used;
	return seam_profile_add(p, t);
}

static int collect(struct report *r)
{
	struct seam_stitched s;
	struct seam_text t;
	int rc;

	r->profiles =
		calloc(seam_pd_n_events(r->in.reader), sizeof(*r->profiles));
	if (!r->profiles)
		return out_of_memory();
	for (; r->n < seam_pd_n_events(r->in.reader); r->n++)
		if (seam_profile_init(&r->profiles[r->n],
				      seam_pd_event(r->in.reader, r->n)->name))
			return out_of_memory();
	while ((rc = input_next(&r->in, &s, &t)) > 0)
		if (add(r, &r->profiles[s.rec->event], &t)) {
			input_stop(&r->in);
			return out_of_memory();
		}
	return rc;
}

static void print_passed(const struct report *r, struct seam_strbuf *b)
{
	const char *between = "Passed over: ", *name;
	bool any = false;
	uint64_t n;

	for (size_t i = 0;
	     (name = seam_pd_passed_over(r->in.reader, i, &n)) != NULL; i++) {
		if (!n)
			continue;
		seam_strbuf_printf(b, "%s%s %llu", between, name,
				   (unsigned long long)n);
		between = ", ";
		any = true;
	}
	if (any)
		seam_strbuf_puts(b, "\n");
}

static void put_plain(struct seam_strbuf *b, const char *what, const char *s)
{
	if (!s)
		return;
	seam_strbuf_puts(b, what);
	seam_strbuf_plain(b, s);
}

static void print_head(struct report *r, struct seam_strbuf *b)
{
	const struct seam_pd_info *info = seam_pd_info(r->in.reader);
	const struct seam_stitch_stats *st = seam_stitch_stats(r->in.stitch);
	double seconds = (double)(st->last_ns - st->first_ns) / 1e9;

	seam_strbuf_puts(b, "Recording: ");
	seam_strbuf_plain(b, r->in.path);
	put_plain(b, ", by ", info->cmdline);
	put_plain(b, ", on Linux ", info->osrelease);
	if (seconds > 0)
		seam_strbuf_printf(b, ", over %.1f s", seconds);
	seam_strbuf_puts(b, "\n");
	seam_render_counts(b, st);
	print_passed(r, b);
}

static int print_profile(const struct report *r, struct seam_profile *p,
			 struct seam_strbuf *b)
{
	int rc = seam_profile_sort(p, seam_render_least(p, &r->style));

	if (rc)
		return rc;
	seam_strbuf_puts(b, "\nEvent: ");
	seam_strbuf_plain(b, p->event);
	seam_strbuf_printf(b, ", %llu samples", (unsigned long long)p->samples);
	if (p->in_ns)
		seam_strbuf_printf(b, ", %.3f ms", (double)p->weight / 1e6);
	seam_strbuf_puts(b, "\n\n");
	rc = seam_render_tree(b, p, &r->style, input_emit);
	seam_strbuf_puts(b, "\n");
	return rc ? rc : seam_render_table(b, p, &r->style);
}

static int print_text(struct report *r, struct seam_strbuf *b)
{
	int rc = 0;

	print_head(r, b);
	for (size_t i = 0; !rc && i < r->n; i++)
		if (r->profiles[i].samples)
			rc = print_profile(r, &r->profiles[i], b);
	return rc ? told(rc) : input_emit(b);
}

static int print_json(struct report *r, struct seam_strbuf *b)
{
	const char *comma = "";
	int rc;

	seam_strbuf_puts(b, "{");
	json_summary_head(b, &r->in, seam_stitch_stats(r->in.stitch));
	seam_strbuf_puts(b, ",\"events\":[");
	for (size_t i = 0; i < r->n; i++) {
		if (!r->profiles[i].samples)
			continue;
		seam_strbuf_puts(b, comma);
		comma = ",\n";
		rc = told(seam_json_profile(b, &r->profiles[i], input_emit));
		if (rc)
			return rc;
	}
	seam_strbuf_puts(b, "]}\n");
	return input_emit(b);
}

static int run(struct report *r)
{
	struct seam_strbuf b = {0};
	int rc, status;

	if (input_open(&r->in))
		return 1;
	rc = collect(r);
	if (!rc)
		rc = r->json ? print_json(r, &b) : print_text(r, &b);
	seam_strbuf_fini(&b);
	status = input_finish();
	input_warn(&r->in);
	if (!r->json)
		doubts_say_stripped(seam_resolver_symbolizer(r->in.resolver));
	if (!rc)
		rc = json_summary_write(&r->in, seam_stitch_stats(r->in.stitch),
					NULL);
	return rc ? 1 : status;
}

int cmd_report(int argc, char **argv)
{
	struct report r = {.in = INPUT_INIT, .style.min_percent = 0.5};
	const struct input_command command = {.name = "report",
					      .help = help,
					      .options = options,
					      .take = take_option,
					      .ctx = &r};
	int status = input_parse(&r.in, &command, argc, argv);

	if (status)
		return status < 0 ? 0 : status;
	choose_style(&r.style);
	status = run(&r);
	for (size_t i = 0; i < r.n; i++)
		seam_profile_fini(&r.profiles[i]);
	free(r.profiles);
	input_close(&r.in);
	return status;
}
