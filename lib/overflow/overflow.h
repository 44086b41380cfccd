/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the kernel says of a counter, by read and in its samples. */
#ifndef SEAM_LIB_OVERFLOW_OVERFLOW_H
#define SEAM_LIB_OVERFLOW_OVERFLOW_H

#include <linux/perf_event.h>
#include <stdint.h>

#define SEAM_OVERFLOW_READ_FORMAT                                              \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct seam_overflow_reading {
	uint64_t count;
	uint64_t enabled_ns, running_ns;
};

#endif
