// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The functions of a unit, what is inlined in each, and their names. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "symbol/source-private.h"
#include "symbol/symtab.h"

/* Scopes in scopes. */
#define DEPTH_MAX 256
/* From an inlined call to its function and on to its declaration: 2 or 3. */
#define HOPS_MAX 16

#define TOO_DEEP "its debugging information nests deeper than 256 scopes"

struct walk {
	struct seam_source *s;
	struct seam_source_unit *u;
	struct seam_source_function *f; /* NULL: all functions are sought */
	bool deep; /* functions in functions and in types are sought, too */
	Dwarf_Off end; /* of what is walked */
	uint32_t parents[DEPTH_MAX + 1]; /* by depth */
	uint32_t open[DEPTH_MAX]; /* functions on the path, by depth */
	Dwarf_Die path[DEPTH_MAX];
};

static int take_function(struct walk *w, Dwarf_Die *die, size_t depth)
{
	struct seam_source_unit *u = w->u;
	int64_t n;

	if (!dwarf_hasattr(die, DW_AT_low_pc) &&
	    !dwarf_hasattr(die, DW_AT_ranges))
		return 0;
	if (seam_grow(&u->functions, u->n_functions + 1, &u->cap_functions,
		      sizeof(*u->functions)))
		return -ENOMEM;
	n = seam_source_ranges(w->s, die, &u->spans, (uint32_t)u->n_functions);
	if (n <= 0)
		return (int)n;
	w->open[depth] = (uint32_t)u->n_functions;
	u->functions[u->n_functions++] = (struct seam_source_function){
		.die = dwarf_dieoffset(die),
		.end = w->end,
	};
	return 0;
}

/* Return: 1 to look into it, 0 to pass over it, -errno. */
static int visit_for_functions(struct walk *w, Dwarf_Die *die, size_t depth)
{
	int rc;

	w->open[depth] = SEAM_NO_SPAN;
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		rc = take_function(w, die, depth);
		return rc ? rc : w->deep;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return 1;
	case DW_TAG_lexical_block:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return w->deep;
	}
	return 0;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &v) ||
	    v > UINT32_MAX)
		return 0;
	return (uint32_t)v;
}

static int take_inlined(struct walk *w, Dwarf_Die *die, size_t depth)
{
	struct seam_source_function *f = w->f;
	int64_t n;

	if (f->n >= SEAM_NO_SPAN ||
	    seam_grow(&f->v, f->n + 1, &f->cap, sizeof(*f->v)))
		return -ENOMEM;
	n = seam_source_ranges(w->s, die, &f->spans, (uint32_t)f->n);
	if (n <= 0)
		return (int)n;
	f->v[f->n] = (struct seam_source_inlined){
		.die = dwarf_dieoffset(die),
		.parent = w->parents[depth],
		.call_file = number_of(die, DW_AT_call_file),
		.call_line = number_of(die, DW_AT_call_line),
	};
	w->parents[depth + 1] = (uint32_t)f->n++;
	return 1;
}

static int visit_for_inlined(struct walk *w, Dwarf_Die *die, size_t depth)
{
	w->parents[depth + 1] = w->parents[depth];
	switch (dwarf_tag(die)) {
	case DW_TAG_inlined_subroutine:
		return take_inlined(w, die, depth);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return 1;
	}
	return 0;
}

static int visit(struct walk *w, size_t depth)
{
	Dwarf_Die *die = &w->path[depth];

	if (!seam_source_charge(w->s, 4 * w->u->weight))
		return 0;
	return w->f ? visit_for_inlined(w, die, depth)
		    : visit_for_functions(w, die, depth);
}

/* An end is no more than where the next entry begins. */
static void close_functions(struct walk *w, size_t from, size_t to,
			    Dwarf_Off end)
{
	for (size_t i = from; !w->f && i <= to; i++)
		if (w->open[i] != SEAM_NO_SPAN)
			w->u->functions[w->open[i]].end = end;
}

/* To the next entry that is none of this one's children: its sibling, or that
 * of the nearest above it that has one. Without DW_AT_sibling libdw reads all
 * that is between. Return: false: the walk is over. */
static bool next_entry(struct walk *w, size_t *depth)
{
	Dwarf_Off to = w->end, froms = 0;
	uint64_t levels = 0;
	size_t was = *depth;
	Dwarf_Die next;
	int rc;

	for (;;) {
		froms += dwarf_dieoffset(&w->path[*depth]);
		levels++;
		rc = dwarf_siblingof(&w->path[*depth], &next);
		if (rc < 0)
			seam_source_say(w->s, SEAM_SOURCE_DAMAGED);
		if (!rc || !*depth)
			break;
		--*depth;
	}
	if (!rc) {
		to = dwarf_dieoffset(&next);
		/* libdw lets no sibling lie before; this loop relies on it. */
		rc = to <= dwarf_dieoffset(&w->path[*depth]);
		w->path[*depth] = next;
	}
	close_functions(w, *depth, was, to);
	return seam_source_charge(w->s, (levels * to - froms) * w->u->weight) &&
	       !rc;
}

