/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The code of a process, for frames that no rule describes: from the ELF file
 * that is mapped; or, but only to guess by, from its memory while it lives.
 * There other code may have taken the place of what was in the stack, with
 * frames of another size. A process whose memory did not come in time is not
 * read again (see peek.h).
 */
#ifndef SEAM_LIB_PROCESS_CODE_H
#define SEAM_LIB_PROCESS_CODE_H

#include "process/process.h"
#include "unwind/dump.h"

#define SEAM_CODE_PAGES 64

/* Pages that were read for one stack: code may change between two. Zeroed:
 * none. */
struct seam_code_pages {
	struct seam_code_page *pages; /* SEAM_CODE_PAGES of them */
};

/* p may be NULL. Return: how many bytes there are, at most size; 0: none. */
size_t seam_code_read(struct seam_code_pages *c, struct seam_processes *ps,
		      struct seam_process *p, uint64_t avma,
		      enum seam_dump_when when, void *to, size_t size);
/* Another stack is to come. */
void seam_code_forget(struct seam_code_pages *c);
void seam_code_fini(struct seam_code_pages *c);

#endif
