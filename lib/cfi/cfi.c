/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfi/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/private.h"
#include "core/err.h"
#include "elf/fail.h"

#define ENC_PCREL_SDATA4 0x1b

/* Many times what the largest programs have. A sparse file can claim any
 * size, and a walk takes time by it. */
#define SECTION_MAX (UINT64_C(1) << 30)

void seam_cfi_errinfo(struct seam_errinfo *reterr,
		      const struct seam_cfi_section *sec,
		      const struct seam_cfi_fault *fault)
{
	seam_elf_fail(reterr, fault->code, (uint64_t)(fault->at - sec->data),
		      sec->name, fault->reason);
}

/* Without section headers: .eh_frame_hdr leads to .eh_frame, which then ends
 * at its terminator, or with the segment's bytes. */
static bool eh_frame_by_hdr(const struct seam_elf *elf,
			    struct seam_cfi_section *ret)
{
	const struct seam_elf_segment *segs;
	struct seam_elf_section hdr;
	struct seam_bytes b;
	const uint8_t *bytes;
	uint64_t svma, off;
	int64_t rel;
	size_t size, n;

	if (seam_elf_eh_frame_hdr(elf, &hdr) || hdr.size < 8 ||
	    hdr.data[0] != 1 || hdr.data[1] != ENC_PCREL_SDATA4)
		return false;
	b = (struct seam_bytes){hdr.data + 4, hdr.data + hdr.size};
	if (!seam_bytes_sint(&b, 4, &rel))
		return false;
	svma = hdr.svma + 4 + (uint64_t)rel;
	bytes = seam_elf_bytes(elf, &size);
	segs = seam_elf_segments(elf, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t in = svma - segs[i].svma, end;

		if (svma < segs[i].svma || in >= segs[i].filesz)
			continue;
		off = segs[i].off + in;
		end = segs[i].off + segs[i].filesz;
		if (end > size)
			end = size;
		if (off >= end)
			return false;
		if (end - off > SECTION_MAX)
			end = off + SECTION_MAX;
		*ret = (struct seam_cfi_section){
			.data = bytes + off,
			.size = end - off,
			.svma = svma,
			.stop_at_zero = true,
		};
		return true;
	}
	return false;
}

static bool set_section(struct seam_cfi_section *ret,
			const struct seam_elf_section *s)
{
	*ret = (struct seam_cfi_section){
		.data = s->data,
		.size = s->size,
		.svma = s->svma,
	};
	return s->size != 0 && s->size <= SECTION_MAX;
}

static bool find_eh_frame(const struct seam_elf *elf,
			  struct seam_cfi_section *ret)
{
	struct seam_elf_section s;

	return (!seam_elf_section(elf, ".eh_frame", &s) &&
		set_section(ret, &s)) ||
	       eh_frame_by_hdr(elf, ret);
}

static int find_sections(struct seam_cfi *cfi, struct seam_errinfo *reterr)
{
	struct seam_cfi_section *s = cfi->sections;
	struct seam_elf_section got, debug;
	int rc;

	if (find_eh_frame(cfi->elf, s)) {
		s->name = ".eh_frame";
		s->eh = true;
		if (!seam_elf_section(cfi->elf, ".got", &got))
			s->datarel = got.svma;
		s++;
	}
	/* Go compresses it and writes no .eh_frame. */
	rc = seam_elf_section_inflate(cfi->elf, ".debug_frame", &debug,
				      &cfi->inflated);
	if (!rc && set_section(s, &debug)) {
		s->name = ".debug_frame";
		s++;
	}
	cfi->num_sections = (unsigned int)(s - cfi->sections);
	if (cfi->num_sections && rc != -ENOMEM)
		return 0;
	if (rc == -EINVAL)
		return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, 0, ".debug_frame",
				     "the compressed section does not inflate");
	if (rc == -ENOENT || !rc) {
		seam_elf_fail(reterr, SEAM_ELF_NO_CFI, 0, "",
			      "the file has no usable .eh_frame or "
			      ".debug_frame");
		return -ENOENT;
	}
	return rc;
}

int seam_cfi_open(const struct seam_elf *elf, struct seam_cfi **ret_cfi,
		  struct seam_errinfo *reterr)
{
	struct seam_cfi *cfi;
	int rc;

