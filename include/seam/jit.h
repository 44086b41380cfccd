/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * seam/jit.h: for programs that make code while they run. They say where the
 * SFrame section of that code is, and seam record shows whole stacks through
 * it, also when it starts after they said so.
 *
 *	... write the code, and a section for it ...
 *	err = seam_jit_add(sframe, sframe_size, code, code_size, NULL);
 *	... run it ...
 *	seam_jit_remove(code);
 *	... now both may be changed, or freed ...
 *
 * Sections are borrowed, not copied, and must stay as they are between these
 * calls. A section's functions say where they are by the distance from the
 * section, so it has to be written for where it lies. One section may describe
 * one function or thousands. Of those that come one by one a few hundred
 * thousand may be there at a time.
 *
 * How it is found: the process keeps a list in a private mapping of its own,
 * named "seam-jit". A child of fork inherits list and code, and each goes its
 * own way from there; exec ends both. A change is also told to the kernel, by
 * a prctl that it refuses, so that a recording that goes on sees it at once.
 *
 * Both calls may be made by any thread at any time, but not in a signal
 * handler. A call takes some microseconds.
 */
#ifndef SEAM_JIT_H
#define SEAM_JIT_H

#include <stddef.h>

#include "seam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * sframe: a section of any version for x86-64, whose functions lie in the
 * code_size bytes at code. It is checked in full.
 * Return: 0; -EINVAL: sizes or section are wrong, and *reterr, which may be
 * NULL, says how; -EEXIST: there is a section for some of that code; -ENOSPC:
 * there are too many; -ENOMEM.
 */
int seam_jit_add(const void *sframe, size_t sframe_size, const void *code,
		 size_t code_size, struct seam_errinfo *reterr);

/*
 * Ends what was added for the code that begins there.
 * Return: 0; -ENOENT: nothing was.
 */
int seam_jit_remove(const void *code);

#ifdef __cplusplus
}
#endif

#endif
