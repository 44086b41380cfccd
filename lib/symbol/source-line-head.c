// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What is in front of a line program: how to read it, and the names of
 * folders and files. Source: DWARF 5, 6.2.4; DWARF 4, 6.2.4.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "symbol/source-line-private.h"

/* PATH_MAX, for each part of a path. */
#define TEXT_MAX 4096
#define FORMATS_MAX 16

static bool add_dir(struct seam_source_program *p, struct seam_source_text text)
{
	struct seam_source_lines *l = p->lines;

	if (seam_grow(&l->dirs, l->n_dirs + 1, &l->cap_dirs,
		      sizeof(*l->dirs))) {
		p->err = -ENOMEM;
		return false;
	}
	l->dirs[l->n_dirs++] = text;
	return true;
}

static bool add_file(struct seam_source_program *p,
		     struct seam_source_text name, uint64_t dir)
{
	struct seam_source_lines *l = p->lines;

	if (seam_grow(&l->files, l->n_files + 1, &l->cap_files,
		      sizeof(*l->files))) {
		p->err = -ENOMEM;
		return false;
	}
	l->files[l->n_files++] = (struct seam_source_file){
		.name = name,
		.dir = dir < UINT32_MAX ? (uint32_t)dir : UINT32_MAX,
	};
	return true;
}

/* DWARF 2 to 4: folder 0 is where it was compiled, file 0 is none. */
static bool old_tables(struct seam_source_program *p)
{
	struct seam_source_bytes *b = &p->b;
	struct seam_source_text text;
	uint64_t dir;

	if (!add_dir(p, p->lines->comp_dir) ||
	    !add_file(p, (struct seam_source_text){0}, 0))
		return false;
	for (;;) {
		text.s = bytes_string(b, &text.len);
		if (b->short_of || !text.len)
			break;
		if (!add_dir(p, text))
			return false;
	}
	for (;;) {
		text.s = bytes_string(b, &text.len);
		if (b->short_of || !text.len)
			break;
		dir = bytes_uleb(b);
		bytes_uleb(b); /* time */
		bytes_uleb(b); /* size */
		if (!add_file(p, text, dir))
			return false;
	}
	return !b->short_of;
}

struct entry {
	struct seam_source_text text;
	uint64_t number;
};

static struct seam_source_text text_in(const struct seam_source_part *part,
				       uint64_t off)
{
	struct seam_source_text text = {0};

	if (off < part->size) {
		text.s = (const char *)part->data + off;
		text.len = strnlen(text.s, part->size - off);
		if (text.len == part->size - off)
			text.len = 0;
	}
	return text;
}

/* Return: false: a form that no producer uses for these. */
static bool read_form(struct seam_source_program *p, uint64_t form,
		      struct entry *ret)
{
	struct seam_source_bytes *b = &p->b;

	switch (form) {
	case DW_FORM_string:
		ret->text.s = bytes_string(b, &ret->text.len);
		return true;
	case DW_FORM_line_strp:
		ret->text = text_in(&p->s->main.line_str,
				    bytes_fixed(b, p->offset_size));
		return true;
	case DW_FORM_strp:
		ret->text = text_in(&p->s->main.str,
				    bytes_fixed(b, p->offset_size));
		return true;
	case DW_FORM_udata:
		ret->number = bytes_uleb(b);
		return true;
	case DW_FORM_data1:
		ret->number = bytes_fixed(b, 1);
		return true;
	case DW_FORM_data2:
		ret->number = bytes_fixed(b, 2);
		return true;
	case DW_FORM_data4:
		ret->number = bytes_fixed(b, 4);
		return true;
	case DW_FORM_data8:
		ret->number = bytes_fixed(b, 8);
		return true;
	case DW_FORM_data16:
		bytes_skip(b, 16);
		return true;
	case DW_FORM_block:
		bytes_skip(b, bytes_uleb(b));
		return true;
	}
	return false;
}

struct format {
	uint64_t content, form;
};

static bool read_entry(struct seam_source_program *p, const struct format *v,
		       size_t n, bool files)
{
	struct seam_source_text path = {0};
	const uint8_t *before = p->b.p;
	uint64_t dir = 0;

	for (size_t i = 0; i < n; i++) {
		struct entry e = {0};

		if (!read_form(p, v[i].form, &e))
			return false;
		if (v[i].content == DW_LNCT_path)
			path = e.text;
		else if (v[i].content == DW_LNCT_directory_index)
			dir = e.number;
	}
	/* Entries that take no bytes would have no end. */
	if (p->b.short_of || p->b.p == before)
		return false;
	return files ? add_file(p, path, dir) : add_dir(p, path);
}

