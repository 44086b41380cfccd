// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Compilation units: which there are, where their code lies, and what it
 * costs to look into one. What an entry costs is told by its abbreviation:
 * some attributes take no byte of the entry, so that a small one can have
 * endless many.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "symbol/source-bytes.h"
#include "symbol/source-private.h"

/* gcc, clang and rustc stay below 30. */
#define ATTRIBUTES_MAX 256

#define TOO_MUCH                                                               \
	"its debugging information asks for more work than its size "          \
	"explains"

void seam_source_say(struct seam_source *s, const char *problem)
{
	if (!s->problem)
		s->problem = problem;
}

bool seam_source_charge(struct seam_source *s, uint64_t bytes)
{
	if (s->work < bytes) {
		s->work = 0;
		s->broken = true;
		seam_source_say(s, TOO_MUCH);
		return false;
	}
	s->work -= bytes;
	return true;
}

static bool is_implied(uint64_t form)
{
	return form == DW_FORM_flag_present || form == DW_FORM_implicit_const;
}

/* Return: attributes to look at for each byte of such an entry; 0: damaged. */
static uint64_t measure_one(struct seam_source_bytes *b)
{
	uint64_t n = 0, bytes = 1, name, form;

	bytes_uleb(b); /* tag */
	bytes_fixed(b, 1); /* children */
	for (;;) {
		name = bytes_uleb(b);
		form = bytes_uleb(b);
		if (form == DW_FORM_implicit_const)
			bytes_sleb(b);
		if (b->short_of || ++n > ATTRIBUTES_MAX)
			return 0;
		if (!name && !form)
			return n / bytes + 1;
		bytes += !is_implied(form);
	}
}

/* Measures a table of abbreviations, before libdw reads it: all of it, or as
 * far as one code. Return: the largest weight; 0: refused. */
static uint64_t measure(struct seam_source *s,
			const struct seam_source_part *abbrev, uint64_t off,
			uint64_t code)
{
	struct seam_source_bytes b;
	uint64_t is, weight = 1, size;

	if (off >= abbrev->size)
		return 0;
	b = (struct seam_source_bytes){.p = abbrev->data + off,
				       .end = abbrev->data + abbrev->size};
	while (b.p < b.end && (is = bytes_uleb(&b)) != 0) {
		uint64_t one = measure_one(&b);

		if (!one)
			return 0;
		weight = one > weight ? one : weight;
		if (is == code)
			break;
	}
	size = (uint64_t)(b.p - abbrev->data) - off;
	if (size > s->abbrev_left) {
		s->broken = true;
		seam_source_say(s, TOO_MUCH);
		return 0;
	}
	s->abbrev_left -= size;
	return seam_source_charge(s, size) ? weight : 0;
}

/* The abbreviation code at an offset of .debug_info; 0: none is there. */
static uint64_t code_at(const struct seam_source_image *image, uint64_t off)
{
	struct seam_source_bytes b = {.end = image->info.data +
					     image->info.size};

	if (off >= image->info.size)
		return 0;
	b.p = image->info.data + off;
	return bytes_uleb(&b);
}

bool seam_source_enter(struct seam_source *s, struct seam_source_unit *u)
{
	if (!u->entered) {
		u->entered = true;
		u->weight = measure(s, &u->image->abbrev, u->abbrevs, 0);
		u->refused = !u->weight;
		if (u->refused)
			seam_source_say(s, SEAM_SOURCE_DAMAGED);
	}
	return !u->refused && !s->broken;
}

static struct seam_source_unit *unit_of(struct seam_source_image *image,
					Dwarf_Off off)
{
	size_t low = 0, high = image->n_units;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (image->units[mid].die <= off)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || off >= image->units[low - 1].end)
		return NULL;
	return &image->units[low - 1];
}

bool seam_source_enter_die(struct seam_source *s, Dwarf_Die *die)
{
	struct seam_source_image *image =
		dwarf_cu_getdwarf(die->cu) == s->main.dw ? &s->main : &s->alt;
	struct seam_source_unit *u = unit_of(image, dwarf_dieoffset(die));

	return u && seam_source_enter(s, u);
}

static int add_range(struct seam_source *s, struct seam_spans *spans,
		     uint64_t low, uint64_t high, uint32_t item)
{
	/* Code that the linker has left out is at 0, or at -1 or -2. */
	if (!low || high <= low || low >= UINT64_MAX - 1)
		return 0;
	if (!s->spans_left) {
		s->broken = true;
		seam_source_say(s, TOO_MUCH);
		return 0;
	}
	s->spans_left--;
	return seam_spans_add(spans, low, high, item);
}

int64_t seam_source_ranges(struct seam_source *s, Dwarf_Die *die,
			   struct seam_spans *spans, uint32_t item)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int64_t n = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		int rc = add_range(s, spans, low, high, item);

		if (rc)
			return rc;
		n++;
		if (!seam_source_charge(s, 64))
			break;
	}
	if (at < 0)
		seam_source_say(s, SEAM_SOURCE_DAMAGED);
	return n;
}

/* Units of functions that are in .dwo files have their lines here. */
static bool is_split(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_skeleton_unit ||
	       dwarf_hasattr(die, DW_AT_dwo_name) ||
	       dwarf_hasattr(die, DW_AT_GNU_dwo_name);
}

/* The ranges of a unit of code; others are there for what refers to them. */
static int read_root(struct seam_source *s, struct seam_source_unit *u,
		     size_t number)
{
	Dwarf_Die die;
	int64_t n;
	int tag;

	if (!measure(s, &u->image->abbrev, u->abbrevs,
		     code_at(u->image, u->die)) ||
	    !dwarf_offdie(u->image->dw, u->die, &die))
		return 0;
	tag = dwarf_tag(&die);
	if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
		return 0;
	u->split = is_split(&die);
	n = seam_source_ranges(s, &die, &s->spans, (uint32_t)number);
	return n < 0 ? (int)n : 0;
}

static int add_unit(struct seam_source *s, struct seam_source_image *image,
		    const struct seam_source_unit *unit)
{
	if (image->n_units >= SEAM_NO_SPAN ||
	    seam_grow(&image->units, image->n_units + 1, &image->cap_units,
		      sizeof(*image->units)))
		return -ENOMEM;
	image->units[image->n_units++] = *unit;
	if (image != &s->main)
		return 0;
	return read_root(s, &image->units[image->n_units - 1],
			 image->n_units - 1);
}

int seam_source_read_units(struct seam_source *s,
			   struct seam_source_image *image)
{
	struct seam_source_unit u = {.image = image};
	Dwarf_Off off = 0, next, abbrevs;
	uint8_t address_size, offset_size;
	Dwarf_Half version;
	size_t header;
	int rc;

	while (!(rc = dwarf_next_unit(image->dw, off, &next, &header, &version,
				      &abbrevs, &address_size, &offset_size,
				      NULL, NULL))) {
		u.die = off + header;
		u.end = next;
		u.abbrevs = abbrevs;
		u.address_size = address_size;
		if (next <= off || !seam_source_charge(s, 64))
			break;
		rc = add_unit(s, image, &u);
		if (rc || s->broken)
			break;
		off = next;
	}
	if (rc < 0 && rc != -ENOMEM)
		seam_source_say(s, SEAM_SOURCE_DAMAGED);
	return rc == -ENOMEM ? rc : 0;
}
