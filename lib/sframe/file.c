// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/file.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "core/err.h"
#include "elf/fail.h"
#include "sframe/verify.h"

#define PT_GNU_SFRAME_TYPE 0x6474e554

static int bad_segment(struct seam_errinfo *reterr, uint64_t off)
{
	return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, off, "PT_GNU_SFRAME",
			     "it lies outside the file");
}

/* Without section headers, as loaders do. The segment's size is no more than
 * a bound: linkers write one that is too large. */
static int find_segment(const struct seam_elf *elf, struct seam_sframe_file *f,
			struct seam_errinfo *reterr)
{
	Elf *libelf = seam_elf_libelf(elf);
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(libelf, &n))
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(libelf, (int)i, &ph) ||
		    ph.p_type != PT_GNU_SFRAME_TYPE)
			continue;
		if (!seam_elf_has(elf, ph.p_offset, ph.p_filesz))
			return bad_segment(reterr, ph.p_offset);
		f->bytes = seam_elf_bytes(elf, &f->size) + ph.p_offset;
		f->size = ph.p_filesz;
		f->svma = ph.p_vaddr;
		f->off = ph.p_offset;
		return 0;
	}
	return -ENOENT;
}

int seam_sframe_file_find(const struct seam_elf *elf,
			  struct seam_sframe_file *ret,
			  struct seam_errinfo *reterr)
{
	struct seam_sframe_file f = {.elf = elf};
	int rc;

	f.is_rel = seam_elf_type(elf) == ET_REL;
	rc = seam_elf_content(elf, ".sframe", &f.content);
	if (!rc && !f.content.bytes.size) {
		/* What ld leaves where it was told to leave out all. */
		seam_elf_content_fini(&f.content);
		rc = -ENOENT;
	}
	if (rc == -ENOENT)
		rc = find_segment(elf, &f, reterr);
	else if (rc == -EINVAL)
		return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, 0, ".sframe",
				     "its bytes or relocations are damaged");
	else if (!rc) {
		f.bytes = f.content.bytes.data;
		f.size = f.content.bytes.size;
		f.svma = f.content.bytes.svma;
		f.off = f.content.bytes.off;
	}
	if (!rc)
		*ret = f;
	return rc;
}

void seam_sframe_file_raw(const uint8_t *bytes, size_t size,
			  struct seam_sframe_file *ret)
{
	*ret = (struct seam_sframe_file){.bytes = bytes, .size = size};
}

void seam_sframe_file_fini(struct seam_sframe_file *f)
{
	seam_elf_content_fini(&f->content);
	*f = (struct seam_sframe_file){0};
}

int seam_sframe_file_open(const struct seam_sframe_file *f,
			  struct seam_sframe *ret, struct seam_errinfo *reterr)
{
	struct seam_sframe sf;
	int err = seam_sframe_open(&sf, f->bytes, f->size);

	if (err) {
		/* Where, and why in one sentence, is the checker's to say. */
		if (!seam_sframe_verify(f->bytes, f->size, NULL, reterr))
			seam_elf_fail(reterr, err, 0, ".sframe",
				      seam_err_text(err));
		return -EINVAL;
	}
	if (f->is_rel)
		seam_sframe_set_relocatable(&sf);
	*ret = sf;
	return 0;
}

uint64_t seam_sframe_file_shown(const struct seam_sframe_file *f, uint64_t svma)
{
	const struct seam_elf_segment *s;
	size_t n;

	if (!f->is_rel)
		return svma;
	s = seam_elf_segments(f->elf, &n);
	for (size_t i = 0; i < n; i++)
		if (svma >= s[i].svma && svma - s[i].svma < s[i].memsz)
			return svma - s[i].svma;
	return svma;
}
