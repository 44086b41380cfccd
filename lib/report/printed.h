/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The lines of frames as they were printed, to be printed again: a frame is
 * named once for all stacks that it is in. One thread uses them, and several
 * such may share a resolver.
 */
#ifndef SEAM_LIB_REPORT_PRINTED_H
#define SEAM_LIB_REPORT_PRINTED_H

#include <pthread.h>

#include "report/text.h"

struct seam_printed;
struct seam_printed_lines;

/* For those of several threads: what one of them printed is found by all. About
 * so many lines. Return: NULL: no memory. */
struct seam_printed_lines *seam_printed_lines_new(size_t n);
/* NULL is fine. Return: NULL. */
struct seam_printed_lines *
seam_printed_lines_free(struct seam_printed_lines *lines);

/* Of a resolver, which is used with the lock held; NULL: it is nobody else's.
 * shared: NULL: none are. All must outlive it. Return: NULL: no memory. */
struct seam_printed *seam_printed_new(struct seam_resolver *r,
				      pthread_mutex_t *lock,
				      struct seam_printed_lines *shared);
/* NULL is fine. Return: NULL. */
struct seam_printed *seam_printed_free(struct seam_printed *p);
/* Appends the lines of t's first n frames, whose names are not looked at. opts
 * are the same at every call, and of all that share lines. */
void seam_printed_frames(struct seam_printed *p, const struct seam_text *t,
			 size_t n, struct seam_strbuf *b);

#endif
