/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Names of code that is in no file: what a JIT compiler writes down as it goes
 * in /tmp/perf-PID.map, "START SIZE NAME\n" in hex for each function. Where
 * code took the place of other code, the last one to be written there counts,
 * and what is left of the other one keeps its name.
 *
 * Whoever may write in /tmp can put such a file there: it has to be a regular
 * one, of those who are believed (elf/doubt.h), and not of who had the number
 * before (perf-owner.h).
 */
#ifndef SEAM_LIB_SYMBOL_PERF_MAP_H
#define SEAM_LIB_SYMBOL_PERF_MAP_H

#include <sys/stat.h>

#include "symbol/symtab.h"

/* Of a file, no more is read; .NET and Java write some MB. */
#define SEAM_PERF_MAP_SIZE (64u << 20)
#define SEAM_PERF_MAP_COUNT (1u << 19)

struct seam_perf_piece { /* sorted, without overlaps */
	uint64_t start, end;
	uint32_t sym; /* of the table */
};

/* Of a text, so much of its beginning and end is known again. */
#define SEAM_PERF_MAP_KNOWN 256

/* A file as it was read: what is appended to it alone is read later. */
struct seam_perf_seen {
	struct stat st;
	uint64_t taken; /* bytes: whole lines */
	size_t n; /* bytes of each of */
	char first[SEAM_PERF_MAP_KNOWN], last[SEAM_PERF_MAP_KNOWN];
};

struct seam_perf_map {
	struct seam_symtab tab; /* as written: not to be finished */
	struct seam_perf_piece *pieces;
	size_t n;
	struct seam_perf_seen seen;
	uint64_t text; /* bytes of text that are kept */
	bool is_cut; /* there was more than is read */
};

/* Whether what is mapped under this name may have such names. */
bool seam_perf_map_has(const char *path);

/*
 * Fills map, which is zero, or brings it up to date: what was appended to the
 * file is read, and all of another file, or of one that was written anew, in
 * place of what there was. Return: 1: names have come or gone; 0; -errno: map
 * is empty. fini() is due in each case.
 */
int seam_perf_map_read(struct seam_perf_map *map, int fd);
/* Bytes that it takes. */
uint64_t seam_perf_map_size(const struct seam_perf_map *map);
/* Return: NULL: nothing is known of addr. */
struct seam_sym *seam_perf_map_find(struct seam_perf_map *map, uint64_t addr);
void seam_perf_map_fini(struct seam_perf_map *map);

#endif
