/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Processes of ours that may outlive who began them: a task that waits for what
 * a FUSE daemon has yet to give sees no signal. None is a child of this
 * process, but of one that begins it and has ended by then; so one that ends
 * when the last session is closed is still reaped, by init. They are known by
 * descriptors, since a number may be another's by then.
 */
#ifndef SEAM_LIB_PROCESS_ASIDE_H
#define SEAM_LIB_PROCESS_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of all sessions of the process, at work or left behind; then no more begin.
 */
#define SEAM_ASIDE_MAX 16

/*
 * Begins one, which runs with a socket (SOCK_SEQPACKET) that leads to
 * *ret_socket, and speaks when it was spoken to. Return: its descriptor, for
 * seam_aside_end; -EBUSY: there are SEAM_ASIDE_MAX; another -errno.
 */
typedef void seam_aside_fn(int socket, void *ctx);
int seam_aside_begin(seam_aside_fn *run, void *ctx, int *ret_socket);
/* Kills it, and waits for its end for so long. Return: whether it has ended;
 * else it is left behind. Takes the descriptor in any case. */
bool seam_aside_end(int fd, uint64_t wait_ns);
/* How many are left behind and have not ended yet. */
size_t seam_aside_left(void);

#endif
