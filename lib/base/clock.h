/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The one clock of a recording, which BPF and perf events have too. */
#ifndef SEAM_LIB_BASE_CLOCK_H
#define SEAM_LIB_BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t seam_now_ns(void);

#endif
