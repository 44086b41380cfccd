// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* seam top: what runs now, by whole stacks, while it is recorded. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/messages.h"
#include "cli/top-record.h"
#include "cli/top-screen.h"
#include "perfdata/stream.h"
#include "report/render.h"

static const char help[] =
	"usage: seam top [OPTIONS] [OPTIONS OF seam record]\n\n"
	"Shows what runs now: every few seconds how many samples there were, "
	"how\n"
	"many had whole stacks, and a table of their functions.\n\n"
	"  -d, --delay S         seconds from one table to the next (default: "
	"2)\n"
	"  -n, --count N         end after N tables\n"
	"      --tree            call trees, from the outermost function\n"
	"      --percent-limit P leave out what is under P % (default: 0.5)\n"
	"      --inline          inlined functions have lines of their own\n"
	"  -h, --help            this text\n\n"
	"All else is for seam record: -e, -F, -p, -t, ... Without -a, -p and\n"
	"-t it is the whole machine.\n\n"
	"In a terminal, q ends it, t goes from table to tree and back, and "
	"the\n"
	"space bar holds the picture. Else each table is printed behind the "
	"last.\n";

/* Samples wait no longer for their stacks; tasks that sleep take longer. */
#define WINDOW_NS 1000000000
#define MAX_DELAY 86400

enum { OPT_TREE = 256, OPT_PERCENT, OPT_INLINE };

