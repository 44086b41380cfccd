/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A recording whose samples hold their whole stacks, for readers that know
 * nothing of deferral: where a sample's chain ended in the mark of deferral
 * and a cookie, it goes on with PERF_CONTEXT_USER and the user's addresses.
 * The records of user stacks are left out, all else is copied (perfdata/copy).
 *
 * Each such sample's header says the end code of its user half, where the
 * record did or where there was none, in bits that perf does not look at (see
 * perfdata/format.h), so that seam's own readers count it as before. Frames
 * that are guessed stay so by PD_SAMPLE_GUESSES. A sample
 * whose record never came keeps its kernel half and its leaf.
 */
#ifndef SEAM_LIB_INJECT_H
#define SEAM_LIB_INJECT_H

#include "stitch/stitch.h"

struct seam_injected {
	uint64_t merged; /* samples that got a user half */
	uint64_t missing; /* samples whose record never came */
	uint64_t cut; /* of merged: the whole does not fit a record */
	struct seam_stitch_stats joins;
};

/* Whether any sample waits for its user half. */
bool seam_inject_needed(struct seam_pd_reader *r);

/* Who wants to know of each file that copies could not be unwound for lack of:
 * why it is not had, and how many stacks end in it. The copies are gone then,
 * and nobody can tell later. */
struct seam_inject_tell {
	void (*lacking)(void *ctx, const char *path, const char *why,
			uint64_t stacks);
	void *ctx;
};

struct seam_inject_opts {
	/* The recorded kernel's symbols, as seam_stitch_kernel has them. */
	const char *kallsyms;
	const struct seam_inject_tell *tell; /* NULL: nobody */
	bool to_file; /* a pipe's recording gets the form for files */
};

/* fd: an empty file, which can be written at any place. opts: NULL: all 0.
 * Return: 0 or -errno. */
int seam_inject(struct seam_pd_reader *r, int fd,
		const struct seam_inject_opts *opts, struct seam_injected *ret);

#endif
