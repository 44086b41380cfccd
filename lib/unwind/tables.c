// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/tables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/ranges.h"
#include "sframe/verify.h"
#include "table/table.h"
#include "unwind/row.h"

/* A file, whose table is made when it is first needed. */
struct source {
	dev_t dev;
	ino_t ino;
	bool is_loaded;
	struct seam_elf *elf; /* once loaded: what cfi reads */
	struct seam_cfi *cfi; /* NULL: none */
	uint8_t *bytes;
	struct seam_sframe sf; /* base NULL: no rules */
};

struct stretch {
	uint64_t start, end;
	uint64_t space; /* the section's pc is avma - space */
	struct seam_sframe sf;
	struct source *source; /* NULL: sf has it */
};

struct seam_tables {
	struct stretch **v;
	size_t n, max;
	struct seam_ranges ranges; /* of v, each where it is the last one */
	struct source **sources;
	size_t n_sources, max_sources;
};

int seam_tables_new(struct seam_tables **ret)
{
	struct seam_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret = t;
	return 0;
}

static void source_free(struct source *s)
{
	seam_cfi_close(s->cfi);
	seam_elf_close(s->elf);
	free(s->bytes);
	free(s);
}

struct seam_tables *seam_tables_free(struct seam_tables *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->n_sources; i++)
		source_free(t->sources[i]);
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	seam_ranges_fini(&t->ranges, NULL);
	free(t->sources);
	free(t->v);
	free(t);
	return NULL;
}

/* Return: a copy, with room to keep it; NULL: there is no memory. */
static struct stretch *new_stretch(struct seam_tables *t,
				   const struct stretch *from)
{
	struct stretch *s;

	if (seam_grow(&t->v, t->n + 1, &t->max, sizeof(struct stretch *)) ||
	    seam_grow(&t->ranges.v, t->ranges.n + SEAM_RANGES_PUT,
		      &t->ranges.cap, sizeof(*t->ranges.v)))
		return NULL;
	s = malloc(sizeof(*s));
	if (s)
		*s = *from;
	return s;
}

/* Does not fail, since there is room. */
static void keep(struct seam_tables *t, struct stretch *s)
{
	t->v[t->n++] = s;
	if (s->start < s->end)
		seam_ranges_put(&t->ranges,
				&(struct seam_range){s->start, s->end, s},
				NULL);
}

static int add(struct seam_tables *t, const struct stretch *from)
{
	struct stretch *s = new_stretch(t, from);

	if (!s)
		return -ENOMEM;
	keep(t, s);
	return 0;
}

int seam_tables_add_sframe(struct seam_tables *t, uint64_t start, uint64_t end,
			   uint64_t section_addr, const void *bytes,
			   size_t size, struct seam_errinfo *reterr)
{
	struct stretch s = {.start = start, .end = end, .space = section_addr};
	int r = seam_sframe_verify(bytes, size, NULL, reterr);

	if (r)
		return r;
	if (seam_sframe_open(&s.sf, bytes, size))
		return -EINVAL;
	return add(t, &s);
}

static int add_source(struct seam_tables *t, struct seam_elf *elf,
		      struct source **ret)
{
	int r = seam_grow(&t->sources, t->n_sources + 1, &t->max_sources,
			  sizeof(struct source *));
	struct source *s = r ? NULL : calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->elf = elf;
	t->sources[t->n_sources++] = s;
	*ret = s;
	return 0;
}

int seam_tables_add_elf(struct seam_tables *t, uint64_t start, uint64_t end,
			uint64_t off, struct seam_elf *elf)
{
	const struct stretch from = {
		.start = start, .end = end, .space = start - off};
	/* First: a source that was added is not taken back. */
	struct stretch *s = new_stretch(t, &from);
	int r = s ? add_source(t, elf, &s->source) : -ENOMEM;

	if (r)
		free(s);
	else
		keep(t, s);
	return r;
}

