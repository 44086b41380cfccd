// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Runs line programs. libdw's reader keeps some 100 bytes for each byte of a
 * program and makes the path of every file; here a row takes 16, and a path
 * is made when a frame shows it. Source: DWARF 5, 6.2.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "symbol/source-line-private.h"

struct registers {
	uint64_t addr, op_index;
	uint32_t file, line;
	size_t first; /* row of the sequence */
};

static void begin_sequence(struct seam_source_program *p, struct registers *r)
{
	*r = (struct registers){
		.file = 1, .line = 1, .first = p->lines->n_rows};
}

static bool add_row(struct seam_source_program *p, const struct registers *r)
{
	struct seam_source_lines *l = p->lines;

	if (!p->s->rows_left) {
		p->s->broken = true;
		seam_source_say(p->s, "its line programs overlap");
		return false;
	}
	p->s->rows_left--;
	if (seam_grow(&l->rows, l->n_rows + 1, &l->cap_rows,
		      sizeof(*l->rows))) {
		p->err = -ENOMEM;
		return false;
	}
	l->rows[l->n_rows++] = (struct seam_source_row){
		.addr = r->addr, .file = r->file, .line = r->line};
	return true;
}

static int add_sequence(struct seam_source_lines *l, size_t first, uint64_t low,
			uint64_t high)
{
	if (seam_grow(&l->sequences, l->n_sequences + 1, &l->cap_sequences,
		      sizeof(*l->sequences)) ||
	    seam_spans_add(&l->spans, low, high, (uint32_t)l->n_sequences))
		return -ENOMEM;
	l->sequences[l->n_sequences++] = (struct seam_source_sequence){
		.first = (uint32_t)first, .n = (uint32_t)(l->n_rows - first)};
	return 0;
}

/* Of code that the linker left out nothing is kept, nor of a sequence that
 * goes backward. */
static bool end_sequence(struct seam_source_program *p, struct registers *r)
{
	struct seam_source_lines *l = p->lines;
	uint64_t low, high = r->addr;
	bool ordered = true;

	if (!add_row(p, r))
		return false;
	low = l->rows[r->first].addr;
	for (size_t i = r->first + 1; i < l->n_rows; i++)
		ordered &= l->rows[i - 1].addr <= l->rows[i].addr;
	if (!ordered || !low || low >= high || l->n_rows > UINT32_MAX)
		l->n_rows = r->first;
	else
		p->err = add_sequence(l, r->first, low, high);
	begin_sequence(p, r);
	return !p->err;
}

static void advance(const struct seam_source_program *p, struct registers *r,
		    uint64_t ops)
{
	if (p->max_ops <= 1) {
		r->addr += ops * p->min_inst;
		return;
	}
	r->op_index += ops;
	r->addr += r->op_index / p->max_ops * p->min_inst;
	r->op_index %= p->max_ops;
}

static bool special(struct seam_source_program *p, struct registers *r,
		    uint8_t opcode)
{
	uint8_t adjusted = (uint8_t)(opcode - p->opcode_base);

	if (!p->line_range)
		return false;
	advance(p, r, adjusted / p->line_range);
	r->line += (uint32_t)(p->line_base + adjusted % p->line_range);
	return add_row(p, r);
}

static bool extended(struct seam_source_program *p, struct registers *r)
{
	struct seam_source_bytes *b = &p->b;
	uint64_t size = bytes_uleb(b);
	const uint8_t *next;

	if (!size || size > bytes_left(b))
		return false;
	next = b->p + size;
	switch (bytes_fixed(b, 1)) {
	case DW_LNE_end_sequence:
		if (!end_sequence(p, r))
			return false;
		break;
	case DW_LNE_set_address:
		if (size - 1 > 8)
			return false;
		r->addr = bytes_fixed(b, size - 1);
		r->op_index = 0;
		break;
	}
	b->p = next;
	return true;
}