static bool read_table(struct seam_source_program *p, bool files)
{
	struct format v[FORMATS_MAX];
	struct seam_source_bytes *b = &p->b;
	uint64_t n = bytes_fixed(b, 1), count;

	if (n > FORMATS_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		v[i].content = bytes_uleb(b);
		v[i].form = bytes_uleb(b);
	}
	count = bytes_uleb(b);
	for (uint64_t i = 0; i < count; i++)
		if (!read_entry(p, v, (size_t)n, files))
			return false;
	return !b->short_of;
}

static bool read_fixed(struct seam_source_program *p,
		       const uint8_t **ret_program)
{
	struct seam_source_bytes *b = &p->b;
	uint64_t size;

	p->version = (uint16_t)bytes_fixed(b, 2);
	if (p->version < 2 || p->version > 5)
		return false;
	if (p->version >= 5) {
		p->address_size = (uint8_t)bytes_fixed(b, 1);
		bytes_fixed(b, 1); /* of segment selectors */
	}
	size = bytes_fixed(b, p->offset_size);
	if (size > bytes_left(b))
		return false;
	*ret_program = b->p + size;
	p->min_inst = (uint8_t)bytes_fixed(b, 1);
	p->max_ops = p->version >= 4 ? (uint8_t)bytes_fixed(b, 1) : 1;
	bytes_fixed(b, 1); /* default_is_stmt */
	p->line_base = (int8_t)bytes_fixed(b, 1);
	p->line_range = (uint8_t)bytes_fixed(b, 1);
	p->opcode_base = (uint8_t)bytes_fixed(b, 1);
	for (unsigned i = 1; i < p->opcode_base; i++)
		p->lengths[i] = (uint8_t)bytes_fixed(b, 1);
	return p->opcode_base && !b->short_of;
}

/* Reads the length in front. Return: false: it does not lie in the section. */
static bool read_size(struct seam_source_program *p)
{
	struct seam_source_bytes *b = &p->b;
	uint64_t size = bytes_fixed(b, 4);

	p->offset_size = size == UINT32_MAX ? 8 : 4;
	if (size == UINT32_MAX)
		size = bytes_fixed(b, 8);
	if (size > bytes_left(b))
		return false;
	b->end = b->p + size;
	return seam_source_charge(p->s, size);
}

bool seam_source_line_head(struct seam_source_program *p)
{
	const uint8_t *program;

	if (!read_size(p) || !read_fixed(p, &program))
		return false;
	if (p->version < 5 ? !old_tables(p)
			   : !read_table(p, false) || !read_table(p, true))
		return false;
	if (program < p->b.p)
		return false;
	p->b.p = program;
	return true;
}

static bool is_absolute(const struct seam_source_text *t)
{
	return t->len && t->s[0] == '/';
}

/* The parts of a path, the last one first. Return: how many. */
static size_t parts_of(const struct seam_source_lines *l,
		       const struct seam_source_file *f,
		       const struct seam_source_text *parts[3])
{
	size_t n = 0;

	parts[n++] = &f->name;
	if (is_absolute(parts[n - 1]))
		return n;
	if (f->dir < l->n_dirs && l->dirs[f->dir].len)
		parts[n++] = &l->dirs[f->dir];
	if (!is_absolute(parts[n - 1]) && f->dir && l->comp_dir.len)
		parts[n++] = &l->comp_dir;
	return n;
}

const char *seam_source_path(struct seam_source_lines *l, uint32_t file)
{
	const struct seam_source_text *parts[3];
	struct seam_source_file *f;
	size_t n, size = 0;
	char *at;

	if (file >= l->n_files || !l->files[file].name.len)
		return NULL;
	f = &l->files[file];
	if (f->path)
		return f->path;
	n = parts_of(l, f, parts);
	for (size_t i = 0; i < n; i++) {
		if (parts[i]->len > TEXT_MAX)
			return NULL;
		size += parts[i]->len + 1;
	}
	at = f->path = malloc(size);
	while (at && n-- > 0) {
		memcpy(at, parts[n]->s, parts[n]->len);
		at += parts[n]->len;
		*at++ = n ? '/' : '\0';
	}
	return f->path;
}
