/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the commands that read a recording have in common. */
#ifndef SEAM_CLI_INPUT_H
#define SEAM_CLI_INPUT_H

#include "lib/report/resolve.h"
#include "lib/report/text.h"

struct input {
	const char *path; /* -i; NULL: perf.data */
	const char *kallsyms; /* NULL: this kernel's */
	const char *comm, *event; /* NULL: all */
	bool no_demangle;
	size_t max_stack;

	struct seam_pd_reader *reader;
	struct seam_stitch *stitch;
	struct seam_resolver *resolver;
	struct seam_name *names;
	size_t cap_names;
	unsigned event_width;
};

#define INPUT_INIT                                                             \
	{                                                                      \
		.max_stack = (size_t)-1                                        \
	}

/* All print one line to stderr when they fail. Return: 0 or -1. */
int input_open(struct input *in);
/* 1: *ret is the next sample that the options let through, 0: no more. */
int input_next(struct input *in, struct seam_stitched *ret_sample,
	       struct seam_text *ret);
void input_close(struct input *in);
/* A cut-off recording is used as far as it goes, and that is said. */
void input_warn(const struct input *in);
/* getopt returned '?'. Return: 2, the exit status. */
int input_bad_option(const char *command, char **argv);
/* A number of frames. Return: false, said on stderr: it is none. */
bool input_parse_depth(const char *command, const char *text, size_t *ret);
/* Writes and empties b. Return: 0 or -1. */
int input_emit(struct seam_strbuf *b);
/* Flushes stdout. Return: the exit status. */
int input_finish(void);

#endif
