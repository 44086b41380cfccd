// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Goes through sections of CFI, FDE after FDE. */
#include <endian.h>
#include <string.h>

#include "cfi/private.h"
#include "core/err.h"

/* GNU ld leaves the FDEs of functions that it discarded with a start of 0. */
static bool is_tombstone(const struct seam_cfi *cfi, const struct seam_fde *fde)
{
	const struct seam_elf_segment *segs;
	size_t n;

	if (fde->start)
		return false;
	segs = seam_elf_segments(cfi->elf, &n);
	for (size_t i = 0; i < n; i++)
		if (segs[i].svma == 0 && segs[i].flags & PF_X)
			return false;
	return true;
}

static inline uint32_t load4(const struct seam_cfi_section *sec,
			     const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return sec->be ? be32toh(v) : le32toh(v);
}

/* Length, distance to the CIE, start, size, length of the augmentation. */
#define PLAIN_MIN (4 + 4 + 4 + 4 + 1)

/* What nearly all FDEs of .eh_frame are, in few instructions. Return: false:
 * it is something else, or not sound; seam_cfi_entry_read says what. */
static bool parse_plain(const struct seam_cfi *cfi,
			const struct seam_cfi_section *sec, uint64_t off,
			struct seam_fde *ret, uint64_t *ret_next)
{
	const uint8_t *p = sec->data + off, *end;
	const struct seam_cie *cie;
	uint64_t start, size, len, cie_off;

	if (sec->size - off < PLAIN_MIN || sec->num_unresolved)
		return false;
	len = load4(sec, p);
	if (len > sec->size - off - 4 || len < PLAIN_MIN - 4)
		return false;
	end = p + 4 + len;
	cie_off = off + 4 - load4(sec, p + 4);
	cie = seam_cie_slot(cfi->work, cie_off);
	if (!cie->used || !cie->is_plain || cie->off != cie_off ||
	    cie->sec != sec || cie_off == off + 4)
		return false;
	start = sec->svma + off + 8 + (uint64_t)(int32_t)load4(sec, p + 8);
	size = load4(sec, p + 12);
	/* Nothing, a function that was discarded, a lie: look closer. */
	if (!start || !size || size > INT32_MAX || size > UINT64_MAX - start)
		return false;
	p += 16;
	if (cie->has_aug_data) {
		if (*p >= 0x80 || *p >= end - p)
			return false;
		p += 1 + *p;
	}
	*ret = (struct seam_fde){
		off, start, start + size, {p, end, sec->be}, cie};
	*ret_next = (uint64_t)(end - sec->data);
	return true;
}

int seam_cfi_walk(struct seam_cfi *cfi, const struct seam_cfi_section *sec,
		  const struct seam_cfi_visitor *v)
{
	struct seam_cfi_entry entry;
	struct seam_cfi_fault fault;
	struct seam_fde fde;
	uint64_t next;
	bool ok;
	int rc;

	for (uint64_t off = 0; off < sec->size; off = next) {
		if (parse_plain(cfi, sec, off, &fde, &next)) {
			rc = v->fde(v->ctx, sec, &fde);
			if (rc)
				return rc;
			continue;
		}
		fde = (struct seam_fde){.off = off};
		ok = seam_cfi_entry_read(sec, off, &entry, &fault);
		next = entry.next_off;
		if (ok && entry.terminator) {
			if (sec->stop_at_zero)
				break;
			continue;
		}
		if (ok && entry.is_cie)
			continue;
		if (ok)
			ok = seam_fde_parse(cfi, sec, &entry, &fde, &fault);
		if (!ok && v->bad)
			v->bad(v->ctx, sec, &fde, &fault);
		if (!next)
			break; /* no telling where the next entry is */
		if (!ok || fde.start == fde.end || is_tombstone(cfi, &fde))
			continue;
		rc = v->fde(v->ctx, sec, &fde);
		if (rc)
			return rc;
	}
	return 0;
}

struct each {
	struct seam_cfi *cfi;
	seam_cfi_row_fn *fn;
	void (*bad)(void *ctx, uint64_t func_start, uint64_t func_end,
		    const struct seam_errinfo *why);
	void *ctx;
};

static void each_bad(void *ctx, const struct seam_cfi_section *sec,
		     const struct seam_fde *fde,
		     const struct seam_cfi_fault *fault)
{
	struct each *e = ctx;
	struct seam_errinfo why;

	if (!e->bad)
		return;
	seam_cfi_errinfo(&why, sec, fault);
	e->bad(e->ctx, fde->start, fde->end, &why);
}

bool seam_cfi_is_in_first(const struct seam_cfi *cfi,
			  const struct seam_cfi_section *sec,
			  const struct seam_fde *fde)
{
	const struct seam_cfi_range *range;

	if (sec == cfi->sections)
		return false;
	range = seam_cfi_range_find(cfi, fde->start);
	return range && !range->section;
}

static int each_fde(void *ctx, const struct seam_cfi_section *sec,
		    const struct seam_fde *fde)
{
	struct each *e = ctx;
	struct seam_cfi_fault fault;

	if (seam_cfi_is_in_first(e->cfi, sec, fde))
		return 0;
	/* First without output: no row of a malformed FDE goes out. */
	if (seam_fde_run(e->cfi, fde, NULL, NULL, &fault)) {
		each_bad(e, sec, fde, &fault);
		return 0;
	}
	return seam_fde_run(e->cfi, fde, e->fn, e->ctx, &fault);
}

int seam_cfi_walk_all(struct seam_cfi *cfi, const struct seam_cfi_visitor *v)
{
	int rc = 0;

	/* The second section gives what the first has not. */
	if (cfi->num_sections > 1)
		rc = seam_cfi_index(cfi);
	for (unsigned int i = 0; i < cfi->num_sections && !rc; i++)
		rc = seam_cfi_walk(cfi, &cfi->sections[i], v);
	return rc;
}

int seam_cfi_each(struct seam_cfi *cfi,
		  int (*fn)(void *ctx, const struct seam_cfi_row *row),
		  void (*bad)(void *ctx, uint64_t func_start, uint64_t func_end,
			      const struct seam_errinfo *why),
		  void *ctx)
{
	struct each e = {.cfi = cfi, .fn = fn, .bad = bad, .ctx = ctx};

	return seam_cfi_walk_all(cfi, &(struct seam_cfi_visitor){
					      .fde = each_fde,
					      .bad = each_bad,
					      .ctx = &e,
				      });
}
