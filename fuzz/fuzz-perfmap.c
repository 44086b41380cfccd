/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reads the input as what a process wrote down of its code, in two parts; the
 * pieces made of it are in order, apart from each other, and each of the last
 * line there. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/perf-map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_last(const struct seam_perf_map *map,
		       const struct seam_perf_piece *piece)
{
	const struct seam_sym *is = &map->tab.syms[piece->sym];

	if (piece->start < is->start || piece->end > is->end)
		abort();
	for (size_t i = piece->sym + 1; i < map->tab.count; i++)
		if (map->tab.syms[i].start < piece->end &&
		    map->tab.syms[i].end > piece->start)
			abort();
}

static void check(struct seam_perf_map *map)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct seam_perf_piece *piece = &map->pieces[i];

		if (piece->start >= piece->end ||
		    (i && piece->start < piece[-1].end))
			abort();
		if (map->tab.count < 1000)
			check_last(map, piece);
	}
	for (size_t i = 0; i < map->tab.count; i++)
		if (!seam_perf_map_find(map, map->tab.syms[i].start))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seam_perf_map map = {0};
	int fd = memfd_create("input", MFD_CLOEXEC);
	const size_t half = size / 2;

	if (fd < 0 || write(fd, data, half) != (ssize_t)half)
		abort();
	if (seam_perf_map_read(&map, fd) >= 0)
		check(&map);
	if (write(fd, data + half, size - half) != (ssize_t)(size - half))
		abort();
	if (seam_perf_map_read(&map, fd) >= 0)
		check(&map);
	seam_perf_map_fini(&map);
	close(fd);
	return 0;
}
