/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfi/cfi.h"

#include <errno.h>
#include <stdlib.h>

#include "cfi/private.h"
#include "core/err.h"
#include "elf/fail.h"

#define ENC_PCREL_SDATA4 0x1b

static void fill_errinfo(struct seam_errinfo *reterr,
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

static bool find_section(const struct seam_elf *elf, const char *name,
			 struct seam_cfi_section *ret)
{
	struct seam_elf_section s;

	if (seam_elf_section(elf, name, &s) || !s.size)
		return false;
	*ret = (struct seam_cfi_section){
		.data = s.data,
		.size = s.size,
		.svma = s.svma,
	};
	return true;
}

static void find_sections(struct seam_cfi *cfi)
{
	struct seam_cfi_section *s = cfi->sections;
	struct seam_elf_section got;

	if (find_section(cfi->elf, ".eh_frame", s) ||
	    eh_frame_by_hdr(cfi->elf, s)) {
		s->name = ".eh_frame";
		s->eh = true;
		if (!seam_elf_section(cfi->elf, ".got", &got))
			s->datarel = got.svma;
		s++;
	}
	if (find_section(cfi->elf, ".debug_frame", s)) {
		s->name = ".debug_frame";
		s++;
	}
	cfi->num_sections = (unsigned int)(s - cfi->sections);
}

int seam_cfi_open(const struct seam_elf *elf, struct seam_cfi **ret_cfi,
		  struct seam_errinfo *reterr)
{
	struct seam_cfi *cfi;

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
	find_sections(cfi);
	if (!cfi->num_sections) {
		free(cfi);
		seam_elf_fail(reterr, SEAM_ELF_NO_CFI, 0, "",
			      "the file has neither .eh_frame nor "
			      ".debug_frame");
		return -ENOENT;
	}
	*ret_cfi = cfi;
	return 0;
}

struct seam_cfi *seam_cfi_close(struct seam_cfi *cfi)
{
	if (!cfi)
		return NULL;
	free(cfi->ranges);
	free(cfi);
	return NULL;
}

/*
 * Linkers leave the FDEs of functions that they discarded with a start of 0
 * (GNU ld) or of -1 or -2 (lld, in .debug_frame).
 */
static bool is_tombstone(const struct seam_cfi *cfi,
			 const struct seam_cfi_section *sec,
			 const struct seam_fde *fde)
{
	const struct seam_elf_segment *segs;
	size_t n;

	if (!sec->eh && fde->start >= UINT64_MAX - 1)
		return true;
	if (fde->start)
		return false;
	segs = seam_elf_segments(cfi->elf, &n);
	for (size_t i = 0; i < n; i++)
		if (segs[i].svma == 0 && segs[i].flags & PF_X)
			return false;
	return true;
}

/* What one walk over a section calls; bad may be NULL. */
struct visitor {
	int (*fde)(void *ctx, const struct seam_cfi_section *sec,
		   const struct seam_fde *fde);
	void (*bad)(void *ctx, const struct seam_cfi_section *sec,
		    const struct seam_fde *fde,
		    const struct seam_cfi_fault *fault);
	void *ctx;
};

static int walk(struct seam_cfi *cfi, const struct seam_cfi_section *sec,
		const struct visitor *v)
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
		if (!ok || fde.start == fde.end || is_tombstone(cfi, sec, &fde))
			continue;
		rc = v->fde(v->ctx, sec, &fde);
		if (rc)
			return rc;
	}
	return 0;
}

struct index_build {
	struct seam_cfi *cfi;
	struct seam_cfi_range *v;
	size_t len, cap;
};

static int index_add(void *ctx, const struct seam_cfi_section *sec,
		     const struct seam_fde *fde)
{
	struct index_build *b = ctx;
	struct seam_cfi_range *v;
	size_t cap;

	if (b->len == b->cap) {
		cap = b->cap ? 2 * b->cap : 256;
		v = reallocarray(b->v, cap, sizeof(*v));
		if (!v)
			return -ENOMEM;
		b->v = v;
		b->cap = cap;
	}
	b->v[b->len++] = (struct seam_cfi_range){
		.start = fde->start,
		.end = fde->end,
		.off = fde->off,
		.section = (uint8_t)(sec - b->cfi->sections),
	};
	return 0;
}

