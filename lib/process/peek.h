/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Reads another process's memory, which may never come: a page may be a
 * userfaultfd handler's or a FUSE daemon's to bring, and that may be the
 * process itself, or want to stop us. So a thread of its own reads, and is
 * left behind where it takes longer than a page from a disk may. It ends with
 * the read, or with us.
 */
#ifndef SEAM_LIB_PROCESS_PEEK_H
#define SEAM_LIB_PROCESS_PEEK_H

#include <stddef.h>
#include <stdint.h>

#define SEAM_PEEK_NS 1000000000ULL
#define SEAM_PEEK_LEFT 8 /* threads left behind; then nothing is read */

struct seam_peek {
	struct seam_peek_thread *thread; /* NULL: none runs */
	uint32_t left; /* behind */
};

/* Return: 0; -EFAULT: not all of it is mapped; -ETIMEDOUT; -EBUSY: too many
 * were left behind; -ESRCH, -EPERM; -ENOMEM. */
int seam_peek_read(struct seam_peek *p, uint32_t pid, uint64_t addr, void *to,
		   size_t size);
void seam_peek_fini(struct seam_peek *p);

#endif
