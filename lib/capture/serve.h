/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Keeps the tables of a group of clients, and nothing else: a client without
 * events that owns them as soon as no other does, so that they outlive the
 * recordings that asked for them.
 */
#ifndef SEAM_LIB_CAPTURE_SERVE_H
#define SEAM_LIB_CAPTURE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "process/opener.h"
#include "seam/error.h"

struct seam_serve;

struct seam_serve_opts {
	/* As those that are served have it: else they are another group. */
	const char *unwind; /* NULL: the default */
	uint32_t stack_copy; /* 0: the default */
	uint64_t table_memory; /* bytes */
	/* Who opens the files, for whoever waits at seam_serve_fd. Borrowed
	 * until closed. */
	const struct seam_opener *opener;
};

/* -ENOTSUP: nothing can be shared here; reterr says why. */
int seam_serve_open(const struct seam_serve_opts *opts, struct seam_serve **ret,
		    struct seam_errinfo *reterr);
struct seam_serve *seam_serve_close(struct seam_serve *s);

/* To be called when seam_serve_fd can be read, and else every
 * SEAM_SERVE_TEND_MS. Answers what was asked, and takes the tables if nobody
 * has them any more. Return: 0; -ESHUTDOWN: the opener has ended; -errno. */
int seam_serve_work(struct seam_serve *s);
int seam_serve_fd(const struct seam_serve *s); /* borrowed */
#define SEAM_SERVE_TEND_MS 200

/* Whether anybody is served now. */
bool seam_serve_has_clients(const struct seam_serve *s);

#endif
