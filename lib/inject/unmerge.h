/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The reverse of inject.h: where a sample's chain has a user half, that
 * becomes a record of its own behind the sample, and the chain ends in the
 * mark of deferral and a cookie. Merging what comes of it gives the same bytes
 * again.
 *
 * A sample whose user half never came, which a merged recording says in the
 * sample's header, has a record that says so, with the leaf if that was there.
 * Which samples had shared a record nobody knows any more: each has its own.
 */
#ifndef SEAM_LIB_INJECT_UNMERGE_H
#define SEAM_LIB_INJECT_UNMERGE_H

#include "perfdata/reader.h"

struct seam_unmerged {
	uint64_t samples;
	uint64_t stacks; /* samples whose user half is a record now */
	/* Samples with a user half that stay: their chain has marks that a
	 * record cannot hold, or they hold a copy of the stack. */
	uint64_t kept;
};

/* Whether there is any such sample, and none waits for its user half. */
bool seam_unmerge_needed(struct seam_pd_reader *r);
/* fd: an empty file, which can be written at any place. to_file: a pipe's
 * recording gets the form for files. Return: 0 or -errno. */
int seam_unmerge(struct seam_pd_reader *r, int fd, bool to_file,
		 struct seam_unmerged *ret);

#endif
