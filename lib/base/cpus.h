/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Processors that the calling thread may run on; 1 if that is not known. */
#ifndef SEAM_LIB_BASE_CPUS_H
#define SEAM_LIB_BASE_CPUS_H

#include <stddef.h>

size_t seam_cpus(void);

#endif
