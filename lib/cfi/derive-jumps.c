// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Jumps into the middle of a function from code that was not followed: a
 * function's rules hold on the paths from its entry, and a path that begins
 * elsewhere may come with another height.
 *
 * Jumps with a 32-bit displacement are looked for at every byte: one that is
 * none costs a function its rules, very rarely. Those with 8 bits would be
 * seen everywhere, so the instructions within their reach are decoded.
 */
#include <gelf.h>
#include <string.h>

#include "base/search.h"
#include "cfi/derive-private.h"
#include "cfi/private.h"

/* Bytes looked at, for each one of the file: sections of a hostile one may
 * lie over each other, and all that looks like a jump in one FDE. */
#define EFFORT 64
#define REACH 144 /* of an 8-bit displacement, and an instruction */

/* The visits of the instruction that holds an address. Return: their number;
 * they begin at *ret_first. */
static size_t visits_at(const struct seam_derive *d, uint64_t svma,
			size_t *ret_first)
{
	const struct seam_visit *v = d->visits;
	size_t end = SEAM_SEARCH(i, d->num_visits, v[i].svma <= svma), first;

	if (!end || svma >= v[end - 1].svma + v[end - 1].len)
		return 0;
	/* All stubs of a linkage table visit its header. */
	first = SEAM_SEARCH(i, d->num_visits, v[i].svma < v[end - 1].svma);
	*ret_first = first;
	return end - first;
}

/* Return: false when all the effort that a file is worth is spent. */
static bool spend(struct seam_derive *d, uint64_t bytes)
{
	if (bytes > d->left)
		return false;
	d->left -= bytes;
	return true;
}

/* What looks like a jump may lie inside of another instruction. Where an FDE
 * says where instructions begin, this is found out. */
static bool is_jump(struct seam_derive *d, uint64_t from, uint64_t target)
{
	const struct seam_cfi_range *range =
		d->cfi ? seam_cfi_range_find(d->cfi, from) : NULL;
	const uint8_t *p;
	struct seam_insn in;
	uint64_t at;

	if (!range)
		return true;
	p = seam_derive_bytes(d, range->start, range->end - range->start);
	if (!p || !spend(d, from - range->start))
		return true;
	for (at = range->start; at <= from; at += in.len) {
		if (!seam_decode(d->decoder, p + (at - range->start),
				 range->end - at, at, &in))
			return true;
		if (from - at < in.len)
			return in.target == target;
	}
	return true;
}

/* Something that may be a jump lies at from. */
static void check(struct seam_derive *d, uint64_t from, uint64_t target)
{
	size_t first, n, unused;

	if (target < d->visits[0].svma ||
	    target > d->visits[d->num_visits - 1].svma + 15)
		return;
	n = visits_at(d, target, &first);
	if (!n || d->visits[first].is_jumped_into ||
	    visits_at(d, from, &unused))
		return;
	/* As at an entry: a call or a tail call. */
	if (d->visits[first].svma == target &&
	    !d->funcs[d->visits[first].func].is_tail &&
	    d->visits[first].height.height == 8 &&
	    !d->visits[first].height.saved)
		return;
	if (!is_jump(d, from, target))
		return;
	d->visits[first].is_jumped_into = true;
	for (size_t i = first; i < first + n; i++)
		d->funcs[d->visits[i].func].failed = true;
}

/* Every byte of an executable segment as the start of a long jump. */
static void scan_long(struct seam_derive *d, const uint8_t *p, size_t size,
		      uint64_t svma)
{
	for (size_t i = 0; i + 6 <= size; i++) {
		size_t len;
		int32_t off;

		if ((p[i] & 0xfe) == 0xe8)
			len = 5;
		else if (p[i] == 0x0f && (p[i + 1] & 0xf0) == 0x80)
			len = 6;
		else
			continue;
		memcpy(&off, p + i + len - 4, sizeof(off));
		check(d, svma + i, svma + i + len + (uint64_t)(int64_t)off);
	}
}

