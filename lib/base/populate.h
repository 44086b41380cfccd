/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SEAM_LIB_BASE_POPULATE_H
#define SEAM_LIB_BASE_POPULATE_H

#include <stddef.h>

/* All of this memory is about to be written: its pages are had at once, where
 * that is worth it. Faults, one for each, take longer. */
void seam_populate(void *p, size_t size);

#endif
