// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report/clock.h"

#include <stdio.h>
#include <stdlib.h>
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

/* When the recording ended, at the earliest; 0: not known. Of a folder it is
 * the file that is written last: the folder's own time is when that was made.
 */
static uint64_t written_ns(const char *path)
{
	struct stat st;
	char *data;
	int rc;

	if (stat(path, &st))
		return 0;
	if (!S_ISDIR(st.st_mode))
		return ns_of(&st.st_mtim);
	if (asprintf(&data, "%s/data", path) < 0)
		return 0;
	rc = stat(data, &st);
	free(data);
	return rc ? 0 : ns_of(&st.st_mtim);
}

void seam_clock_fit(const struct seam_pd_reader *r, const char *path,
		    bool is_live, struct seam_clock_fit *ret)
{
	const struct seam_pd_info *info = seam_pd_info(r);
	struct timespec now, wall;

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
	if (path)
		ret->until_ns = written_ns(path);
}
