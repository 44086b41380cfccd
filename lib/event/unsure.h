/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where this kernel writes the registers that its tasks entered with. */
#ifndef SEAM_LIB_EVENT_UNSURE_H
#define SEAM_LIB_EVENT_UNSURE_H

#include "core/kernel-entry.h"
#include "seam/error.h"

/*
 * Parts of its doors in which all registers are there, for those who have not
 * the stack pointer that tells it: on the way out; and where they are saved,
 * from SEAM_KERNEL_SAVING bytes on, which is behind the last push.
 */
struct seam_kernel_saved {
	struct seam_kernel_range out[32];
	struct seam_kernel_range saving[8];
};

#define SEAM_KERNEL_SAVING 0x40

/* path: NULL is /proc/kallsyms. ret_saved: NULL: not asked for. -EACCES: it
 * hides addresses from us; -ENOENT: the kernel has not the code that each has;
 * another -errno. */
int seam_unsure_read(const char *path, struct seam_kernel_entry *ret,
		     struct seam_kernel_saved *ret_saved);

/* The running kernel's. Fails with the reason why it is not known. */
int seam_unsure_open(struct seam_kernel_entry *ret,
		     struct seam_errinfo *reterr);

#endif
