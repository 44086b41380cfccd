// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/cpus.h"

#include <sched.h>

size_t seam_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set)
		       ? 1
		       : (size_t)CPU_COUNT(&set);
}
