// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "symbol/perf-owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/proc-stat.h"
#include "elf/doubt.h"

#define SECOND_NS 1000000000ULL
/* Files are stamped by the kernel's last tick, and what began is told in
 * hundredths of a second. */
#define SLACK_NS (SECOND_NS / 50)

/* Its number where it was started, the last one of several. 0: not known. */
static unsigned inner_pid(uint32_t pid)
{
	char line[256], path[32];
	unsigned inner = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!inner && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');

		if (last && !strncmp(line, "NSpid:", 6))
			inner = (unsigned)strtoul(last, NULL, 10);
	}
	fclose(f);
	return inner;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* When a process began. */
static uint64_t start_ns(unsigned long long ticks)
{
	const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);
	uint64_t age_ns = clock_ns(CLOCK_BOOTTIME) -
			  (ticks / per_second * SECOND_NS +
			   ticks % per_second * (SECOND_NS / per_second));

	return age_ns < now_ns ? now_ns - age_ns : 1;
}

static bool is_after(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns && a_ns - b_ns > SLACK_NS;
}

/* Whether that is who was recorded. */
static bool is_owner(const struct seam_perf_owner *of, uint64_t began_ns)
{
	return !(of->until_ns && is_after(began_ns, of->until_ns)) &&
	       !(of->began_ns && is_after(began_ns, of->began_ns));
}

static int open_written_since(const char *path, uint64_t began_ns)
{
	struct stat st;
	int fd = seam_doubt_open(path, O_NOFOLLOW, true, &st);

	if (fd < 0)
		return fd;
	if (!is_after(began_ns, (uint64_t)st.st_mtim.tv_sec * SECOND_NS +
					(uint64_t)st.st_mtim.tv_nsec))
		return fd;
	close(fd);
	return SEAM_PERF_MAP_OLD;
}

/* The same where the process is, if it still is when the file is open. */
static int open_in_task(uint32_t pid, unsigned long long ticks,
			uint64_t began_ns,
			char ret_path[static SEAM_PERF_MAP_PATH])
{
	unsigned inner = inner_pid(pid);
	struct seam_proc_stat now;
	int fd;

	if (!inner)
		return -ENOENT;
	snprintf(ret_path, SEAM_PERF_MAP_PATH, "/proc/%u/root/tmp/perf-%u.map",
		 pid, inner);
	fd = open_written_since(ret_path, began_ns);
	if (fd < 0 ||
	    (seam_proc_stat_read(pid, &now) && now.start_ticks == ticks))
		return fd;
	close(fd);
	return -ENOENT;
}

int seam_perf_map_open(const struct seam_perf_owner *of,
		       char ret_path[static SEAM_PERF_MAP_PATH])
{
	struct seam_proc_stat its = {0};
	bool is_there = of->is_here && seam_proc_stat_read(of->pid, &its);
	uint64_t its_ns = is_there ? start_ns(its.start_ticks) : 0;
	bool runs = is_there && is_owner(of, its_ns);
	uint64_t began_ns = of->began_ns;
	char there[SEAM_PERF_MAP_PATH];
	int fd, inside;

	if (runs && its_ns > began_ns)
		began_ns = its_ns;
	snprintf(ret_path, SEAM_PERF_MAP_PATH, "/tmp/perf-%u.map", of->pid);
	fd = open_written_since(ret_path, began_ns);
	if (!runs || fd >= 0)
		return fd;
	inside = open_in_task(of->pid, its.start_ticks, began_ns, there);
	if (inside == -ENOENT || inside == fd)
		return fd;
	memcpy(ret_path, there, sizeof(there));
	return inside;
}
