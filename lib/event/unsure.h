/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where this kernel writes the registers that its tasks entered with. */
#ifndef SEAM_LIB_EVENT_UNSURE_H
#define SEAM_LIB_EVENT_UNSURE_H

#include "core/kernel-entry.h"
#include "seam/error.h"

/* path: NULL is /proc/kallsyms. -EACCES: it hides addresses from us; -ENOENT:
 * the kernel has not the code that each has; another -errno. */
int seam_unsure_read(const char *path, struct seam_kernel_entry *ret);

/* The running kernel's. Fails with the reason why it is not known. */
int seam_unsure_open(struct seam_kernel_entry *ret,
		     struct seam_errinfo *reterr);

#endif
