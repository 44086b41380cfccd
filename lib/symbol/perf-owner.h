/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where the names are that a process wrote of its code (perf-map.h), and
 * whether they are its own: a number is given again, in a container at each
 * start, and files of who had it before stay where they are. What was last
 * written before the process began is not its own.
 */
#ifndef SEAM_LIB_SYMBOL_PERF_OWNER_H
#define SEAM_LIB_SYMBOL_PERF_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Whose they are. Times are in ns of the clock that files are stamped by. */
struct seam_perf_owner {
	uint32_t pid;
	bool is_here; /* it may still run on this machine, in a container too */
	uint64_t began_ns; /* its program, as recorded; 0: not known */
	uint64_t until_ns; /* the recording's end; 0: there is none yet */
};

#define SEAM_PERF_MAP_PATH 64

/* What opens them returns this of a file that was there before. */
#define SEAM_PERF_MAP_OLD (-ESTALE)

/*
 * Opens /tmp/perf-PID.map, or what a process that still runs has under that
 * name where it has /tmp and its number. *ret_path: where that is, or would be.
 * Return: a file descriptor; -errno; SEAM_DOUBTED (elf/doubt.h);
 * SEAM_PERF_MAP_OLD.
 */
int seam_perf_map_open(const struct seam_perf_owner *of,
		       char ret_path[static SEAM_PERF_MAP_PATH]);

#endif
