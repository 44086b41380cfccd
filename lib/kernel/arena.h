/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where arenas lie in this process. An arena has its address from the kernel's
 * side, and no process can have it mapped twice: sessions of one process that
 * share one have it mapped once, and what they do not share lies at another
 * address. BPF addresses are the low 32 bits, so an address is a multiple of 4
 * GiB, which makes them offsets.
 */
#ifndef SEAM_LIB_KERNEL_ARENA_H
#define SEAM_LIB_KERNEL_ARENA_H

#include <stddef.h>
#include <stdint.h>

/*
 * An address for an arena to be made, which no session of this process has or
 * is about to have: likely another for each hint, so that processes whose
 * arenas meet find each other's free. It is kept for that arena until it is
 * mapped there or the address is given back. 0: none is left.
 */
uint64_t seam_arena_address(uint64_t hint);
void seam_arena_give_back(uint64_t address);
/* kept: the address that was kept for this arena; 0: it is another's. Return:
 * 0, and no address is kept any more; -EBUSY: another arena or mapping of this
 * process lies there, or will; another -errno. */
int seam_arena_map(int fd, size_t size, uint64_t kept, void **ret);
void seam_arena_unmap(void *at);

#endif
