/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The merged form of a recording, as a file that is there whole or not at
 * all. */
#ifndef SEAM_CLI_MERGE_H
#define SEAM_CLI_MERGE_H

#include "inject/inject.h"

/*
 * Writes path anew: what make writes to fd, an empty file, of which nothing is
 * left if it fails or if a signal ends the process meanwhile. It is as private
 * as it was made: it tells what a recording does.
 * Return: what make returned, from 0 on, or -errno.
 */
int merge_replace(const char *path, int (*make)(void *ctx, int fd), void *ctx);
/* The same to fd, a pipe, by way of a file without a name: what is made goes
 * back over what it wrote. */
int merge_pipe(int fd, int (*make)(void *ctx, int fd), void *ctx);

/* Merges a recording that is told by that name, and says on stderr which files
 * it lacked; opts: as inject's, but for whom it tells. Return: 0 or -errno. */
int merge_into(struct seam_pd_reader *r, const char *name, int fd,
	       struct seam_inject_opts opts, struct seam_injected *ret);

#endif
