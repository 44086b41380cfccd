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

/* An extended attribute that the new file does not get, and why: -errno. */
typedef void seam_replace_lost_fn(void *ctx, const char *name, int rc);

/*
 * like_fd: the file whose permissions, extended attributes, and owner where we
 * may give it, the new one gets; without the same owner it is not set-user-id.
 * security.ima and security.evm vouch for the old bytes, and stay behind. -1:
 * those of any new file. Fails as writing does; then there is nothing new.
 * Whatever it returns, r is done with.
 */
int seam_replace_commit(struct seam_replace *r, int like_fd,
			seam_replace_lost_fn *lost, void *ctx);
void seam_replace_abort(struct seam_replace *r);

#endif
