/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a thread waits at, beside other descriptors, to be woken by another: an
 * eventfd, readable from seam_wake() until seam_wake_heard(). */
#ifndef SEAM_LIB_BASE_WAKE_H
#define SEAM_LIB_BASE_WAKE_H

/* Return: the descriptor, the caller's to close; -errno. */
int seam_wake_open(void);
void seam_wake(int fd);
/* However often it was woken since. Never waits. */
void seam_wake_heard(int fd);

#endif