static bool standard(struct seam_source_program *p, struct registers *r,
		     uint8_t opcode)
{
	struct seam_source_bytes *b = &p->b;

	switch (opcode) {
	case DW_LNS_copy:
		return add_row(p, r);
	case DW_LNS_advance_pc:
		advance(p, r, bytes_uleb(b));
		return true;
	case DW_LNS_advance_line:
		r->line += (uint32_t)bytes_sleb(b);
		return true;
	case DW_LNS_set_file:
		r->file = (uint32_t)bytes_uleb(b);
		return true;
	case DW_LNS_const_add_pc:
		if (!p->line_range)
			return false;
		advance(p, r, (uint8_t)(255 - p->opcode_base) / p->line_range);
		return true;
	case DW_LNS_fixed_advance_pc:
		r->addr += bytes_fixed(b, 2);
		r->op_index = 0;
		return true;
	}
	for (unsigned i = 0; i < p->lengths[opcode]; i++)
		bytes_uleb(b);
	return true;
}

static bool run_program(struct seam_source_program *p)
{
	struct seam_source_bytes *b = &p->b;
	struct registers r;
	bool good = true;

	begin_sequence(p, &r);
	while (good && b->p < b->end) {
		uint8_t opcode = *b->p++;

		if (opcode >= p->opcode_base)
			good = special(p, &r, opcode);
		else if (opcode)
			good = standard(p, &r, opcode);
		else
			good = extended(p, &r);
	}
	p->lines->n_rows = r.first; /* what has no end */
	return good && !b->short_of;
}

static void read_comp_dir(struct seam_source_lines *l, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *dir = NULL;

	if (dwarf_attr(die, DW_AT_comp_dir, &attr))
		dir = dwarf_formstring(&attr);
	if (dir)
		l->comp_dir = (struct seam_source_text){dir, strlen(dir)};
}

int seam_source_read_lines(struct seam_source *s, struct seam_source_unit *u)
{
	const struct seam_source_part *line = &s->main.line;
	struct seam_source_program p = {.s = s, .lines = &u->lines};
	Dwarf_Attribute attr;
	Dwarf_Word off;
	Dwarf_Die die;

	if (u->has_lines || !dwarf_offdie(s->main.dw, u->die, &die))
		return 0;
	u->has_lines = true;
	if (!dwarf_attr(&die, DW_AT_stmt_list, &attr) ||
	    dwarf_formudata(&attr, &off))
		return 0;
	read_comp_dir(&u->lines, &die);
	if (off < line->size) {
		p.b = (struct seam_source_bytes){.p = line->data + off,
						 .end = line->data + line->size,
						 .le = s->main.le};
		p.address_size = u->address_size;
	}
	if (!p.b.p || !seam_source_line_head(&p) || !run_program(&p))
		if (!p.err)
			seam_source_say(s, "its line information is damaged");
	seam_spans_finish(&u->lines.spans);
	return p.err;
}

/* The last of its rows that begins at or below addr, which it holds. */
static const struct seam_source_row *
row_in(const struct seam_source_lines *l, const struct seam_source_sequence *q,
       uint64_t addr)
{
	const struct seam_source_row *rows = &l->rows[q->first];
	size_t low = 1, high = q->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return &rows[low - 1];
}

const struct seam_source_row *
seam_source_row_at(const struct seam_source_lines *l, uint64_t addr)
{
	const struct seam_span *v = l->spans.v;
	uint32_t at = seam_spans_before(&l->spans, addr);

	while (at != SEAM_NO_SPAN && v[at].high <= addr)
		at = v[at].up;
	return at == SEAM_NO_SPAN ? NULL
				  : row_in(l, &l->sequences[v[at].item], addr);
}

void seam_source_lines_fini(struct seam_source_lines *l)
{
	for (size_t i = 0; i < l->n_files; i++)
		free(l->files[i].path);
	free(l->files);
	free(l->dirs);
	free(l->rows);
	free(l->sequences);
	free(l->spans.v);
}
