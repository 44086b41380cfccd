/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where this kernel writes the registers that its tasks entered with. */
#ifndef SEAM_LIB_EVENT_UNSURE_H
#define SEAM_LIB_EVENT_UNSURE_H

#include "core/kernel-entry.h"
#include "seam/error.h"

/* Fails with the reason why it is not known. */
int seam_unsure_open(struct seam_kernel_entry *ret,
		     struct seam_errinfo *reterr);

#endif
