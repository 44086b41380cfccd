/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tracepoints by patterns of their names, as shells have them. */
#ifndef SEAM_LIB_EVENT_TRACEPOINT_MATCH_H
#define SEAM_LIB_EVENT_TRACEPOINT_MATCH_H

#include <stddef.h>

/* pattern: SUBSYSTEM:NAME. *ret: their names, in order, for free(), and behind
 * them NULL, for free() as well. Return: how many; -ENOENT, -EACCES, ...:
 * tracefs does not tell; -ENOMEM. */
int seam_tracepoint_match(const char *pattern, char ***ret);
void seam_tracepoint_names_free(char **names);

#endif
