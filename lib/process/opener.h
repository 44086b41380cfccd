/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A process of ours that opens the files which others have mapped, read-only,
 * and does nothing else: so that who reads what is in them, and is the one that
 * a hostile file could deceive, need not have the right to open them. It reads
 * no file, has none of ours, and ends when its socket does.
 */
#ifndef SEAM_LIB_PROCESS_OPENER_H
#define SEAM_LIB_PROCESS_OPENER_H

#include <stdint.h>

struct seam_opener {
	int socket; /* that leads to it */
};

/* confine: what the process gives up before it serves. Return: 0; what confine
 * returned, or another -errno. */
int seam_opener_begin(int (*confine)(void), struct seam_opener *ret);
void seam_opener_end(struct seam_opener *o);

/* As seam_open_mapped; NULL: this process does it. -ESHUTDOWN: that one has
 * ended. */
int seam_opener_mapped(const struct seam_opener *o, uint32_t pid,
		       uint64_t start, uint64_t end);

#endif
