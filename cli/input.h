/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the commands that read a recording have in common. */
#ifndef SEAM_CLI_INPUT_H
#define SEAM_CLI_INPUT_H

#include <getopt.h>

#include "report/printer.h"
#include "report/resolve.h"

struct input {
	const char *path; /* -i; NULL: perf.data */
	const char *kallsyms; /* NULL: this kernel's */
	char *kept_kallsyms; /* that are used in its place; or NULL */
	const char *comm, *event; /* NULL: all */
	const char *json_summary; /* NULL: none */
	bool no_demangle;
	bool no_inline;
	bool srcline, full_path; /* as in struct seam_text_opts */
	size_t max_stack;
	enum seam_join join;
	bool is_printed; /* by input_printer(); no input_next() */
	bool has_window; /* a pipe's samples are delivered as they come */
	uint64_t window_ns;
	bool is_live; /* they are taken meanwhile, here */
	uint64_t renew_ns; /* then: when names are to be looked for anew */

	struct seam_pd_reader *reader;
	struct seam_stitch *stitch;
	struct seam_ahead *ahead; /* that reads it; NULL: nobody does */
	bool is_over; /* no more samples are delivered */
	struct seam_resolver *resolver;
	struct seam_payload_printer *payloads;
	struct seam_name *names;
	size_t cap_names;
	unsigned event_width;
};

#define INPUT_LETTERS "i:h"
#define INPUT_INIT                                                             \
	{                                                                      \
		.max_stack = (size_t)-1                                        \
	}

/* The options that all of them have, at the end of a table for getopt_long;
 * those of a command's own have values below these. */
enum {
	INPUT_OPT_COMM = 512,
	INPUT_OPT_EVENT,
	INPUT_OPT_DEPTH,
	INPUT_OPT_RAW,
	INPUT_OPT_KSYMS,
	INPUT_OPT_INLINE,
	INPUT_OPT_NO_INLINE,
	INPUT_OPT_JOIN,
	INPUT_OPT_SUMMARY,
};

/* clang-format off */
#define INPUT_OPTIONS                                                          \
	{"input", required_argument, NULL, 'i'},                               \
	{"comm", required_argument, NULL, INPUT_OPT_COMM},                     \
	{"event", required_argument, NULL, INPUT_OPT_EVENT},                   \
	{"max-stack", required_argument, NULL, INPUT_OPT_DEPTH},               \
	{"no-demangle", no_argument, NULL, INPUT_OPT_RAW},                     \
	{"kallsyms", required_argument, NULL, INPUT_OPT_KSYMS},                \
	{"inline", no_argument, NULL, INPUT_OPT_INLINE},                       \
	{"join", required_argument, NULL, INPUT_OPT_JOIN},                     \
	{"no-inline", no_argument, NULL, INPUT_OPT_NO_INLINE},                 \
	{"json-summary", required_argument, NULL, INPUT_OPT_SUMMARY},          \
	{"help", no_argument, NULL, 'h'},                                      \
	{0}
/* clang-format on */

struct input_command {
	const char *name, *help;
	const struct option *options;
	const char *letters; /* short ones, for getopt; NULL: those of all */
	/* Takes one of its own, with optarg. Return: 0, or -1, said on stderr.
	 */
	int (*take)(void *ctx, int option);
	void *ctx;
};

/* Return: 0 to go on, -1 after --help, 2 for bad usage, said on stderr. */
int input_parse(struct input *in, const struct input_command *cmd, int argc,
		char **argv);
/* All print one line to stderr when they fail. Return: 0 or -1. */
int input_open(struct input *in);
/* The reader alone. */
int input_open_reader(struct input *in);
/* 1: *ret is the next sample that the options let through, 0: no more. */
int input_next(struct input *in, struct seam_stitched *ret_sample,
	       struct seam_text *ret);
/* Sequentially, without names. */
int input_next_sample(struct input *in, struct seam_stitched *ret);
bool input_wants(const struct input *in, const struct seam_stitched *s);
/* What prints its samples. */
struct seam_printer_opts input_printer(const struct input *in, bool json);
/* Of a command: -errno, which is said. Return: -1. */
int input_failed(const struct input *in, int rc);
/* Nobody asks for more samples: what has come of them may be read. Where
 * input_next() did not return 1 that has been done. */
void input_stop(struct input *in);
void input_close(struct input *in);
/* Whether path is a file of the recording itself, under whatever name. */
bool input_is(const struct input *in, const char *path);
/* A cut-off recording is used as far as it goes, and so is debugging
 * information that cannot be used whole; that is said. */
void input_warn(const struct input *in);
/* Of it: what the reader alone knows; and joins that are less than certain. */
void input_warn_reader(const struct input *in);
void input_warn_joins(const struct input *in,
		      const struct seam_stitch_stats *stats);
/* Of copies of stacks: those that were too small, and with what size they would
 * not have been. */
void input_warn_copies(const struct input *in,
		       const struct seam_stitch_stats *stats);
/* Writes and empties b. Return: 0 or -1. */
int input_emit(struct seam_strbuf *b);
/* Flushes stdout. Return: the exit status. */
int input_finish(void);

#endif
