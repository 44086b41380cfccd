// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/input.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/grow.h"
#include "cli/bad-option.h"
#include "cli/doubts.h"
#include "cli/input-kernel.h"
#include "cli/lacking.h"
#include "cli/messages.h"
#include "perfdata/stream.h"
#include "stitch/ahead.h"

/* Records of fewer are not worth a thread. */
#define AHEAD_MIN 1024
#define RENEW_NS 250000000

static int open_failed(const struct input *in, int rc,
		       const struct seam_errinfo *err)
{
	const char *hint = "";

	if (rc == -ENOENT)
		hint = "; record one with 'seam record', or name one with -i";
	else if (rc == -EACCES)
		hint = "; read it as the user who recorded it";
	else if (rc == -EBADMSG)
		hint = "; seam and perf record write such files";
	if (err->where[0])
		say("seam: %s: offset %llu: %s%s\n", in->path,
		    (unsigned long long)err->offset, err->reason, hint);
	else
		say("seam: %s: %s%s\n", in->path, err->reason, hint);
	return -1;
}

int input_failed(const struct input *in, int rc)
{
	say("seam: %s: %s\n", in->path, strerror(-rc));
	return -1;
}

static bool known_event(const struct input *in)
{
	struct message m = {0};

	if (!in->event)
		return true;
	for (size_t i = 0; i < seam_pd_n_events(in->reader); i++)
		if (!strcmp(seam_pd_event(in->reader, i)->name, in->event))
			return true;
	message_add(&m, "seam: %s: it has no event '%s'; it has", in->path,
		    in->event);
	for (size_t i = 0; i < seam_pd_n_events(in->reader); i++)
		message_add(&m, "%s '%s'", i ? "," : "",
			    seam_pd_event(in->reader, i)->name);
	message_add(&m, "\n");
	message_say(&m);
	return false;
}

static void fit_clock(struct input *in)
{
	bool is_pipe = !strcmp(in->path, "-");
	struct seam_clock_fit fit;

	seam_clock_fit(in->reader, is_pipe ? NULL : in->path, in->is_live,
		       &fit);
	seam_resolver_clock(in->resolver, &fit);
}

int input_open_reader(struct input *in)
{
	struct seam_errinfo err = {0};
	int rc;

	if (!in->path)
		in->path = "perf.data";
	rc = seam_pd_open(in->path, &in->reader, &err);
	return rc ? open_failed(in, rc, &err) : 0;
}

/* Samples as they come, where they can be joined so. */
static int open_stream(struct input *in)
{
	const struct seam_pd_stream_opts opts = {.fd = STDIN_FILENO,
						 .window_ns = in->window_ns};
	struct seam_errinfo err = {0};
	int rc;

	if (!in->has_window || in->join != SEAM_JOIN_COOKIE || !in->path ||
	    strcmp(in->path, "-") != 0)
		return input_open_reader(in);
	rc = seam_pd_open_stream(&opts, &in->reader, &err);
	return rc ? open_failed(in, rc, &err) : 0;
}

int input_open(struct input *in)
{
	struct seam_symbol_opts opts = {.sz = sizeof(opts),
					.no_demangle = in->no_demangle};
	const struct seam_resolve_opts source = {.inlined = !in->no_inline,
						 .lines = in->srcline};
	int rc;

	/* Threads' own heaps grow by a page at a time, with a system call. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, 1 << 20);
	if (open_stream(in) || !known_event(in) || input_find_kallsyms(in))
		return -1;
	opts.kallsyms = in->kallsyms;
	for (size_t i = 0; i < seam_pd_n_events(in->reader); i++) {
		size_t len = strlen(seam_pd_event(in->reader, i)->name);

		if (len > in->event_width)
			in->event_width = (unsigned)len;
	}
	rc = seam_stitch_new(in->reader, &in->stitch);
	if (!rc)
		rc = seam_stitch_join_by(in->stitch, in->join);
	if (!rc)
		seam_stitch_kernel(in->stitch, in->kallsyms);
	if (!rc)
		rc = seam_resolver_new(&opts, &in->resolver);
	if (!rc)
		rc = seam_payload_printer_new(in->reader, &in->payloads);
	if (rc)
		return input_failed(in, rc);
	if (input_fit_kernel(in))
		return -1;
	fit_clock(in);
	seam_resolver_source(in->resolver, &source);
	/* Else one thread does all. */
	if ((!in->is_printed || in->payloads) &&
	    !seam_pd_is_stream(in->reader) &&
	    seam_pd_n_records(in->reader) >= AHEAD_MIN && seam_cpus() > 1)
		seam_ahead_new(in->stitch, &in->ahead);
	return 0;
}

