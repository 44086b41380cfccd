/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The folder in which clients of one machine find each other, in a BPF file
 * system. In it is a folder for each group: clients that unwind in the same
 * way, by programs of the same build, and so may have each other's stacks.
 * What a group shares is pinned there, and each of its clients has a folder
 * with its number. Who holds the lock of such a folder lives: the kernel lets
 * it go with its process, however that ends.
 */
#ifndef SEAM_LIB_CAPTURE_SHARE_H
#define SEAM_LIB_CAPTURE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire.h"
#include "seam/error.h"

#define SEAM_SHARE_MOUNT "/sys/fs/bpf"
#define SEAM_SHARE_FOLDER SEAM_SHARE_MOUNT "/seam"

struct seam_share {
	int dir_fd; /* locked while a client comes or goes */
	int group_fd;
	int own_fd; /* the client's own folder, locked as long as it lives */
	uint32_t number; /* of the client, below SEAM_MAX_CLIENTS */
	uint32_t others; /* bits of those that live */
	char group[24];
};

/*
 * Comes in, with the folder's lock, so that nobody else comes meanwhile. What
 * groups without clients have left is removed, their own pins too.
 * -EPERM: the folder is another's, or open to others; -ENOSPC: there are
 * SEAM_MAX_CLIENTS; -EBUSY: somebody keeps the lock; another -errno.
 */
int seam_share_enter(uint64_t group, struct seam_share *ret,
		     struct seam_errinfo *reterr);
/* The path of what is pinned under that name. */
void seam_share_path(const struct seam_share *s, const char *name, char *ret,
		     size_t size);
/* Whether others of the group live now. */
bool seam_share_has_others(const struct seam_share *s);
/* What is pinned is all there: the next may come. */
void seam_share_ready(struct seam_share *s);
/* Gives the number back; who is the last removes what is pinned. */
void seam_share_leave(struct seam_share *s);

/* Who has the lock of an open folder; 0: nobody, or nobody that is seen. */
uint32_t seam_share_holder(int fd);
/* Whether a process is stopped, by a signal or a debugger. */
bool seam_share_is_stopped(uint32_t pid);

#define SEAM_SHARE_LISTED 64

struct seam_share_list {
	uint32_t n, n_groups;
	struct {
		uint32_t pid, group; /* 0, 1, ... */
	} clients[SEAM_SHARE_LISTED];
};

/* Which clients live. -ENOENT: there never was one. */
int seam_share_list(struct seam_share_list *ret);

#endif
