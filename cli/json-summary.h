/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a command counted in a recording, for programs. */
#ifndef SEAM_CLI_JSON_SUMMARY_H
#define SEAM_CLI_JSON_SUMMARY_H

#include "cli/input.h"

/* Opens a summary to be written anew, which is its owner's alone if it is a new
 * file, as recordings are. Return: a descriptor, or -errno. */
int json_summary_open(const char *path);

/* Members of an object without the comma before them: the recording's name and
 * how samples were joined (NULL: they were not); and what lies behind that:
 * damage, and records that were passed over. */
void json_summary_head(struct seam_strbuf *b, const struct input *in,
		       const struct seam_stitch_stats *joins);

/* The same as an object of its own, with more members of the command's own
 * (NULL: none), to where --json-summary says. Return: 0 or -1, said on stderr.
 */
int json_summary_write(const struct input *in,
		       const struct seam_stitch_stats *joins, const char *more);

#endif
