// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process/mapped.h"

#include <elf.h>
#include <errno.h>

#include "sframe/file.h"

#define PAGE_BITS 12

/* V3, in the form that assemblers and seam write it for this machine: the
 * kernel side reads no other. Relative to each function's own place: only so
 * does a word that cannot be read, all ones, end a search. */
static bool is_read(const struct seam_sframe *sf)
{
	return sf->version == SEAM_SFRAME_V3 && sf->arch == SEAM_ARCH_AMD64 &&
	       !sf->is_swapped && sf->is_sorted && sf->anchor &&
	       !sf->fixed_fp_off &&
	       sf->fixed_ra_off == seam_arch_ra_off(SEAM_ARCH_AMD64);
}

/*
 * By how much the code's addresses differ from its offsets in the file, which
 * is all that a mapping says: one number for all code, or nothing can be
 * concluded from where it lies.
 */
static int code_delta(const struct seam_elf *elf, uint64_t *ret)
{
	size_t n;
	const struct seam_elf_segment *s = seam_elf_segments(elf, &n);
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t delta = s[i].svma - s[i].off;

		if (!(s[i].flags & PF_X))
			continue;
		if (found && delta != *ret)
			return -ENOENT;
		*ret = delta;
		found = true;
	}
	return found ? 0 : -ENOENT;
}

/* Whether it is loaded, whole, by one segment. */
static bool is_loaded(const struct seam_elf *elf, uint64_t svma, uint64_t off,
		      uint64_t size)
{
	size_t n;
	const struct seam_elf_segment *s = seam_elf_segments(elf, &n);

	for (size_t i = 0; i < n; i++)
		if (svma >= s[i].svma && svma - s[i].svma <= s[i].filesz &&
		    size <= s[i].filesz - (svma - s[i].svma) &&
		    off - s[i].off == svma - s[i].svma)
			return true;
	return false;
}

/* Whether pages of the file are pages in memory, and their number is known to
 * the kernel side. */
static bool is_paged(uint64_t at, uint64_t off)
{
	return !((at ^ off) & ((1U << PAGE_BITS) - 1)) &&
	       off >> PAGE_BITS <= UINT32_MAX;
}

static int of_file(const struct seam_sframe_file *f, struct seam_mapped *ret)
{
	struct seam_sframe sf;
	uint64_t delta = 0;

	if (f->is_rel || seam_sframe_open(&sf, f->bytes, f->size) ||
	    !is_read(&sf) || !sf.num_fdes || code_delta(f->elf, &delta) ||
	    !is_loaded(f->elf, f->svma, f->off, sf.end) ||
	    !is_paged(f->svma - delta, f->off))
		return -ENOENT;
	*ret = (struct seam_mapped){
		.at = f->svma - delta,
		.fdes = sf.fdes,
		.num_fdes = sf.num_fdes,
		.fres = sf.fres,
		.end = sf.end,
		.page = (uint32_t)(f->off >> PAGE_BITS),
	};
	return 0;
}

int seam_mapped_of_elf(const struct seam_elf *elf, struct seam_mapped *ret)
{
	struct seam_sframe_file f;
	int err = seam_sframe_file_find(elf, &f, NULL);

	if (err == -ENOMEM)
		return err;
	if (err)
		return -ENOENT;
	err = of_file(&f, ret);
	seam_sframe_file_fini(&f);
	return err;
}