static const struct option options[] = {
	{"delay", required_argument, NULL, 'd'},
	{"count", required_argument, NULL, 'n'},
	{"tree", no_argument, NULL, OPT_TREE},
	{"percent-limit", required_argument, NULL, OPT_PERCENT},
	{"inline", no_argument, NULL, OPT_INLINE},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

struct top {
	struct input in;
	struct seam_style style;
	struct top_record record;
	struct top_screen screen;
	char **options; /* for seam record */
	size_t n_options;
	double delay;
	unsigned long count; /* 0: no end */
	bool tree, held;
	struct seam_profile *profiles; /* by event, since the last table */
	size_t n, cap;
	struct seam_stitch_stats shown; /* as they were at the last table */
	uint64_t next_ns, began_ns;
	unsigned long n_shown;
	int err; /* errno of standard output, or ENOMEM; 0: none */
};

static volatile sig_atomic_t is_over;
static struct top_record *recorder; /* of which there is one */

/* It may come while there is nothing to read, and nothing to show yet. */
static void on_signal(int signal)
{
	(void)signal;
	is_over = 1;
	if (recorder)
		top_record_end(recorder);
}

static void catch_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction was, act = {.sa_handler = on_signal};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &was) &&
		    was.sa_handler != SIG_IGN)
			sigaction(ends[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* ignored, no child could be waited for */
}

static bool is_done(const struct top *t)
{
	return is_over || t->err || (t->count && t->n_shown >= t->count);
}

static int begin(struct top *t)
{
	size_t n = seam_pd_n_events(t->in.reader);

	for (size_t i = 0; i < t->n; i++)
		seam_profile_fini(&t->profiles[i]);
	t->n = 0;
	if (seam_grow(&t->profiles, n, &t->cap, sizeof(*t->profiles)))
		return -ENOMEM;
	for (; t->n < n; t->n++)
		if (seam_profile_init(&t->profiles[t->n],
				      seam_pd_event(t->in.reader, t->n)->name))
			return -ENOMEM;
	t->shown = *seam_stitch_stats(t->in.stitch);
	t->began_ns = seam_now_ns();
	t->next_ns = t->began_ns + (uint64_t)(t->delay * 1e9);
	return 0;
}

/* Since the last table. */
static void print_head(const struct top *t, struct seam_strbuf *b)
{
	const struct seam_stitch_stats *now = seam_stitch_stats(t->in.stitch);
	const struct seam_stitch_stats *was = &t->shown;
	uint64_t wanted = now->wanted - was->wanted;
	uint64_t whole = now->end[SEAM_OUTERMOST] - was->end[SEAM_OUTERMOST];

	seam_strbuf_printf(
		b, "seam top: %llu samples in %.1f s; %llu want a user stack",
		(unsigned long long)(now->samples - was->samples),
		(double)(seam_now_ns() - t->began_ns) / 1e9,
		(unsigned long long)wanted);
	if (wanted)
		seam_strbuf_printf(b, ", %.2f%% whole",
				   100 * (double)whole / (double)wanted);
	for (int i = 0; i < SEAM_END_MAX; i++)
		if (i != SEAM_OUTERMOST && now->end[i] > was->end[i])
			seam_strbuf_printf(b, ", %s %llu",
					   i ? seam_err_name(i) : "not said",
					   (unsigned long long)(now->end[i] -
								was->end[i]));
	seam_strbuf_printf(
		b, "; lost %llu\n",
		(unsigned long long)(now->lost_samples + now->lost_records -
				     was->lost_samples - was->lost_records));
}

static int print_profiles(const struct top *t, struct seam_strbuf *b)
{
	int err = 0;

	for (size_t i = 0; i < t->n && !err; i++) {
		struct seam_profile *p = &t->profiles[i];

		if (!p->samples)
			continue;
		err = seam_profile_sort(p, seam_render_least(p, &t->style));
		seam_strbuf_puts(b, "\nEvent: ");
		seam_strbuf_plain(b, p->event);
		seam_strbuf_printf(b, ", %llu samples\n\n",
				   (unsigned long long)p->samples);
		if (!err && t->tree)
			err = seam_render_tree(b, p, &t->style, NULL);
		else if (!err)
			err = seam_render_table(b, p, &t->style);
	}
	return err;
}

static void show(struct top *t)
{
	struct seam_strbuf b = {0};
	int err = 0;

	if (!t->held) {
		print_head(t, &b);
		err = print_profiles(t, &b);
		if (!err)
			err = b.err;
		if (!err && top_screen_show(&t->screen, &b))
			err = -errno;
		t->n_shown++;
	}
	seam_strbuf_fini(&b);
	if (!err)
		err = begin(t);
	t->err = -err;
}

static void on_key(struct top *t, int key)
{
	switch (key) {
	case 'q':
		is_over = 1;
		break;
	case 't':
		t->tree = !t->tree;
		break;
	case ' ':
		t->held = !t->held;
		break;
	}
}

/* Keys and the time come while there is nothing to read. */
static void on_idle(void *ctx)
{
	struct top *t = ctx;
	int what;

	do {
		what = top_screen_wait(&t->screen, t->next_ns);
		if (what >= 0)
			on_key(t, what);
		if (top_screen_resumed())
			t->next_ns = 0;
		if (!is_done(t) && seam_now_ns() >= t->next_ns)
			show(t);
		if (is_done(t))
			top_record_end(&t->record);
	} while (what != TOP_INPUT && !t->record.asked);
}

/* What was asked to end is read to its end: its pipe is not to break. */
static int watch(struct top *t)
{
	struct seam_stitched s;
	struct seam_text text;
	int rc;

	while ((rc = input_next(&t->in, &s, &text)) > 0) {
		size_t event = (size_t)s.rec->event;

		if (t->record.asked)
			continue;
		if (event < t->n &&
		    seam_profile_add(&t->profiles[event], &text))
			t->err = ENOMEM;
		if (!is_done(t) && seam_now_ns() >= t->next_ns)
			show(t);
		if (is_done(t))
			top_record_end(&t->record);
	}
	return rc;
}

static bool has_samples(const struct top *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->profiles[i].samples)
			return true;
	return false;
}

static int run_recorded(struct top *t)
{
	int rc;

	t->in.path = "-";
	t->in.has_window = true;
	t->in.window_ns = WINDOW_NS;
	t->in.is_live = true;
	if (input_open(&t->in))
		return -1;
	rc = begin(t);
	top_screen_open(&t->screen);
	if (seam_pd_is_stream(t->in.reader))
		seam_pd_stream_idle(t->in.reader, on_idle, t);
	if (!rc)
		rc = watch(t);
	if (!rc && !t->screen.is_terminal && !is_done(t) && has_samples(t))
		show(t);
	top_screen_close(&t->screen);
	input_warn(&t->in);
	return rc;
}

static int complain(int err)
{
	/* A reader that has seen enough, like head, is no failure to tell. */
	if (err != EPIPE)
		say("seam top: %s\n", strerror(err));
	return 1;
}