int seam_tables_add_file(struct seam_tables *t, uint64_t start, uint64_t end,
			 uint64_t off, int fd, struct seam_errinfo *reterr)
{
	struct stretch s = {.start = start, .end = end, .space = start - off};
	const int saved_errno = errno;
	struct seam_elf *elf;
	struct stat st;
	int r;

	if (fstat(fd, &st)) {
		errno = saved_errno;
		return -EBADF;
	}
	for (size_t i = 0; i < t->n_sources && !s.source; i++)
		if (st.st_ino && t->sources[i]->ino == st.st_ino &&
		    t->sources[i]->dev == st.st_dev)
			s.source = t->sources[i];
	if (s.source)
		return add(t, &s);
	r = seam_elf_open_fd(fd, SEAM_ELF_PARTS, &elf, reterr);
	if (r)
		return r;
	r = seam_tables_add_elf(t, start, end, off, elf);
	if (r) {
		seam_elf_close(elf);
		return r;
	}
	t->v[t->n - 1]->source->dev = st.st_dev;
	t->v[t->n - 1]->source->ino = st.st_ino;
	return 0;
}

/* Opens the CFI, and lets go of all else. Return: 0 or -ENOMEM. */
static int keep_cfi(struct source *s)
{
	struct seam_elf_parts keep;
	size_t own;
	int r = seam_cfi_open(s->elf, &s->cfi, NULL);

	if (r == -ENOMEM)
		return r;
	if (r) {
		s->elf = seam_elf_close(s->elf);
		return 0;
	}
	r = seam_cfi_keeps(s->cfi, &keep, &own);
	if (r)
		s->cfi = seam_cfi_close(s->cfi);
	else
		seam_elf_trim(s->elf, &keep);
	return r;
}

/* Makes the table. Return: 0; -ENOMEM: all is as it was. */
static int load(struct source *s)
{
	size_t size;
	int r;

	if (s->is_loaded)
		return 0;
	r = seam_table_build_kernel(s->elf, &s->bytes, &size, NULL, NULL);
	if (r == -ENOMEM)
		return r;
	if (!r && seam_sframe_open(&s->sf, s->bytes, size))
		s->sf = (struct seam_sframe){0};
	if (keep_cfi(s)) {
		free(s->bytes);
		s->bytes = NULL;
		s->sf = (struct seam_sframe){0};
		return -ENOMEM;
	}
	s->is_loaded = true;
	return 0;
}

static struct stretch *stretch_at(const struct seam_tables *t, uint64_t pc)
{
	const struct seam_range *range = seam_ranges_find(&t->ranges, pc);

	return range ? range->value : NULL;
}

int seam_tables_rule(struct seam_tables *t, uint8_t abi, uint64_t pc,
		     struct seam_rule *ret)
{
	const struct seam_sframe *sf;
	struct stretch *s = stretch_at(t, pc);

	if (!s)
		return SEAM_NO_TABLE;
	if (s->source && load(s->source))
		return -ENOMEM;
	sf = s->source ? &s->source->sf : &s->sf;
	if (!sf->base || sf->abi != abi)
		return SEAM_NO_TABLE;
	return seam_sframe_find(sf, pc - s->space, ret) ? SEAM_NO_RULE
							: SEAM_OK;
}

/* Return: as seam_cfi_find; -ENOENT: there is none. */
static int source_row(const struct source *s, uint64_t off,
		      struct seam_cfi_row *ret, uint64_t *ret_svma)
{
	if (!s->cfi || !seam_elf_off_to_svma(s->elf, off, ret_svma))
		return -ENOENT;
	return seam_cfi_find(s->cfi, *ret_svma, ret, NULL);
}

int seam_tables_row(struct seam_tables *t, uint64_t pc,
		    struct seam_cfi_row *ret, uint64_t *ret_bias)
{
	struct stretch *s = stretch_at(t, pc);
	struct seam_rule rule;
	uint64_t svma = pc;
	int r = -ENOENT;

	if (s && s->source && load(s->source))
		return -ENOMEM;
	if (s && s->source)
		r = source_row(s->source, pc - s->space, ret, &svma);
	if (r == -ENOENT) {
		r = seam_tables_rule(t, SEAM_SFRAME_ABI_AMD64, pc, &rule);
		if (r)
			return r;
		if (!seam_row_from_rule(&rule, ret))
			return SEAM_NO_RULE;
	}
	*ret_bias = pc - svma;
	return r && r != -ENOMEM ? SEAM_NO_RULE : r;
}
