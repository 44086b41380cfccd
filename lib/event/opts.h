/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Structures that programs give and get, which may be of another version of
 * <seam/tracer.h> than ours: each begins with its size. */
#ifndef SEAM_LIB_EVENT_OPTS_H
#define SEAM_LIB_EVENT_OPTS_H

#include <stddef.h>

#include "seam/error.h"

/*
 * Takes a caller's structure into ours, of size bytes: what an older caller's
 * does not have is 0 there. what: its type, for people.
 * Return: 0; -EINVAL: it says no size; -E2BIG: it is a later version's, and has
 * something set that we do not know.
 */
int seam_opts_take(void *to, size_t size, const void *from, const char *what,
		   struct seam_errinfo *reterr);
/* Fills a caller's structure with ours, as far as it goes; what it has behind
 * that becomes 0, and its size stays. Return: likewise. */
int seam_opts_give(void *to, const void *from, size_t size);

#endif
