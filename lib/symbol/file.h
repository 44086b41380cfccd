/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One file of a symbolizer: what names it, and its symbols once asked. */
#ifndef SEAM_LIB_SYMBOL_FILE_H
#define SEAM_LIB_SYMBOL_FILE_H

#include "symbol/perf-map.h"
#include "symbol/perf-owner.h"
#include "symbol/source.h"
#include "symbol/symtab.h"

struct seam_symbol_file {
	char *path;
	uint8_t build_id[SEAM_BUILD_ID_MAX];
	size_t build_id_len; /* 0: unknown */
	size_t asked_id_len; /* as the caller named it, for look-ups */
	bool loaded;
	struct seam_symtab tab;
	struct seam_elf_segment *segments;
	size_t num_segments;
	char problem[200]; /* empty: none */
	bool stripped; /* it has dynamic symbols at most */
	bool has_go_names; /* for its own run time, which are not read */
	bool unnamed; /* an address in it was asked for, and has no name */
	bool source_loaded;
	struct seam_source *source; /* NULL: there is none */
	const char *source_problem; /* why not, where it is there; or NULL */
	char *doubted; /* a debug file that was not taken */
	bool is_map; /* a process's own names: path is where, or would be */
	bool is_placed; /* path has been given, and stays */
	struct seam_perf_owner owner; /* whose */
	struct seam_perf_map map;
};

/* Reads everything once; what went wrong is in problem. */
void seam_symbol_file_load(struct seam_symbol_file *f, const char *debug_root);
/* The same for its debugging information; see source_problem. */
void seam_symbol_file_load_source(struct seam_symbol_file *f,
				  const char *debug_root);
/* The file itself, if it still is the one that was recorded; it learns its
 * build-id. */
int seam_symbol_file_open(struct seam_symbol_file *f, struct seam_elf **ret);
/* Return: false if no segment of the file holds off. */
bool seam_symbol_file_svma(const struct seam_symbol_file *f, uint64_t off,
			   uint64_t *ret_svma);
/* rc, of a search for a debug file, and where that ended; by its build-id:
 * refuse, as the name that it has there is that of another's too. */
void seam_symbol_file_doubt(struct seam_symbol_file *f, int rc,
			    const char *path);
void seam_symbol_file_refuse(struct seam_symbol_file *f, int rc,
			     const char *path);
/* Of one that is_map: reads it, or what has changed in it, and takes what that
 * needs off *room. Return: whether anything has. */
bool seam_symbol_file_read_map(struct seam_symbol_file *f, uint64_t *room);
void seam_symbol_file_fini(struct seam_symbol_file *f);

#endif
