/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where arenas lie in this process. An arena has its address from the kernel's
 * side, and no process can have it mapped twice: sessions of one process that
 * share one have it mapped once, and what they do not share lies at another
 * address. BPF addresses are the low 32 bits, so an address is a multiple of 4
 * GiB, which makes them offsets.
 */
#ifndef SEAM_LIB_CAPTURE_ARENA_H
#define SEAM_LIB_CAPTURE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* An address for an arena to be made, which no session of this process has:
 * likely another for each hint, so that processes whose arenas meet find each
 * other's free. 0: none is left. */
uint64_t seam_arena_address(uint64_t hint);
/* Return: 0; -EBUSY: another arena or mapping of this process lies there;
 * another -errno. */
int seam_arena_map(int fd, size_t size, void **ret);
void seam_arena_unmap(void *at);

#endif