static int run(struct top *t)
{
	int status, rc = top_record_start(&t->record, t->options, t->n_options);

	if (rc)
		return complain(-rc);
	recorder = &t->record;
	catch_signals();
	if (top_record_wait())
		rc = run_recorded(t);
	else
		rc = -1;
	top_record_end(&t->record);
	status = top_record_finish(&t->record);
	if (t->err)
		return complain(t->err);
	return status ? status : rc ? 1 : 0;
}

/*
 * Which of our own options argv[*i] is, NULL: none. getopt would not know which
 * of seam record's have a value. *ret_value: "" where it is missing.
 */
static const struct option *own_option(char **argv, int *i,
				       const char **ret_value)
{
	const char *s = argv[*i],
		   *word = s[0] == '-' && s[1] == '-' ? s + 2 : "";

	for (const struct option *o = options; o->name; o++) {
		size_t len = strlen(o->name);
		bool is_word = !strncmp(word, o->name, len) &&
			       (!word[len] || word[len] == '=');
		bool is_letter = s[0] == '-' && s[1] == o->val;
		const char *rest = is_word ? word + len : s + 2;

		if (!is_word && !is_letter)
			continue;
		if (!o->has_arg)
			return *rest ? NULL : o;
		if (!*rest)
			*ret_value = argv[*i + 1] ? argv[++*i] : "";
		else
			*ret_value = rest + is_word;
		return o;
	}
	return NULL;
}

/* Return: 0, or 2: it is no such number, said. */
static int number(const char *s, const char *option, double least, double most,
		  double *ret)
{
	char *end;
	double d = strtod(s, &end);

	if (end == s || *end || !(d >= least && d <= most)) {
		say("seam top: %s takes a number from %g to %g, not "
		    "'%s'\n",
		    option, least, most, s);
		return 2;
	}
	*ret = d;
	return 0;
}

static bool refused(const char *s)
{
	if (!strncmp(s, "-o", 2) || !strncmp(s, "--output", 8) ||
	    !strcmp(s, "--merge")) {
		say("seam top: %s: it writes no recording; seam record "
		    "does\n",
		    s);
		return true;
	}
	return false;
}

/* Return: 0, -1: the text was asked for, 2: bad. */
static int take_own(struct top *t, int option, const char *value)
{
	double d;

	switch (option) {
	case 'h':
		fputs(help, stdout);
		return -1;
	case 'd':
		return number(value, "--delay", 0.01, MAX_DELAY, &t->delay);
	case 'n':
		if (number(value, "--count", 1, 1e9, &d))
			return 2;
		t->count = (unsigned long)d;
		return 0;
	case OPT_PERCENT:
		return number(value, "--percent-limit", 0, 100,
			      &t->style.min_percent);
	case OPT_INLINE:
		t->in.no_inline = false;
		return 0;
	}
	t->tree = true;
	return 0;
}

static int take(struct top *t, char **argv, int *i)
{
	const char *value = NULL;
	const struct option *own = own_option(argv, i, &value);

	if (own)
		return take_own(t, own->val, value);
	if (refused(argv[*i]))
		return 2;
	t->options[t->n_options++] = argv[*i];
	return 0;
}

static int parse(struct top *t, int argc, char **argv)
{
	t->options = calloc((size_t)argc + 1, sizeof(*t->options));
	if (!t->options)
		return complain(ENOMEM);
	for (int i = 1; i < argc; i++) {
		int rc = take(t, argv, &i);

		if (rc)
			return rc;
	}
	return 0;
}

int cmd_top(int argc, char **argv)
{
	struct top t = {.in = INPUT_INIT,
			.style.min_percent = 0.5,
			.delay = 2,
			.record.said = -1};
	int status;

	t.in.no_inline = true;
	status = parse(&t, argc, argv);
	if (!status) {
		setlocale(LC_CTYPE, "");
		t.style.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
		t.style.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
		status = run(&t);
	}
	for (size_t i = 0; i < t.n; i++)
		seam_profile_fini(&t.profiles[i]);
	free(t.profiles);
	free(t.options);
	input_close(&t.in);
	return status < 0 ? 0 : status;
}
