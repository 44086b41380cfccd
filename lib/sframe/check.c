// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/check.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "core/err.h"
#include "elf/fail.h"
#include "sframe/verify.h"

#define SHT_GNU_SFRAME_TYPE 0x6ffffff4
#define PT_GNU_SFRAME_TYPE 0x6474e554
#define SECTION_ALIGN 8

struct check {
	const struct seam_sframe_file *f;
	struct seam_sframe_findings *found;
};

static struct seam_errinfo *add(struct check *c,
				enum seam_sframe_severity severity)
{
	struct seam_sframe_finding *finding;

	if (c->found->n == SEAM_SFRAME_FINDINGS_MAX)
		return NULL;
	finding = &c->found->v[c->found->n++];
	*finding = (struct seam_sframe_finding){.severity = severity};
	return &finding->err;
}

static void tell(struct check *c, enum seam_sframe_severity severity, int code,
		 uint64_t offset, const char *where, const char *why)
{
	struct seam_errinfo *err = add(c, severity);

	if (err)
		seam_elf_fail(err, code, offset, where, why);
}

/* The ABI that a section of the file has to be for; 0: there is none. */
static uint8_t abi_of(const struct seam_elf *elf)
{
	bool is_le = seam_elf_is_le(elf);

	switch (seam_elf_machine(elf)) {
	case EM_X86_64:
		return SEAM_SFRAME_ABI_AMD64;
	case EM_AARCH64:
		return is_le ? SEAM_SFRAME_ABI_AARCH64_LE
			     : SEAM_SFRAME_ABI_AARCH64_BE;
	case EM_S390:
		return SEAM_SFRAME_ABI_S390X;
	default:
		return 0;
	}
}

/* Where code may lie. */
static void text_limits(const struct seam_sframe_file *f,
			struct seam_sframe_limits *limits)
{
	const struct seam_elf_segment *s;
	size_t n;

	s = seam_elf_segments(f->elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (!(s[i].flags & PF_X) || !s[i].memsz)
			continue;
		if (!limits->text_end || s[i].svma < limits->text_start)
			limits->text_start = s[i].svma;
		if (s[i].svma + s[i].memsz > limits->text_end)
			limits->text_end = s[i].svma + s[i].memsz;
	}
}

static void limits_of(const struct seam_sframe_file *f,
		      struct seam_sframe_limits *ret)
{
	*ret = (struct seam_sframe_limits){.section_addr = f->svma};
	if (!f->elf)
		return;
	ret->abi = abi_of(f->elf);
	if (f->is_rel)
		ret->flags = SEAM_SFRAME_VERIFY_RELOCATABLE;
	text_limits(f, ret);
}

/* Return: whether nothing was found. */
static bool check_bytes(struct check *c,
			const struct seam_sframe_limits *limits,
			enum seam_sframe_severity severity)
{
	struct seam_errinfo err;

	if (!seam_sframe_verify(c->f->bytes, c->f->size, limits, &err))
		return true;
	tell(c, severity, err.code, err.offset, ".sframe", err.reason);
	return false;
}

static void check_relocations(struct check *c)
{
	const struct seam_elf_content *content = &c->f->content;

	if (content->num_unresolved)
		tell(c, SEAM_SFRAME_MALFORMED, SEAM_SFRAME_FUNC,
		     content->unresolved[0], ".sframe",
		     "a relocation is of an unknown type, or against what "
		     "the file does not define");
}

/* Linkers that do not know SFrame put sections one behind the other. */
static void check_behind(struct check *c, const struct seam_sframe *sf)
{
	const uint8_t *bytes = c->f->bytes;
	struct seam_sframe next;
	uint64_t at = sf->end;

	/* A section of s390x may be padded. */
	for (int i = 1; i < SECTION_ALIGN; i++)
		at += at < c->f->size && !bytes[at];
	if (at < c->f->size &&
	    !seam_sframe_open(&next, bytes + at, c->f->size - at))
		tell(c, SEAM_SFRAME_MISPLACED, SEAM_ELF_LAYOUT, at, ".sframe",
		     "a second table lies behind the first, which readers do "
		     "not see: a linker did not merge them");
}

