// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The names that a process wrote of its own code. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/file.h"

/* Names that were given say where they are from, as long as there is f: from
 * then on it is the file there, or none. */
static int open_map(struct seam_symbol_file *f)
{
	char path[SEAM_PERF_MAP_PATH], *copy;
	int fd = seam_perf_map_open(&f->owner, path);

	seam_symbol_file_doubt(f, fd, path);
	if ((fd < 0 && fd != SEAM_PERF_MAP_OLD) || !strcmp(path, f->path))
		return fd;
	copy = f->is_placed ? NULL : strdup(path);
	if (copy) {
		free(f->path);
		f->path = copy;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -ENOENT;
}

static bool read_map(struct seam_symbol_file *f, int fd, uint64_t *room)
{
	uint64_t had = seam_perf_map_size(&f->map), has;
	int rc;

	f->source_problem = NULL;
	if (!*room) {
		f->source_problem = "such files take more than 128 MiB: it, or "
				    "what came later, is not read";
		return false;
	}
	rc = seam_perf_map_read(&f->map, fd);
	if (f->map.is_cut)
		f->source_problem = "it is longer than 64 MiB or 524,288 "
				    "lines: the rest is not read";
	has = seam_perf_map_size(&f->map);
	*room += had;
	*room -= has < *room ? has : *room;
	f->is_placed |= f->map.n != 0;
	return rc > 0 || (rc < 0 && had);
}

bool seam_symbol_file_read_map(struct seam_symbol_file *f, uint64_t *room)
{
	int fd = open_map(f);
	bool has_changed;

	if (fd == SEAM_PERF_MAP_OLD && !f->map.n)
		f->source_problem = "it was written before the process began "
				    "that has its number: it is not read";
	if (fd < 0)
		return false;
	has_changed = read_map(f, fd, room);
	close(fd);
	return has_changed;
}
