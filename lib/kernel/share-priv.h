/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the parts of the sharing have for each other. */
#ifndef SEAM_LIB_KERNEL_SHARE_PRIV_H
#define SEAM_LIB_KERNEL_SHARE_PRIV_H

#include "kernel/share.h"

/* The folder where clients meet, made if need be, and checked. Return: a
 * descriptor, or -errno. */
int seam_share_meet(struct seam_errinfo *reterr);
/* Its lock. -EBUSY: somebody keeps it. */
int seam_share_lock(int dir_fd, struct seam_errinfo *reterr);
/* Whether a folder is root's alone: a group's, or where clients meet (""). */
int seam_share_check_folder(int fd, const char *group,
			    struct seam_errinfo *reterr);

#endif