/* A JIT compiler goes on. It takes a tenth of the time at most. */
static void renew(struct input *in)
{
	uint64_t now_ns = seam_now_ns(), took_ns;

	if (now_ns < in->renew_ns)
		return;
	seam_resolver_renew(in->resolver);
	took_ns = seam_now_ns() - now_ns;
	in->renew_ns = now_ns + took_ns +
		       (9 * took_ns > RENEW_NS ? 9 * took_ns : RENEW_NS);
}

static int resolve(struct input *in, const struct seam_stitched *s)
{
	if (in->is_live)
		renew(in);
	if (seam_grow(&in->names, s->n_frames, &in->cap_names,
		      sizeof(*in->names)))
		return -ENOMEM;
	return seam_resolve(in->resolver, s->frames, s->n_frames, in->names);
}

bool input_wants(const struct input *in, const struct seam_stitched *s)
{
	return (!in->comm || !strcmp(in->comm, s->comm)) &&
	       (!in->event || !strcmp(in->event, s->event));
}

static int read_sample(struct input *in, struct seam_stitched *ret)
{
	if (in->is_over)
		return 0;
	return in->ahead ? seam_ahead_next(in->ahead, ret)
			 : seam_stitch_next(in->stitch, ret);
}

void input_stop(struct input *in)
{
	in->is_over = true;
	in->ahead = seam_ahead_free(in->ahead);
}

int input_next_sample(struct input *in, struct seam_stitched *ret)
{
	int rc;

	do
		rc = read_sample(in, ret);
	while (rc > 0 && !input_wants(in, ret));
	return rc;
}

static struct seam_text_opts text_opts(const struct input *in)
{
	return (struct seam_text_opts){.max_stack = in->max_stack,
				       .event_width = in->event_width,
				       .srcline = in->srcline,
				       .full_path = in->full_path};
}

int input_next(struct input *in, struct seam_stitched *s, struct seam_text *ret)
{
	int rc = input_next_sample(in, s);

	if (rc > 0) {
		int err = resolve(in, s);

		rc = err ? err : rc;
	}
	if (rc <= 0)
		input_stop(in);
	if (rc < 0)
		return input_failed(in, rc);
	if (rc == 0)
		return 0;
	ret->sample = s;
	ret->names = in->names;
	ret->attr = seam_pd_event(in->reader, (size_t)s->rec->event);
	ret->payloads = in->payloads;
	ret->opts = text_opts(in);
	ret->printed = NULL;
	return 1;
}

struct seam_printer_opts input_printer(const struct input *in, bool json)
{
	return (struct seam_printer_opts){.reader = in->reader,
					  .resolver = in->resolver,
					  .payloads = in->payloads,
					  .text = text_opts(in),
					  .json = json};
}

void input_close(struct input *in)
{
	input_stop(in);
	seam_resolver_free(in->resolver);
	seam_payload_printer_free(in->payloads);
	seam_stitch_free(in->stitch);
	seam_pd_close(in->reader);
	free(in->names);
	free(in->kept_kallsyms);
}

static void warn_of_sources(const struct input *in)
{
	const struct seam_symbolizer *syms =
		seam_resolver_symbolizer(in->resolver);
	const char *why, *path;

	for (size_t at = 0;
	     (why = seam_symbolizer_source_problem(syms, &at, &path)) != NULL;)
		say("seam: %s: %s; %s may be missing\n", path, why,
		    seam_symbolizer_map_path(syms, (int)at - 1)
			    ? "names"
			    : "lines and inlined functions");
	doubts_say(syms);
}

