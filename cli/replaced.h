/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A file that is there whole or not at all, also when a signal comes. */
#ifndef SEAM_CLI_REPLACED_H
#define SEAM_CLI_REPLACED_H

#include "base/replace.h"

#define REPLACED_OWN (-2)

struct replaced {
	const char *path;
	/* As for seam_replace_commit; REPLACED_OWN: it stays as private as it
	 * was made. */
	int like_fd;
	seam_replace_lost_fn *lost; /* NULL: nobody is told */
	/* Writes to fd, an empty file. Return: from 0 on, or negative. */
	int (*make)(void *ctx, int fd);
	void *ctx; /* of both */
};

/*
 * Writes path anew. Nothing is left of what was not finished if make fails or
 * if a signal ends the process meanwhile.
 * Return: what make returned, or -errno.
 */
int replaced(const struct replaced *r);

#endif