/* By start; of equal starts the later entry comes last, and wins. */
static int range_cmp(const void *va, const void *vb)
{
	const struct seam_cfi_range *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* .eh_frame is section 0, and wins over .debug_frame. */
	if (a->section != b->section)
		return a->section > b->section ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

static void push_range(struct seam_cfi_range *out, size_t *n,
		       const struct seam_cfi_range *r, uint64_t start,
		       uint64_t end)
{
	if (start >= end)
		return;
	out[*n] = *r;
	out[*n].start = start;
	out[(*n)++].end = end;
}

/*
 * Overlaps are resolved once, so that a look-up is one binary search even in
 * a file that lies: at each address the FDE that starts last answers. open[]
 * holds those which began before the current one, in order of their starts.
 * Return: the number of ranges in out, at most 2 * len.
 */
static size_t flatten(const struct seam_cfi_range *in, size_t len,
		      struct seam_cfi_range *out,
		      const struct seam_cfi_range **open)
{
	size_t n = 0, depth = 0;
	uint64_t at = 0, next;

	for (size_t i = 0; i <= len; i++) {
		next = i < len ? in[i].start : UINT64_MAX;
		while (depth && at < next) {
			const struct seam_cfi_range *top = open[depth - 1];
			uint64_t end = top->end < next ? top->end : next;

			push_range(out, &n, top, at, end);
			if (end > at)
				at = end;
			if (top->end > next)
				break;
			depth--;
		}
		at = next;
		if (i < len)
			open[depth++] = &in[i];
	}
	return n;
}

static bool sorted(const struct seam_cfi_range *v, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (range_cmp(&v[i - 1], &v[i]) > 0)
			return false;
	return true;
}

static int build_index(struct seam_cfi *cfi)
{
	struct index_build b = {.cfi = cfi};
	const struct visitor v = {.fde = index_add, .ctx = &b};
	const struct seam_cfi_range **open = NULL;
	struct seam_cfi_range *out = NULL;
	int rc = 0;

	if (cfi->indexed)
		return 0;
	for (unsigned int i = 0; i < cfi->num_sections && !rc; i++)
		rc = walk(cfi, &cfi->sections[i], &v);
	if (rc || !b.len)
		goto out;
	if (!sorted(b.v, b.len))
		qsort(b.v, b.len, sizeof(*b.v), range_cmp);
	out = reallocarray(NULL, 2 * b.len, sizeof(*out));
	open = reallocarray(NULL, b.len, sizeof(*open));
	if (!out || !open) {
		rc = -ENOMEM;
		goto out;
	}
	cfi->num_ranges = flatten(b.v, b.len, out, open);
	cfi->ranges = out;
	out = NULL;
out:
	if (!rc)
		cfi->indexed = true;
	free(open);
	free(out);
	free(b.v);
	return rc;
}

/* The first range that starts above svma. */
static size_t upper_range(const struct seam_cfi *cfi, uint64_t svma)
{
	size_t lo = 0, hi = cfi->num_ranges, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (cfi->ranges[mid].start <= svma)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct seam_cfi_range *find_range(const struct seam_cfi *cfi,
					       uint64_t svma)
{
	size_t i = upper_range(cfi, svma);

	if (!i || svma >= cfi->ranges[i - 1].end)
		return NULL;
	return &cfi->ranges[i - 1];
}

bool seam_cfi_next(struct seam_cfi *cfi, uint64_t svma, uint64_t *ret_start)
{
	size_t i;

	if (build_index(cfi))
		return false;
	i = upper_range(cfi, svma);
	if (i == cfi->num_ranges)
		return false;
	*ret_start = cfi->ranges[i].start;
	return true;
}

struct row_search {
	uint64_t svma;
	bool found;
	struct seam_cfi_row row;
};

static int keep_row(void *ctx, const struct seam_cfi_row *row)
{
	struct row_search *s = ctx;

	if (s->svma >= row->start && s->svma < row->end) {
		s->row = *row;
		s->found = true;
	}
	/* To the end even then: an FDE is believed as a whole or not. */
	return 0;
}

int seam_cfi_find(struct seam_cfi *cfi, uint64_t svma,
		  struct seam_cfi_row *ret_row, struct seam_errinfo *reterr)
{
	struct row_search s = {.svma = svma};
	const struct seam_cfi_section *sec;
	const struct seam_cfi_range *range;
	struct seam_cfi_fault fault;
	struct seam_cfi_entry entry;
	struct seam_fde fde;
	int rc;

	rc = build_index(cfi);
	if (rc)
		return rc;
	range = find_range(cfi, svma);
	if (!range)
		return -ENOENT;
	sec = &cfi->sections[range->section];
	if (!seam_cfi_entry_read(sec, range->off, &entry, &fault) ||
	    !seam_fde_parse(cfi, sec, &entry, &fde, &fault) ||
	    seam_fde_run(cfi, &fde, keep_row, &s, &fault)) {
		fill_errinfo(reterr, sec, &fault);
		return -EINVAL;
	}
	if (!s.found)
		return -ENOENT;
	*ret_row = s.row;
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
	fill_errinfo(&why, sec, fault);
	e->bad(e->ctx, fde->start, fde->end, &why);
}

static int each_fde(void *ctx, const struct seam_cfi_section *sec,
		    const struct seam_fde *fde)
{
	struct each *e = ctx;
	struct seam_cfi_fault fault;
	const struct seam_cfi_range *range;

	if (sec != e->cfi->sections) {
		range = find_range(e->cfi, fde->start);
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
	const struct visitor v = {.fde = each_fde, .bad = each_bad, .ctx = &e};
	int rc = 0;

	if (cfi->num_sections > 1)
		rc = build_index(cfi);
	for (unsigned int i = 0; i < cfi->num_sections && !rc; i++)
		rc = walk(cfi, &cfi->sections[i], &v);
	return rc;
}