void input_warn_joins(const struct input *in,
		      const struct seam_stitch_stats *st)
{
	const struct {
		uint64_t n;
		const char *what;
	} v[] = {
		{st->end[SEAM_WINDOW],
		 "samples left when the window had passed, and their user "
		 "stack had not come (--window)"},
		{st->unused_late,
		 "user stacks came when their samples had left (--window)"},
		{st->disordered,
		 "records came behind later ones that had been used "
		 "(--window)"},
		{st->forgotten,
		 "samples have frames without a mapping: their processes had "
		 "ended long before, or there was no room for what they had "
		 "mapped"},
		{st->by_order_differs,
		 "samples have the stack of another cookie (--join order)"},
		{st->by_cookie_alone,
		 "samples were joined by the cookie alone: the recording does "
		 "not say whose they are"},
		{st->other_task,
		 "samples have no user stack: only another process has their "
		 "cookie"},
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		if (v[i].n)
			say("seam: %s: %llu %s\n", in->path,
			    (unsigned long long)v[i].n, v[i].what);
}

/* The most that the kernel copies for perf. */
#define COPY_MAX 65528

/* Stacks of precise events that end since an instruction cannot be taken back:
 * which ones. */
static void warn_of_skid(const struct input *in,
			 const struct seam_skid_counts *skid)
{
	struct message m = {0};
	const char *comma = "";

	if (!skid->n[SEAM_SKID_IRREVERSIBLE])
		return;
	message_add(
		&m,
		"seam: %s: %llu precise samples' instructions cannot be taken "
		"back: ",
		in->path, (unsigned long long)skid->n[SEAM_SKID_IRREVERSIBLE]);
	for (int i = 0; i < SEAM_SKID_KINDS; i++) {
		uint64_t n = skid->by[SEAM_SKID_IRREVERSIBLE][i];

		if (!n)
			continue;
		message_add(&m, "%s%llu %s", comma, (unsigned long long)n,
			    seam_skid_kind_name(i));
		comma = ", ";
	}
	message_add(&m, "\n");
	message_say(&m);
}

void input_warn_copies(const struct input *in,
		       const struct seam_stitch_stats *st)
{
	unsigned long long size = st->copy_size;
	struct message m = {0};

	if (st->copies_foreign)
		say("seam: %s: %llu stack copies are of another machine "
		    "than x86-64 and were not unwound\n",
		    in->path, (unsigned long long)st->copies_foreign);
	if (st->copies_unchecked)
		say("seam: %s: of %llu stack copies in the kernel it is not "
		    "known where in it, so that some may be of another moment "
		    "than the sample and not be doubted: give the recorded "
		    "kernel's --kallsyms\n",
		    in->path, (unsigned long long)st->copies_unchecked);
	warn_of_skid(in, &st->skid);
	if (!st->copies_cut)
		return;
	message_add(&m, "seam: %s: %llu of %llu stack copies were too small: ",
		    in->path, (unsigned long long)st->copies_cut,
		    (unsigned long long)st->copies);
	if (size > COPY_MAX)
		message_add(
			&m,
			"these stacks take %llu bytes%s, and perf copies %u "
			"at most; 'seam record' needs no copies\n",
			size, st->copy_size_is_least ? " or more" : "",
			COPY_MAX);
	else if (st->copy_size_is_least)
		message_add(&m, "record with --call-graph dwarf,%llu or more\n",
			    size);
	else
		message_add(&m, "--call-graph dwarf,%llu would have sufficed\n",
			    size);
	message_say(&m);
}

static void warn_of_files(const struct input *in)
{
	struct lacking lacking = {.recording = in->path};
	const char *why, *path;
	uint64_t stacks;

	for (size_t at = 0; (why = seam_stitch_lacking(in->stitch, &at, &path,
						       &stacks)) != NULL;)
		lacking_file(&lacking, path, why, stacks);
	lacking_end(&lacking);
}

/* Of a folder's files, but its first. */
static const char *file_of(const char *where, char *buf, size_t size)
{
	if (strncmp(where, "data.", 5))
		return "";
	snprintf(buf, size, "/%s", where);
	return buf;
}

void input_warn_reader(const struct input *in)
{
	const struct seam_pd_damage *d = seam_pd_damage(in->reader);
	const struct seam_pd_info *info = seam_pd_info(in->reader);
	char part[64];

	if (d->damaged)
		say("seam: %s%s: offset %llu: %s; %s was used\n", in->path,
		    file_of(d->err.where, part, sizeof(part)),
		    (unsigned long long)d->err.offset, d->err.reason,
		    d->err.offset ? "what lies before" : "nothing of it");
	if (info->lost_build_ids)
		say("seam: %s: the build-ids of %s are lost: names are "
		    "those of what is at their paths now, and wrong if that "
		    "is another file\n",
		    in->path,
		    info->n_build_ids ? "some of its files" : "its files");
	if (d->n_files > 1)
		say("seam: %s: of the folder's other files %llu are damaged "
		    "too\n",
		    in->path, (unsigned long long)d->n_files - 1);
	if (d->n_malformed)
		say("seam: %s%s: offset %llu: a record is malformed; such "
		    "records, %llu, were left out\n",
		    in->path, file_of(d->malformed_where, part, sizeof(part)),
		    (unsigned long long)d->malformed_offset,
		    (unsigned long long)d->n_malformed);
}

void input_warn(const struct input *in)
{
	input_warn_reader(in);
	input_warn_joins(in, seam_stitch_stats(in->stitch));
	input_warn_copies(in, seam_stitch_stats(in->stitch));
	warn_of_files(in);
	warn_of_sources(in);
}

/* A number of frames. */
static int take_depth(const char *command, const char *text, size_t *ret)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || end == text || !n || *text == '-') {
		say("seam %s: --max-stack takes a number of frames from "
		    "1 up, not '%s'\n",
		    command, text);
		return -1;
	}
	*ret = n;
	return 0;
}

