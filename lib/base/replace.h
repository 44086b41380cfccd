/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Writes a file so that others see the old one or the whole new one. */
#ifndef SEAM_LIB_BASE_REPLACE_H
#define SEAM_LIB_BASE_REPLACE_H

struct seam_replace {
	int fd; /* to write to; empty, and no one else's */
	char *path, *temp; /* ours */
};

/* path: what is to be there in the end; a symbolic link is replaced by a
 * file. Return: 0; -EISDIR or -EINVAL: path is no regular file; else what
 * making a file beside it failed with. */
int seam_replace_begin(const char *path, struct seam_replace *ret);

/*
 * like_fd: the file whose permissions, and owner where we may give it, the
 * new one gets; without the same owner it is not set-user-id. -1: those of
 * any new file. Fails as writing does; then there is nothing new. Whatever it
 * returns, r is done with.
 */
int seam_replace_commit(struct seam_replace *r, int like_fd);
void seam_replace_abort(struct seam_replace *r);

#endif
