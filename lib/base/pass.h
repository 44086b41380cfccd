/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Packets between processes of ours, with a descriptor beside them or none. */
#ifndef SEAM_LIB_BASE_PASS_H
#define SEAM_LIB_BASE_PASS_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* fd: borrowed; -1: none. Return: how many bytes went, or -errno. */
ssize_t seam_pass(int socket, struct iovec *v, size_t n, int fd);
/* flags: recvmsg's. *ret_fd: the caller's; -1: none came. Return: how many
 * bytes came, 0: the other side has ended; or -errno. */
ssize_t seam_pass_receive(int socket, struct iovec *v, size_t n, int flags,
			  int *ret_fd);

#endif
