// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/clock.h"

#include <sys/stat.h>
#include <time.h>

#define SECOND_NS 1000000000ULL

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * SECOND_NS + (uint64_t)ts->tv_nsec;
}

/* As seam records. */
static bool is_monotonic(const struct seam_pd_reader *r)
{
	const struct perf_event_attr *attr = &seam_pd_event(r, 0)->attr;

	return attr->use_clockid && attr->clockid == CLOCK_MONOTONIC;
}

void seam_clock_fit(const struct seam_pd_reader *r, const char *path,
		    bool is_live, struct seam_clock_fit *ret)
{
	const struct seam_pd_info *info = seam_pd_info(r);
	struct timespec now, wall;
	struct stat st;

	*ret = (struct seam_clock_fit){0};
	if (info->wall_clock_ns) {
		ret->is_known = true;
		ret->ahead_ns = info->wall_clock_ns - info->clockid_ns;
	} else if (is_live && seam_pd_n_events(r) && is_monotonic(r)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		clock_gettime(CLOCK_REALTIME, &wall);
		ret->is_known = true;
		ret->ahead_ns = ns_of(&wall) - ns_of(&now);
	}
	/* A copy of it is no older. */
	if (path && !stat(path, &st))
		ret->until_ns = ns_of(&st.st_mtim);
}