/* Linkers do not merge sections of that name whose types differ. */
static void check_others(struct check *c)
{
	Elf *libelf = seam_elf_libelf(c->f->elf);
	Elf_Scn *scn = NULL;
	const char *name;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(libelf, &names))
		return;
	while ((scn = elf_nextscn(libelf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_offset == c->f->off ||
		    sh.sh_type == SHT_NOBITS || !sh.sh_size)
			continue;
		name = elf_strptr(libelf, names, sh.sh_name);
		if (name && !strcmp(name, ".sframe"))
			tell(c, SEAM_SFRAME_MISPLACED, SEAM_ELF_LAYOUT,
			     sh.sh_offset, "section header",
			     "another section of that name: readers see the "
			     "first alone");
	}
}

/* Linkers go by the type from binutils 2.45 on, loaders by the segment. */
static void check_section(struct check *c, const struct seam_sframe *sf)
{
	Elf *libelf = seam_elf_libelf(c->f->elf);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(libelf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_offset != c->f->off ||
		    sh.sh_type == SHT_NOBITS || sh.sh_size < c->f->size)
			continue;
		if (!(sh.sh_flags & SHF_ALLOC))
			tell(c, SEAM_SFRAME_MISPLACED, SEAM_ELF_LAYOUT,
			     c->f->off, "section header",
			     "the section is not loaded: it lacks SHF_ALLOC");
		if (sf->version == SEAM_SFRAME_V3 &&
		    sh.sh_type != SHT_GNU_SFRAME_TYPE)
			tell(c, SEAM_SFRAME_MISPLACED, SEAM_ELF_LAYOUT,
			     c->f->off, "section header",
			     "the section's type is not SHT_GNU_SFRAME, "
			     "which linkers go by");
	}
}

static bool is_loaded(const struct seam_sframe_file *f)
{
	const struct seam_elf_segment *s;
	size_t n;

	s = seam_elf_segments(f->elf, &n);
	for (size_t i = 0; i < n; i++)
		if (f->svma >= s[i].svma && f->svma - s[i].svma < s[i].filesz &&
		    f->size <= s[i].filesz - (f->svma - s[i].svma) &&
		    f->off - s[i].off == f->svma - s[i].svma)
			return true;
	return false;
}

static void check_segment(struct check *c)
{
	Elf *libelf = seam_elf_libelf(c->f->elf);
	GElf_Phdr ph;
	size_t n;

	if (!is_loaded(c->f))
		tell(c, SEAM_SFRAME_MISPLACED, SEAM_ELF_LAYOUT, c->f->off,
		     "file", "the section lies in no segment that is loaded");
	if (elf_getphdrnum(libelf, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(libelf, (int)i, &ph) ||
		    ph.p_type != PT_GNU_SFRAME_TYPE)
			continue;
		if (ph.p_vaddr != c->f->svma)
			tell(c, SEAM_SFRAME_MISPLACED, SEAM_ELF_LAYOUT,
			     ph.p_offset, "PT_GNU_SFRAME",
			     "it names another address than the section's");
		return;
	}
	tell(c, SEAM_SFRAME_MISPLACED, SEAM_ELF_LAYOUT, 0, "program headers",
	     "there is no PT_GNU_SFRAME, by which loaders find the section");
}

size_t seam_sframe_check(const struct seam_sframe_file *f,
			 struct seam_sframe_findings *ret)
{
	struct check c = {f, ret};
	struct seam_sframe_limits limits;
	struct seam_sframe sf;
	bool is_well;

	ret->n = 0;
	limits_of(f, &limits);
	is_well = check_bytes(&c, &limits, SEAM_SFRAME_MALFORMED);
	/* What is wrong with the header has been said. */
	if (seam_sframe_open(&sf, f->bytes, f->size))
		return ret->n;
	if (f->elf) {
		check_relocations(&c);
		check_section(&c, &sf);
		check_others(&c);
		if (f->content.bytes.data)
			check_behind(&c, &sf);
		if (!f->is_rel)
			check_segment(&c);
	}
	if (is_well && !f->is_rel) {
		limits.flags |= SEAM_SFRAME_VERIFY_LOADER;
		check_bytes(&c, &limits, SEAM_SFRAME_NO_LOADER);
	}
	return ret->n;
}