/* Decodes [start, end), which one segment holds. */
static void scan_short(struct seam_derive *d, const uint8_t *p, uint64_t start,
		       uint64_t end)
{
	struct seam_insn in;

	for (uint64_t at = start; at < end;) {
		if (!seam_decode(d->decoder, p + (at - start), end - at, at,
				 &in)) {
			at++;
			continue;
		}
		if (in.target)
			check(d, at, in.target);
		at += in.len;
	}
}

/* The code between two functions, as far as short jumps reach. */
static void scan_gap(struct seam_derive *d, const uint8_t *p, uint64_t svma,
		     uint64_t start, uint64_t end)
{
	const struct seam_cfi_range *range = NULL;
	uint64_t from, to = end;

	if (end - start > 2 * REACH) {
		to = start + REACH;
		from = end - REACH;
		/* Instructions are known to begin where an FDE does. */
		if (d->cfi)
			range = seam_cfi_range_find(d->cfi, from);
		if (range)
			from = range->start > start ? range->start : start;
		scan_short(d, p + (from - svma), from, end);
	}
	scan_short(d, p + (start - svma), start, to);
}

static void scan_segment(struct seam_derive *d, const uint8_t *p, size_t size,
			 uint64_t svma)
{
	uint64_t at = svma, end = svma + size;
	size_t first = SEAM_SEARCH(i, d->num_visits, d->visits[i].svma < svma);

	for (size_t i = first; i < d->num_visits; i++) {
		const struct seam_visit *v = &d->visits[i];

		if (v->svma >= end)
			break;
		if (v->svma > at)
			scan_gap(d, p, svma, at, v->svma);
		if (v->svma + v->len > at)
			at = v->svma + v->len;
	}
	if (at > svma && at < end)
		scan_gap(d, p, svma, at, end);
	scan_long(d, p, size, svma);
}

/* What looking through code costs: sections may lie over each other, and over
 * what stubs have visited by the thousand. */
static uint64_t cost(const struct seam_derive *d, uint64_t svma, uint64_t n)
{
	const struct seam_visit *v = d->visits;

	return n + SEAM_SEARCH(i, d->num_visits, v[i].svma < svma + n) -
	       SEAM_SEARCH(i, d->num_visits, v[i].svma < svma);
}

/* Bytes at svma that begin at a file offset, as many as there are. */
static void scan_file(struct seam_derive *d, uint64_t off, uint64_t n,
		      uint64_t svma)
{
	size_t size;
	const uint8_t *bytes = seam_elf_bytes(d->elf, &size);

	if (off >= size || svma > UINT64_MAX - n || !d->left)
		return;
	n = n < size - off ? n : size - off;
	if (spend(d, cost(d, svma, n))) {
		scan_segment(d, bytes + off, n, svma);
		return;
	}
	d->left = 0;
	for (size_t i = 0; i < d->num_funcs; i++)
		d->funcs[i].failed = true;
}

/* Return: false if the file does not say which of its sections are code. */
static bool scan_sections(struct seam_derive *d)
{
	Elf *elf = seam_elf_libelf(d->elf);
	Elf_Scn *scn = NULL;
	bool any = false;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    (sh.sh_flags & (SHF_EXECINSTR | SHF_COMPRESSED)) !=
			    SHF_EXECINSTR)
			continue;
		any = true;
		scan_file(d, sh.sh_offset, sh.sh_size, sh.sh_addr);
	}
	return any;
}

void seam_derive_jumps(struct seam_derive *d)
{
	const struct seam_elf_segment *s;
	size_t count, size;

	seam_elf_bytes(d->elf, &size);
	d->left = (uint64_t)size * EFFORT;
	/* Some segments hold data as well, which looks like anything. */
	if (!d->num_visits || scan_sections(d))
		return;
	s = seam_elf_segments(d->elf, &count);
	for (size_t i = 0; i < count; i++)
		if (s[i].flags & PF_X)
			scan_file(d, s[i].off, s[i].filesz, s[i].svma);
}