static int take_join(const char *command, const char *text, enum seam_join *ret)
{
	if (!strcmp(text, "cookie")) {
		*ret = SEAM_JOIN_COOKIE;
	} else if (!strcmp(text, "order")) {
		*ret = SEAM_JOIN_ORDER;
	} else {
		say("seam %s: --join takes cookie or order, not '%s'\n",
		    command, text);
		return -1;
	}
	return 0;
}

static int take(struct input *in, const struct input_command *cmd, int option)
{
	switch (option) {
	case 'i':
		in->path = optarg;
		return 0;
	case INPUT_OPT_COMM:
		in->comm = optarg;
		return 0;
	case INPUT_OPT_EVENT:
		in->event = optarg;
		return 0;
	case INPUT_OPT_DEPTH:
		return take_depth(cmd->name, optarg, &in->max_stack);
	case INPUT_OPT_RAW:
		in->no_demangle = true;
		return 0;
	case INPUT_OPT_INLINE:
	case INPUT_OPT_NO_INLINE:
		in->no_inline = option == INPUT_OPT_NO_INLINE;
		return 0;
	case INPUT_OPT_JOIN:
		return take_join(cmd->name, optarg, &in->join);
	case INPUT_OPT_KSYMS:
		in->kallsyms = optarg;
		return 0;
	case INPUT_OPT_SUMMARY:
		in->json_summary = optarg;
		return 0;
	}
	return cmd->take(cmd->ctx, option);
}

int input_parse(struct input *in, const struct input_command *cmd, int argc,
		char **argv)
{
	const char *letters = cmd->letters ? cmd->letters : INPUT_LETTERS;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, letters, cmd->options, NULL)) !=
	       -1) {
		if (c == 'h') {
			fputs(cmd->help, stdout);
			return -1;
		}
		if (c == '?')
			return bad_option(cmd->name, argv);
		if (take(in, cmd, c))
			return 2;
	}
	if (optind < argc) {
		say("seam %s: '%s' is not an option; the recording is "
		    "named with -i\n",
		    cmd->name, argv[optind]);
		return 2;
	}
	return 0;
}

int input_emit(struct seam_strbuf *b)
{
	size_t n = b->len;

	if (b->err) {
		say("seam: %s\n", strerror(-b->err));
		return -1;
	}
	if (n && fwrite(b->s, 1, n, stdout) != n)
		return -1; /* input_finish says why */
	seam_strbuf_reset(b);
	return 0;
}

int input_finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	/* A reader that has seen enough, like head, is no failure to tell. */
	if (errno != EPIPE)
		say("seam: writing the output: %s\n", strerror(errno));
	return 1;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The folder that path is in, where there is one. */
static int stat_folder(const char *path, struct stat *ret)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	int rc = folder ? stat(folder, ret) : -1;

	free(folder);
	return rc;
}

bool input_is(const struct input *in, const char *path)
{
	struct stat from, to;

	if (strcmp(in->path, "-") ? stat(in->path, &from)
				  : fstat(STDIN_FILENO, &from))
		return false;
	if (S_ISDIR(from.st_mode))
		return !stat_folder(path, &to) && same_file(&from, &to);
	return !stat(path, &to) && same_file(&from, &to);
}
