// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/clock.h"

#include <time.h>

uint64_t seam_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}
