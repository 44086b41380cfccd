/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The verbs of seam sframe, and what they have in common. */
#ifndef SEAM_CLI_SFRAME_H
#define SEAM_CLI_SFRAME_H

#include <stdbool.h>

#include "sframe/file.h"

/* argv[0] is the verb. Return: the exit status. */
int sframe_dump(int argc, char **argv);
int sframe_check(int argc, char **argv);
int sframe_stat(int argc, char **argv);
int sframe_make(int argc, char **argv);

/* A file that is named on the command line. */
struct sframe_input {
	const char *path;
	int fd;
	struct seam_elf *elf; /* NULL: a section by itself */
	void *raw; /* its bytes then */
	size_t raw_size;
};

/*
 * Opens an ELF file or, where raw_too, a section by itself. What fails is
 * said on stderr. Return: 0 or -1.
 */
int sframe_input_open(struct sframe_input *in, const char *path, bool raw_too);
void sframe_input_close(struct sframe_input *in);
/* Its SFrame section, to be released with seam_sframe_file_fini. quiet: that
 * there is none is not said. Return: 0, -1, or 1: there is none. */
int sframe_input_section(struct sframe_input *in, bool quiet,
			 struct seam_sframe_file *ret);

/* One line on stderr: what is wrong with a file, and where. Return: -1. */
int sframe_complain(const char *path, int rc, const struct seam_errinfo *err);

/* Options of a verb: --json, --help and its own. Return: 0 to go on, -1 after
 * --help, 2 for bad usage, said on stderr. */
struct option;
struct sframe_options {
	const char *verb, *help;
	const struct option *options;
	/* Takes one of its own, with optarg. */
	int (*take)(void *ctx, int option);
	void *ctx;
	bool one_file; /* else at least one */
	bool has_out; /* -o */
};
int sframe_parse(const struct sframe_options *o, int argc, char **argv,
		 bool *ret_json);

enum { SFRAME_OPT_JSON = 512 };

#endif
