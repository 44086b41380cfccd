// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Linkage tables without an FDE: those of lld and mold, and those that ld makes
 * for the indirect functions of a static program.
 *
 * A stub is known by its first instructions, and is then read as a function.
 * What they may be, with "endbr64" before it or not:
 *	jmp *slot		and behind it, where a lazy slot leads first:
 *				push $number; jmp header
 *	push $number; jmp header		of IBT, whose slots lead here
 *	mov $number, %r11d; jmp *slot		of mold
 *	push %r11; push link_map; jmp *resolver	the header of mold
 * The header of other linkers has a stub's number on the stack already: it is
 * found from there. Stubs that call (lld -z retpolineplt) are not known.
 */
#include <string.h>

#include "cfi/derive-private.h"
#include "cfi/private.h"

#define ENDBR64 "\xf3\x0f\x1e\xfa"
#define MOLD_HEADER "\x41\x53\xff\x35"
#define PUSH_LEN 5
#define JMP_LEN 5
/* A table of rows is read from its beginning: of thousands of stubs, too long.
 */
#define PIECE 4096

struct code {
	const uint8_t *p;
	size_t size;
};

static bool begins(const struct code *c, size_t at, const char *bytes, size_t n)
{
	return c->size >= at && c->size - at >= n &&
	       !memcmp(c->p + at, bytes, n);
}

/* push $number; jmp header, with bnd or without. Return: its bytes, or 0. */
static size_t push_jmp(const struct code *c, size_t at)
{
	if (!begins(c, at, "\x68", 1))
		return 0;
	if (begins(c, at + PUSH_LEN, "\xf2\xe9", 2))
		return PUSH_LEN + 1 + JMP_LEN;
	return begins(c, at + PUSH_LEN, "\xe9", 1) ? PUSH_LEN + JMP_LEN : 0;
}

/* Return: the bytes of the stub that is there, as far as they are known, or 0;
 * *ret_lazy: where in it its slot leads first, or 0. */
static size_t stub_size(const struct code *c, size_t *ret_lazy)
{
	size_t at = begins(c, 0, ENDBR64, 4) ? 4 : 0, size;
	uint64_t slot;

	*ret_lazy = 0;
	if (begins(c, at, MOLD_HEADER, 4))
		return at + 4;
	size = push_jmp(c, at);
	if (size)
		return at + size;
	at = seam_stub_jump(c->p, c->size, &slot);
	size = at ? push_jmp(c, at) : 0;
	if (size)
		*ret_lazy = at;
	return at + size;
}

/* Return: 0 where an FDE is, or no code. */
static size_t code_at(struct seam_derive *d, const struct seam_plt *plt,
		      uint64_t svma, struct seam_hole *hole, struct code *ret)
{
	uint64_t end;

	if (svma >= hole->end && !seam_derive_hole(d, svma, hole))
		return 0;
	end = hole->end < plt->end ? hole->end : plt->end;
	*ret = (struct code){hole->bytes + (svma - hole->start), end - svma};
	return ret->size;
}

/* From in, the first step of the table behind an FDE. Return: its end if no
 * FDE is there. */
static uint64_t behind_fde(const struct seam_derive *d,
			   const struct seam_plt *plt, uint64_t in)
{
	const struct seam_cfi_range *range =
		d->cfi ? seam_cfi_range_find(d->cfi, plt->start + in) : NULL;
	uint64_t size = plt->end - plt->start;

	if (!range || range->end >= plt->end)
		return size;
	in = range->end - plt->start;
	return in + -in % SEAM_DERIVE_STUB;
}

/* Adds the stubs, or where their slots lead first. */
static int add_stubs(struct seam_derive *d, const struct seam_plt *plt,
		     bool lazy_ones)
{
	struct seam_hole hole = {0};
	struct code code;
	uint64_t in = 0;
	size_t lazy, size;
	int err = 0;

	while (!err && in < plt->end - plt->start &&
	       d->num_funcs < SEAM_DERIVE_MAX_FUNCS) {
		uint64_t at = plt->start + in;

		if (!code_at(d, plt, at, &hole, &code)) {
			in = behind_fde(d, plt, in);
			continue;
		}
		size = stub_size(&code, &lazy);
		if (size && (lazy || !lazy_ones))
			err = seam_derive_add_stub(d,
						   at + (lazy_ones ? lazy : 0));
		/* Not into it: its numbers look like anything. */
		in += size ? size + -size % SEAM_DERIVE_STUB : SEAM_DERIVE_STUB;
	}
	d->stats.unread += in < plt->end - plt->start;
	return err;
}

void seam_derive_find_plts(struct seam_derive *d)
{
	struct seam_elf_section s;

	for (size_t i = 0; i < SEAM_STUB_SECTIONS; i++)
		if (!seam_elf_section(d->elf, seam_stub_sections[i], &s) &&
		    s.size && s.svma <= UINT64_MAX - s.size)
			d->plts[d->num_plts++] =
				(struct seam_plt){s.svma, s.svma + s.size};
}

bool seam_derive_plt(const struct seam_derive *d, uint64_t svma,
		     struct seam_plt *ret_piece)
{
	for (size_t i = 0; i < d->num_plts; i++) {
		const struct seam_plt *plt = &d->plts[i];
		uint64_t start, left;

		if (svma < plt->start || svma >= plt->end)
			continue;
		start = svma - (svma - plt->start) % PIECE;
		left = plt->end - start;
		*ret_piece = (struct seam_plt){
			start, start + (left < PIECE ? left : PIECE)};
		return true;
	}
	return false;
}

bool seam_derive_is_plt(const struct seam_derive *d, uint64_t svma)
{
	struct seam_plt piece;

	return seam_derive_plt(d, svma, &piece);
}

int seam_derive_stubs(struct seam_derive *d)
{
	int err = 0;

	/* Most slots lead to their function before anyone calls. */
	for (int lazy = 0; lazy < 2; lazy++)
		for (size_t i = 0; !err && i < d->num_plts; i++)
			err = add_stubs(d, &d->plts[i], lazy);
	return err;
}
