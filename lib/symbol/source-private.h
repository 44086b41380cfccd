/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Inside the reader of debugging information. source.c opens and asks,
 * source-image.c feeds libdw, source-unit.c has units and what they cost,
 * source-function.c functions and what is inlined in them, source-line.c
 * lines, source-spans.c finds ranges.
 */
#ifndef SEAM_LIB_SYMBOL_SOURCE_PRIVATE_H
#define SEAM_LIB_SYMBOL_SOURCE_PRIVATE_H

#include <elfutils/libdw.h>

#include "base/index.h"
#include "symbol/source.h"

#define SEAM_SOURCE_DAMAGED "its debugging information is damaged"

/* Ranges of addresses, and what is there. */
struct seam_span {
	uint64_t low, high; /* [low, high) */
	uint32_t item;
	uint32_t up; /* the nearest one before that reaches further */
};

#define SEAM_NO_SPAN UINT32_MAX

struct seam_spans {
	struct seam_span *v;
	size_t n, cap;
};

int seam_spans_add(struct seam_spans *spans, uint64_t low, uint64_t high,
		   uint32_t item);
/* Sorts; of equal ranges the later added one is inner. */
void seam_spans_finish(struct seam_spans *spans);
/* The last one that begins at or below addr; it need not hold it. */
uint32_t seam_spans_before(const struct seam_spans *spans, uint64_t addr);

struct seam_source_part { /* a section of an image */
	const uint8_t *data;
	size_t size;
};

struct seam_source_text {
	const char *s; /* not ended by a zero */
	size_t len;
};

struct seam_source_file {
	struct seam_source_text name;
	uint32_t dir;
	char *path; /* NULL until asked for */
};

struct seam_source_row {
	uint64_t addr;
	uint32_t file, line;
};

/* Rows one behind the other, in order of address; the last one only ends. */
struct seam_source_sequence {
	uint32_t first, n;
};

struct seam_source_lines {
	struct seam_spans spans; /* item: in sequences */
	struct seam_source_sequence *sequences;
	size_t n_sequences, cap_sequences;
	struct seam_source_row *rows;
	size_t n_rows, cap_rows;
	struct seam_source_text *dirs, comp_dir;
	size_t n_dirs, cap_dirs;
	struct seam_source_file *files;
	size_t n_files, cap_files;
};

/* An inlined subroutine. */
struct seam_source_inlined {
	Dwarf_Off die;
	uint32_t parent; /* in the function's; SEAM_NO_SPAN: the function */
	uint32_t call_file, call_line;
};

struct seam_source_function {
	Dwarf_Off die, end;
	bool read;
	struct seam_spans spans; /* item: in v */
	struct seam_source_inlined *v;
	size_t n, cap;
};

struct seam_source_unit {
	const struct seam_source_image *image;
	Dwarf_Off die, end;
	uint64_t abbrevs; /* offset of its table */
	uint8_t address_size;
	bool entered, refused, has_functions, has_lines;
	bool deep; /* nested functions are among its functions */
	bool split; /* its functions are in another file */
	uint64_t weight; /* attributes to look at, for a byte of entries */
	struct seam_spans spans; /* item: in functions */
	struct seam_source_function *functions;
	size_t n_functions, cap_functions;
	struct seam_source_lines lines;
};

/* A copy of the sections that are read, as an ELF file of its own. */
struct seam_source_image {
	uint8_t *bytes;
	size_t size;
	bool le;
	Elf *elf;
	Dwarf *dw;
	struct seam_source_part info, abbrev, line, line_str, str;
	struct seam_source_unit *units; /* by offset */
	size_t n_units, cap_units;
};

int seam_source_image_open(const struct seam_elf *elf,
			   struct seam_source_image *ret);
void seam_source_image_close(struct seam_source_image *image);

struct seam_source_name { /* of an entry, by where libdw has it */
	const void *addr;
	const char *name;
};

struct seam_source {
	struct seam_source_image main, alt;
	bool demangle;
	uint64_t work; /* that may still be done, in bytes read */
	uint64_t abbrev_left; /* that libdw may still read, it keeps them */
	size_t spans_left; /* that may still be kept */
	size_t rows_left;
	const char *problem;
	bool broken; /* nothing more is to be had */
	struct seam_spans spans; /* item: in the main one's units */
	struct seam_source_name *names;
	size_t n_names, cap_names;
	struct seam_index name_index;
	char **owned;
	size_t n_owned, cap_owned;
	void *walk; /* memory for walks, kept between them */
	struct seam_source_frame frames[SEAM_SOURCE_DEPTH];
};

/* Return: false if that is more than the file may ask for. */
bool seam_source_charge(struct seam_source *s, uint64_t bytes);
void seam_source_say(struct seam_source *s, const char *problem);

/* All return 0 or -errno; a damaged part is no error but a problem. */
int seam_source_read_units(struct seam_source *s,
			   struct seam_source_image *image);
/* To be called before attributes are looked at. False: it is refused. */
bool seam_source_enter(struct seam_source *s, struct seam_source_unit *u);
/* The same by an entry of whatever unit. */
bool seam_source_enter_die(struct seam_source *s, Dwarf_Die *die);
/* The ranges of an entry. Return: how many, or -errno. */
int64_t seam_source_ranges(struct seam_source *s, Dwarf_Die *die,
			   struct seam_spans *spans, uint32_t item);

int seam_source_read_functions(struct seam_source *s,
			       struct seam_source_unit *u);
/* Once more, for an address that is in none: of functions in functions, as
 * languages have them that nest, and in types that are declared in a function,
 * as gcc writes them. Walking through each function of a unit for the few that
 * are there costs more than all the rest. */
int seam_source_read_nested(struct seam_source *s, struct seam_source_unit *u);
void seam_source_drop_functions(struct seam_source_unit *u);
int seam_source_read_inlined(struct seam_source *s, struct seam_source_unit *u,
			     struct seam_source_function *f);
/* Return: the name, NULL: not known. */
const char *seam_source_name(struct seam_source *s, Dwarf_Off die);

int seam_source_read_lines(struct seam_source *s, struct seam_source_unit *u);
void seam_source_lines_fini(struct seam_source_lines *lines);
/* Return: NULL if no line is known there. */
const struct seam_source_row *
seam_source_row_at(const struct seam_source_lines *lines, uint64_t addr);
/* Return: NULL if not known. */
const char *seam_source_path(struct seam_source_lines *lines, uint32_t file);

#endif
