// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The names that a process wrote of its own code. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/file.h"

static int open_map(struct seam_symbol_file *f)
{
	char path[SEAM_PERF_MAP_PATH], *copy;
	int fd = seam_perf_map_open(&f->owner, path);

	seam_symbol_file_doubt(f, fd, path);
	copy = fd < 0 && fd != SEAM_PERF_MAP_OLD ? NULL : strdup(path);
	if (copy) {
		free(f->path);
		f->path = copy;
	}
	return fd;
}

void seam_symbol_file_load_map(struct seam_symbol_file *f, uint64_t *room)
{
	int fd = open_map(f);

	if (fd == SEAM_PERF_MAP_OLD)
		f->source_problem = "it was written before the process began "
				    "that has its number: it is not read";
	if (fd < 0)
		return;
	if (!*room)
		f->source_problem = "such files take more than 128 MiB: it is "
				    "not read";
	else if (seam_perf_map_read(&f->map, fd))
		seam_perf_map_fini(&f->map);
	close(fd);
	if (f->map.is_cut)
		f->source_problem = "it is longer than 64 MiB or 524,288 "
				    "lines: the rest is not read";
	*room -= f->map.size < *room ? f->map.size : *room;
}
