// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Opens debugging information, and puts together what is at an address. */
#include "symbol/source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>

#include "symbol/source-private.h"

/* Bytes that may be read for each one there is. A unit is read three times
 * or four where it lacks DW_AT_sibling, and its functions once more. */
#define WORK_FACTOR 64
#define WORK_LEAST (16 << 20)
/* libdw keeps some 16 bytes for each one of these. */
#define ABBREV_FACTOR 4
#define ABBREV_LEAST (64 << 20)

/* libdw calls a handler when memory runs out, and expects no return. */
static _Thread_local jmp_buf *out_of_memory;

__attribute__((noreturn)) static void jump_out(void)
{
	longjmp(*out_of_memory, 1);
}

typedef int guarded_fn(struct seam_source *s, uint64_t svma);

/* Afterwards libdw's state may be half made, so it is not asked again. */
static int guarded(struct seam_source *s, guarded_fn *fn, uint64_t svma)
{
	jmp_buf here, *before = out_of_memory;
	int rc;

	if (setjmp(here)) {
		out_of_memory = before;
		s->broken = true;
		return -ENOMEM;
	}
	out_of_memory = &here;
	rc = fn(s, svma);
	out_of_memory = before;
	return rc;
}

static void set_budget(struct seam_source *s)
{
	uint64_t size = s->main.size + s->alt.size;

	s->work = WORK_FACTOR * size + WORK_LEAST;
	s->abbrev_left =
		ABBREV_FACTOR * (s->main.abbrev.size + s->alt.abbrev.size) +
		ABBREV_LEAST;
	s->spans_left = size / 4 + 1024;
	s->rows_left = 2 * s->main.line.size + 1024;
}

static int read_units(struct seam_source *s, uint64_t unused)
{
	int rc = seam_source_read_units(s, &s->main);

	(void)unused;
	seam_spans_finish(&s->spans);
	if (!rc && s->alt.dw)
		rc = seam_source_read_units(s, &s->alt);
	return rc;
}

int seam_source_open(const struct seam_elf *elf, const struct seam_elf *alt,
		     bool demangle, struct seam_source **ret)
{
	struct seam_source *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->demangle = demangle;
	rc = seam_source_image_open(elf, &s->main);
	if (!rc && alt && !seam_source_image_open(alt, &s->alt)) {
		dwarf_new_oom_handler(s->alt.dw, jump_out);
		dwarf_setalt(s->main.dw, s->alt.dw);
	}
	if (!rc) {
		dwarf_new_oom_handler(s->main.dw, jump_out);
		set_budget(s);
		rc = guarded(s, read_units, 0);
	}
	if (rc)
		seam_source_close(s);
	else
		*ret = s;
	return rc;
}

static void close_unit(struct seam_source_unit *u)
{
	seam_source_drop_functions(u);
	free(u->functions);
	free(u->spans.v);
	seam_source_lines_fini(&u->lines);
}

static void close_image(struct seam_source_image *image)
{
	for (size_t i = 0; i < image->n_units; i++)
		close_unit(&image->units[i]);
	free(image->units);
	seam_source_image_close(image);
}

struct seam_source *seam_source_close(struct seam_source *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_owned; i++)
		free(s->owned[i]);
	free(s->spans.v);
	free(s->names);
	free(s->owned);
	free(s->walk);
	seam_index_fini(&s->name_index);
	close_image(&s->main);
	close_image(&s->alt);
	free(s);
	return NULL;
}

/* Return: the item of the innermost range that holds addr, SEAM_NO_SPAN. */
static uint32_t item_at(struct seam_source *s, const struct seam_spans *spans,
			uint64_t addr)
{
	uint32_t at = seam_spans_before(spans, addr);

	while (at != SEAM_NO_SPAN && spans->v[at].high <= addr) {
		if (!seam_source_charge(s, 1))
			return SEAM_NO_SPAN;
		at = spans->v[at].up;
	}
	return at == SEAM_NO_SPAN ? at : spans->v[at].item;
}

static struct seam_source_frame frame_at(struct seam_source_unit *u,
					 const struct seam_source_row *place)
{
	const char *file = seam_source_path(&u->lines, place->file);

	return (struct seam_source_frame){.file = file,
					  .line = file ? place->line : 0};
}

/* The inlined ones; place becomes where the function itself was. */
static void add_inlined(struct seam_source *s, struct seam_source_unit *u,
			const struct seam_source_function *f, uint64_t svma,
			struct seam_source_row *place, int *n)
{
	uint32_t i = item_at(s, &f->spans, svma);

	/* A parent has a lower number than what is in it. */
	for (; i != SEAM_NO_SPAN; i = f->v[i].parent) {
		if (*n >= SEAM_SOURCE_DEPTH - 1) {
			seam_source_say(s, "its functions are inlined more "
					   "than 255 levels deep");
			return;
		}
		s->frames[*n] = frame_at(u, place);
		s->frames[*n].inlined = true;
		s->frames[*n].name = seam_source_name(s, f->v[i].die);
		++*n;
		place->file = f->v[i].call_file;
		place->line = f->v[i].call_line;
	}
}

/* Return: 0, with the function, NULL: none; -ENOMEM. */
static int find_function(struct seam_source *s, struct seam_source_unit *u,
			 uint64_t svma, struct seam_source_function **ret)
{
	int rc = seam_source_read_functions(s, u);
	uint32_t i = rc ? SEAM_NO_SPAN : item_at(s, &u->spans, svma);

	if (!rc && i == SEAM_NO_SPAN) {
		rc = seam_source_read_nested(s, u);
		i = rc ? SEAM_NO_SPAN : item_at(s, &u->spans, svma);
	}
	*ret = i == SEAM_NO_SPAN ? NULL : &u->functions[i];
	return *ret ? seam_source_read_inlined(s, u, *ret) : rc;
}

static int find_in(struct seam_source *s, struct seam_source_unit *u,
		   uint64_t svma, int *n)
{
	struct seam_source_row place = {0};
	const struct seam_source_row *row;
	struct seam_source_function *f;
	int rc = seam_source_read_lines(s, u);

	if (!rc)
		rc = find_function(s, u, svma, &f);
	if (rc)
		return rc;
	row = seam_source_row_at(&u->lines, svma);
	if (row)
		place = *row;
	if (f)
		add_inlined(s, u, f, svma, &place, n);
	s->frames[(*n)++] = frame_at(u, &place);
	return 0;
}

static int find(struct seam_source *s, uint64_t svma)
{
	uint32_t u = item_at(s, &s->spans, svma);
	int n = 0, rc;

	if (u == SEAM_NO_SPAN)
		return 0;
	rc = find_in(s, &s->main.units[u], svma, &n);
	return rc ? rc : n;
}

int seam_source_find(struct seam_source *s, uint64_t svma,
		     const struct seam_source_frame **ret)
{
	int n;

	if (s->broken)
		return 0;
	n = guarded(s, find, svma);
	if (n > 0)
		*ret = s->frames;
	return n;
}

const char *seam_source_problem(const struct seam_source *s)
{
	return s->problem;
}
