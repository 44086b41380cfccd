// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam script: every sample of a recording with its whole stack. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "lib/report/fold.h"

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
	"      --comm NAME     only samples of commands of this name\n"
	"      --event NAME    only samples of this event\n"
	"      --max-stack N   at most N frames of a stack, from the leaf\n"
	"      --no-demangle   C++ and Rust names as they are in the file\n"
	"      --kallsyms FILE kernel symbols (default: this kernel's)\n"
	"  -h, --help          this text\n\n"
	"A stack that is not whole says why: see seam-script(1).\n";

enum { OPT_FORMAT = 256, OPT_COMM, OPT_EVENT, OPT_DEPTH, OPT_RAW, OPT_KSYMS };

static const struct option options[] = {
	{"input", required_argument, NULL, 'i'},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"comm", required_argument, NULL, OPT_COMM},
	{"event", required_argument, NULL, OPT_EVENT},
	{"max-stack", required_argument, NULL, OPT_DEPTH},
	{"no-demangle", no_argument, NULL, OPT_RAW},
	{"kallsyms", required_argument, NULL, OPT_KSYMS},
	{"help", no_argument, NULL, 'h'},
	{0},
};

enum format { FORMAT_PERF, FORMAT_FOLDED, FORMAT_JSON };

static int parse_format(const char *s, enum format *ret)
{
	static const char *const names[] = {"perf", "folded", "json"};

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(s, names[i])) {
			*ret = (enum format)i;
			return 0;
		}
	fprintf(stderr,
		"seam script: '%s' is not a format; perf, folded and json "
		"are\n",
		s);
	return -1;
}

/* Return: 0 to go on, -1 after --help, 2 for bad usage. */
static int parse(int argc, char **argv, struct input *in, enum format *format)
{
	int c;

	optind = 1;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "i:h", options, NULL)) != -1) {
		bool bad = false;

		switch (c) {
		case 'i':
			in->path = optarg;
			break;
		case OPT_FORMAT:
			bad = parse_format(optarg, format);
			break;
		case OPT_COMM:
			in->comm = optarg;
			break;
		case OPT_EVENT:
			in->event = optarg;
			break;
		case OPT_DEPTH:
			bad = !input_parse_depth("script", optarg,
						 &in->max_stack);
			break;
		case OPT_RAW:
			in->no_demangle = true;
			break;
		case OPT_KSYMS:
			in->kallsyms = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return -1;
		default:
			return input_bad_option("script", argv);
		}
		if (bad)
			return 2;
	}
	if (optind < argc) {
		fprintf(stderr,
			"seam script: '%s' is not an option; the "
			"recording is named with -i\n",
			argv[optind]);
		return 2;
	}
	return 0;
}

static int print_all(struct input *in, enum format format)
{
	struct seam_strbuf b = {0};
	struct seam_stitched s;
	struct seam_text t;
	int rc;

	while ((rc = input_next(in, &s, &t)) > 0) {
		if (format == FORMAT_JSON)
			seam_text_json(&b, &t);
		else
			seam_text_perf(&b, &t);
		if (b.len >= 1 << 16 && input_emit(&b))
			break;
	}
	if (!rc)
		rc = input_emit(&b);
	seam_strbuf_fini(&b);
	return rc;
}

static int print_lines(struct seam_fold *f, struct seam_strbuf *b)
{
	seam_fold_sort(f);
	for (size_t i = 0; i < f->n; i++) {
		seam_strbuf_printf(b, "%s %llu\n", f->v[i].text,
				   (unsigned long long)f->v[i].count);
		if (input_emit(b))
			return -1;
	}
	return 0;
}

static int print_folded(struct input *in)
{
	struct seam_fold f = {0};
	struct seam_strbuf b = {0};
	struct seam_stitched s;
	struct seam_text t;
	const char *event = NULL;
	bool mixed = false;
	int rc;

	while ((rc = input_next(in, &s, &t)) > 0) {
		mixed |= event && event != s.event;
		event = s.event;
		seam_strbuf_reset(&b);
		seam_text_folded(&b, &t);
		if (b.err || seam_fold_add(&f, b.s, 1)) {
			fprintf(stderr, "seam: no memory\n");
			rc = -1;
			break;
		}
	}
	seam_strbuf_reset(&b);
	if (!rc)
		rc = print_lines(&f, &b);
	if (mixed)
		fprintf(stderr,
			"seam: %s: samples of several events are counted "
			"together; --event picks one\n",
			in->path);
	seam_strbuf_fini(&b);
	seam_fold_fini(&f);
	return rc;
}

int cmd_script(int argc, char **argv)
{
	struct input in = INPUT_INIT;
	enum format format = FORMAT_PERF;
	int status = parse(argc, argv, &in, &format);

	if (status)
		return status < 0 ? 0 : status;
	status = 1;
	if (!input_open(&in)) {
		int rc = format == FORMAT_FOLDED ? print_folded(&in)
						 : print_all(&in, format);

		status = input_finish();
		if (rc)
			status = 1;
		input_warn(&in);
	}
	input_close(&in);
	return status;
}