	if (seam_elf_machine(elf) != EM_X86_64 || !seam_elf_is_le(elf))
		return seam_elf_fail(reterr, SEAM_ELF_CLASS, 18, "ELF header",
				     "CFI is read for x86-64 only");
	if (seam_elf_type(elf) != ET_EXEC && seam_elf_type(elf) != ET_DYN)
		return seam_elf_fail(reterr, SEAM_ELF_CLASS, 16, "ELF header",
				     "neither an executable nor a shared "
				     "object");
	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return -ENOMEM;
	cfi->elf = elf;
	rc = find_sections(cfi, reterr);
	if (rc)
		seam_cfi_close(cfi);
	else
		*ret_cfi = cfi;
	return rc;
}

struct seam_cfi *seam_cfi_close(struct seam_cfi *cfi)
{
	if (!cfi)
		return NULL;
	free(cfi->ranges);
	free(cfi->found);
	free(cfi->inflated);
	free(cfi);
	return NULL;
}

int seam_cfi_keeps(struct seam_cfi *cfi, struct seam_elf_parts *ret_parts,
		   size_t *ret_own)
{
	struct seam_elf_parts parts = {0};
	size_t size, own = sizeof(*cfi);
	const uint8_t *bytes = seam_elf_bytes(cfi->elf, &size);
	int rc = seam_cfi_index(cfi);

	for (unsigned int i = 0; i < cfi->num_sections && !rc; i++) {
		const struct seam_cfi_section *s = &cfi->sections[i];

		if (!cfi->inflated || strcmp(s->name, ".debug_frame"))
			rc = seam_elf_parts_add(
				&parts, (uint64_t)(s->data - bytes), s->size);
		else
			own += s->size;
	}
	if (rc) {
		seam_elf_parts_fini(&parts);
		return rc;
	}
	seam_elf_parts_settle(&parts, size);
	*ret_parts = parts;
	*ret_own = own + cfi->num_ranges * sizeof(*cfi->ranges) +
		   SEAM_CFI_FOUND_SLOTS * sizeof(*cfi->found);
	return 0;
}

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

int seam_cfi_walk(struct seam_cfi *cfi, const struct seam_cfi_section *sec,
		  const struct seam_cfi_visitor *v)
{
	struct seam_cfi_entry entry;
	struct seam_cfi_fault fault;
	struct seam_fde fde;
	bool ok;
	int rc;

	for (uint64_t off = 0; off < sec->size; off = entry.next_off) {
		fde = (struct seam_fde){.off = off};
		ok = seam_cfi_entry_read(sec, off, &entry, &fault);
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
		if (!entry.next_off)
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

static int each_fde(void *ctx, const struct seam_cfi_section *sec,
		    const struct seam_fde *fde)
{
	struct each *e = ctx;
	struct seam_cfi_fault fault;
	const struct seam_cfi_range *range;

	if (sec != e->cfi->sections) {
		range = seam_cfi_range_find(e->cfi, fde->start);
		if (range && !range->section)
			return 0; /* .eh_frame has that function */
	}
	/* First without output: no row of a malformed FDE goes out. */
	if (seam_fde_run(e->cfi, fde, NULL, NULL, &fault)) {
		each_bad(e, sec, fde, &fault);
		return 0;
	}
	return seam_fde_run(e->cfi, fde, e->fn, e->ctx, &fault);
}

int seam_cfi_each(struct seam_cfi *cfi,
		  int (*fn)(void *ctx, const struct seam_cfi_row *row),
		  void (*bad)(void *ctx, uint64_t func_start, uint64_t func_end,
			      const struct seam_errinfo *why),
		  void *ctx)
{
	struct each e = {.cfi = cfi, .fn = fn, .bad = bad, .ctx = ctx};
	const struct seam_cfi_visitor v = {
		.fde = each_fde, .bad = each_bad, .ctx = &e};
	int rc = 0;

	if (cfi->num_sections > 1)
		rc = seam_cfi_index(cfi);
	for (unsigned int i = 0; i < cfi->num_sections && !rc; i++)
		rc = seam_cfi_walk(cfi, &cfi->sections[i], &v);
	return rc;
}
