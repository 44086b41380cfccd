/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files that tables are asked for, opened as soon as the request is read: a
 * worker that has much to do may come when process and file are gone, and
 * the name is another's.
 */
#ifndef SEAM_LIB_PROCESS_HELD_H
#define SEAM_LIB_PROCESS_HELD_H

#include <stddef.h>

#include "core/wire.h"

/* Zeroed: none. */
struct seam_held {
	struct seam_held_file *files;
	size_t n, max;
};

struct seam_held_file {
	struct seam_file_key key;
	int fd;
};

/* Takes over fd, which is of the file that the key names. Where there is no
 * memory it is closed. */
void seam_held_add(struct seam_held *h, const struct seam_file_key *key,
		   int fd);
/* Return: the file's descriptor, the caller's to close; -ENOENT. */
int seam_held_take(struct seam_held *h, const struct seam_file_key *key);
/* Closes what has not been taken. */
void seam_held_fini(struct seam_held *h);

#endif
