/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Several tracepoints by one name, as -e 'sched:*exec*'. */
#ifndef SEAM_CLI_RECORD_PATTERN_H
#define SEAM_CLI_RECORD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/record-options.h"

bool record_is_pattern(const char *name, size_t len);
/* Adds each tracepoint that it means, with the terms and modifiers behind it.
 * Return: -1 to go on; else the exit status. */
int record_pattern(struct record_options *o, const char *name, size_t len,
		   int (*add)(struct record_options *o, const char *name,
			      size_t len));

#endif
