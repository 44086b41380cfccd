/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Options that perf record has beside seam's own: those that ask for something
 * are done, those that ask for what is always so are taken, and of each other
 * one line says what there is instead. None is passed over.
 */
#ifndef SEAM_CLI_RECORD_PERF_H
#define SEAM_CLI_RECORD_PERF_H

#include <getopt.h>

#include "cli/record-options.h"

#define RECORD_PERF_LETTERS "C:D:u:k:vNBTPRfisdWbj:G:nr:S::I::"
#define RECORD_PERF_ROOM 96
#define RECORD_PERF_FIRST 512 /* the options without a letter have these */

/* Fills what is free of v, behind seam's own, with the long names, and ends it.
 * Return: how many there are. */
size_t record_perf_options(struct option *v, size_t room);
/* Return: -1 to go on; -2: it is none of perf's; else the exit status. */
int record_perf_take(struct record_options *o, int c, const char *value);
/* The frequency that -F max asks for: what the kernel allows. */
uint64_t record_perf_max_freq(void);
/* Of {A,B}:u with which a list begins, each member is added with its modifiers.
 * *list: what is behind. Return: as record_perf_take. */
int record_perf_group(struct record_options *o, const char **list,
		      int (*add)(struct record_options *o, const char *name,
				 size_t len));
/* Gives the events what --all-user and --all-kernel ask for, and -C its tasks.
 */
int record_perf_complete(struct record_options *o);

#endif
