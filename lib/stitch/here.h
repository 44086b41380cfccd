/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Is the kernel that runs here the recorded one? */
#ifndef SEAM_LIB_STITCH_HERE_H
#define SEAM_LIB_STITCH_HERE_H

#include "perfdata/reader.h"

#define SEAM_KERNEL_MAP "[kernel.kallsyms]"

/* Return: the kernel's build-id, in the list of files' or with its mapping;
 * 0: none. *ret is the reader's. */
size_t seam_kernel_build_id(const struct seam_pd_reader *r,
			    const uint8_t **ret);
/* The recording names the kernel's mapping after a symbol, "_text", and has
 * that symbol's address as the mapping's offset. Return: the name, or NULL. */
const char *seam_kernel_anchor(const struct seam_pd_reader *r,
			       uint64_t *ret_addr);
/* Return: the symbol's address in kallsyms, 0 if it is hidden or absent. */
uint64_t seam_kallsyms_find(const char *kallsyms, const char *name);
/*
 * Whether another kernel runs here. The recorded release tells, and of the same
 * release its build-id, if both are known; there is no other way for all
 * recordings. Where the release is lost, another does unless what is
 * left shows that it is this one: the kernel's build-id, or, without one, that
 * it lay where this boot has put it.
 */
bool seam_other_kernel_runs(const struct seam_pd_reader *r);
/* False, too, where it is lost. */
bool seam_same_release_runs(const struct seam_pd_reader *r);

#endif