static int walk(struct walk *w, Dwarf_Die *top)
{
	size_t depth = 0;
	int rc;

	if (dwarf_child(top, &w->path[0]))
		return 0;
	w->end = w->f ? w->f->end : w->u->end;
	do {
		rc = visit(w, depth);
		while (rc > 0 && depth + 1 < DEPTH_MAX &&
		       !dwarf_child(&w->path[depth], &w->path[depth + 1])) {
			depth++;
			rc = visit(w, depth);
		}
		if (rc < 0)
			return rc;
		if (rc > 0 && depth + 1 >= DEPTH_MAX)
			seam_source_say(w->s, TOO_DEEP);
	} while (!w->s->broken && next_entry(w, &depth));
	return 0;
}

static int walk_below(struct seam_source *s, struct seam_source_unit *u,
		      struct seam_source_function *f)
{
	struct walk *w = s->walk ? s->walk : malloc(sizeof(*w));
	Dwarf_Die top;
	int rc = 0;

	if (!w)
		return -ENOMEM;
	/* Not on the stack: libdw may jump out of it. */
	s->walk = w;
	w->s = s;
	w->u = u;
	w->f = f;
	w->deep = u->deep;
	w->parents[0] = SEAM_NO_SPAN;
	if (dwarf_offdie(s->main.dw, f ? f->die : u->die, &top))
		rc = walk(w, &top);
	return rc;
}

int seam_source_read_functions(struct seam_source *s,
			       struct seam_source_unit *u)
{
	int rc = 0;

	if (u->has_functions)
		return 0;
	u->has_functions = true;
	if (u->split)
		seam_source_say(s, "its functions are in .dwo files, which are "
				   "not read: no inlined ones are known");
	else if (seam_source_enter(s, u))
		rc = walk_below(s, u, NULL);
	seam_spans_finish(&u->spans);
	return rc;
}

void seam_source_drop_functions(struct seam_source_unit *u)
{
	for (size_t i = 0; i < u->n_functions; i++) {
		free(u->functions[i].spans.v);
		free(u->functions[i].v);
	}
	u->n_functions = 0;
	u->spans.n = 0;
}

int seam_source_read_nested(struct seam_source *s, struct seam_source_unit *u)
{
	if (u->deep)
		return 0;
	u->deep = true;
	u->has_functions = false;
	seam_source_drop_functions(u);
	return seam_source_read_functions(s, u);
}

int seam_source_read_inlined(struct seam_source *s, struct seam_source_unit *u,
			     struct seam_source_function *f)
{
	int rc;

	if (f->read)
		return 0;
	f->read = true;
	rc = seam_source_enter(s, u) ? walk_below(s, u, f) : 0;
	seam_spans_finish(&f->spans);
	return rc;
}

static const char *string_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

static bool follow(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die to;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
	    !dwarf_attr(die, DW_AT_specification, &attr))
		return false;
	if (!dwarf_formref_die(&attr, &to))
		return false;
	*die = to;
	return true;
}

/* The linker's name says more: namespaces, template arguments, parameters. */
static const char *find_name(struct seam_source *s, Dwarf_Die *die)
{
	const char *plain = NULL, *linkage;

	for (int i = 0; i < HOPS_MAX; i++) {
		if (!seam_source_enter_die(s, die) ||
		    !seam_source_charge(s, 64))
			break;
		linkage = string_of(die, DW_AT_linkage_name);
		if (!linkage)
			linkage = string_of(die, DW_AT_MIPS_linkage_name);
		if (linkage)
			return linkage;
		if (!plain)
			plain = string_of(die, DW_AT_name);
		if (!follow(die))
			break;
	}
	return plain;
}

static char *own(struct seam_source *s, char *text)
{
	if (!text)
		return NULL;
	if (seam_grow(&s->owned, s->n_owned + 1, &s->cap_owned,
		      sizeof(*s->owned))) {
		free(text);
		return NULL;
	}
	s->owned[s->n_owned++] = text;
	return text;
}

static const char *shown_name(struct seam_source *s, const char *raw)
{
	char *shown = NULL;

	if (!raw || !*raw)
		return NULL;
	if (s->demangle)
		shown = own(s, seam_demangle(raw));
	if (!shown &&
	    strnlen(raw, SEAM_SYMBOL_NAME_MAX) == SEAM_SYMBOL_NAME_MAX)
		return own(s, strndup(raw, SEAM_SYMBOL_NAME_MAX));
	return shown ? shown : raw;
}

const char *seam_source_name(struct seam_source *s, Dwarf_Off off)
{
	const char *name;
	const void *addr;
	uint64_t hash;
	Dwarf_Die die;
	uint32_t i;

	/* Many calls of one function share its entry, and so its name. */
	if (!dwarf_offdie(s->main.dw, off, &die) || !follow(&die))
		return NULL;
	addr = die.addr;
	hash = seam_hash(SEAM_HASH_START, &addr, sizeof(addr));
	for (size_t at = 0; seam_index_next(&s->name_index, hash, &at, &i);)
		if (s->names[i].addr == addr)
			return s->names[i].name;
	name = shown_name(s, find_name(s, &die));
	if (!seam_grow(&s->names, s->n_names + 1, &s->cap_names,
		       sizeof(*s->names)) &&
	    !seam_index_add(&s->name_index, hash, s->n_names))
		s->names[s->n_names++] =
			(struct seam_source_name){.addr = addr, .name = name};
	return name;
}
