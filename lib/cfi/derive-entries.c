// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Where functions begin for certain: what the dynamic linker calls when an
 * image comes and goes, and function symbols. Program headers and the
 * dynamic section are what is run; sections serve where there is none.
 */
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "cfi/derive-private.h"

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

/* One array of function pointers; real ones have up to some thousands. */
#define MAX_SLOTS 65536

struct range { /* svma and bytes of it in the file */
	uint64_t start, size;
};

struct dynamic {
	uint64_t init, fini;
	struct range init_array, fini_array, preinit_array, rela, relr;
	bool textrel;
};

/* Return: NULL unless all of it lies in one segment of the file. */
static const uint8_t *at_svma(const struct seam_elf *elf, struct range r)
{
	const struct seam_elf_segment *segments;
	size_t count, size;
	const uint8_t *bytes = seam_elf_bytes(elf, &size);

	segments = seam_elf_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		const struct seam_elf_segment *s = &segments[i];
		uint64_t in = r.start - s->svma;

		if (r.start < s->svma || in > s->filesz ||
		    r.size > s->filesz - in || s->off > size ||
		    in > size - s->off || r.size > size - s->off - in)
			continue;
		return bytes + s->off + in;
	}
	return NULL;
}

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void read_tag(struct dynamic *dyn, uint64_t tag, uint64_t v)
{
	switch (tag) {
	case DT_INIT:
		dyn->init = v;
		break;
	case DT_FINI:
		dyn->fini = v;
		break;
	case DT_INIT_ARRAY:
		dyn->init_array.start = v;
		break;
	case DT_INIT_ARRAYSZ:
		dyn->init_array.size = v;
		break;
	case DT_FINI_ARRAY:
		dyn->fini_array.start = v;
		break;
	case DT_FINI_ARRAYSZ:
		dyn->fini_array.size = v;
		break;
	case DT_PREINIT_ARRAY:
		dyn->preinit_array.start = v;
		break;
	case DT_PREINIT_ARRAYSZ:
		dyn->preinit_array.size = v;
		break;
	case DT_RELA:
		dyn->rela.start = v;
		break;
	case DT_RELASZ:
		dyn->rela.size = v;
		break;
	case DT_RELR:
		dyn->relr.start = v;
		break;
	case DT_RELRSZ:
		dyn->relr.size = v;
		break;
	case DT_TEXTREL:
		dyn->textrel = true;
		break;
	case DT_FLAGS:
		dyn->textrel |= v & DF_TEXTREL;
		break;
	}
}

/* Return: false if the image has no dynamic section. */
static bool read_dynamic(const struct seam_elf *elf, struct dynamic *dyn)
{
	Elf *libelf = seam_elf_libelf(elf);
	size_t count = 0, size;
	const uint8_t *bytes = seam_elf_bytes(elf, &size);
	GElf_Phdr ph;

	if (elf_getphdrnum(libelf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(libelf, (int)i, &ph) ||
		    ph.p_type != PT_DYNAMIC || ph.p_offset > size ||
		    ph.p_filesz > size - ph.p_offset)
			continue;
		for (size_t at = 0; ph.p_filesz - at >= 16; at += 16) {
			uint64_t tag = word_at(bytes + ph.p_offset + at);

			if (tag == DT_NULL)
				break;
			read_tag(dyn, tag,
				 word_at(bytes + ph.p_offset + at + 8));
		}
		return true;
	}
	return false;
}

static bool is_slot(struct range array, uint64_t svma)
{
	return svma >= array.start && svma - array.start < array.size;
}

static bool is_any_slot(const struct dynamic *dyn, uint64_t svma)
{
	return is_slot(dyn->init_array, svma) ||
	       is_slot(dyn->fini_array, svma) ||
	       is_slot(dyn->preinit_array, svma);
}

static int read_rela(struct seam_derive *d, const struct dynamic *dyn)
{
	const uint8_t *p = at_svma(d->elf, dyn->rela);
	Elf64_Rela rela;
	int err = 0;

	if (!p)
		return 0;
	for (uint64_t i = 0; !err && i < dyn->rela.size / sizeof(rela); i++) {
		memcpy(&rela, p + i * sizeof(rela), sizeof(rela));
		if (ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE &&
		    is_any_slot(dyn, rela.r_offset))
			err = seam_derive_add(d, (uint64_t)rela.r_addend, 0);
	}
	return err;
}

/* A word that relocation adds the load address to holds its own addend. */
static int add_word(struct seam_derive *d, const struct dynamic *dyn,
		    uint64_t svma)
{
	const uint8_t *p;

	if (!is_any_slot(dyn, svma))
		return 0;
	p = at_svma(d->elf, (struct range){svma, 8});
	return p ? seam_derive_add(d, word_at(p), 0) : 0;
}

/* An even entry is the address of a word; an odd one says with its other 63
 * bits which of the words behind the last one are meant too. */
static int read_relr(struct seam_derive *d, const struct dynamic *dyn)
{
	const uint8_t *p = at_svma(d->elf, dyn->relr);
	uint64_t where = 0;
	int err = 0;

	if (!p)
		return 0;
	for (uint64_t i = 0; !err && i < dyn->relr.size / 8; i++) {
		uint64_t entry = word_at(p + 8 * i);

		if (!(entry & 1)) {
			err = add_word(d, dyn, entry);
			where = entry + 8;
			continue;
		}
		for (unsigned int bit = 0; !err && bit < 63; bit++)
			if (entry >> (bit + 1) & 1)
				err = add_word(d, dyn, where + 8 * bit);
		where += 63 * 8;
	}
	return err;
}

/* As it stands in the file: images that are not moved. */
static int read_array(struct seam_derive *d, struct range array)
{
	const uint8_t *p = at_svma(d->elf, array);
	int err = 0;

	if (!p)
		return 0;
	for (uint64_t i = 0; !err && i < array.size / 8 && i < MAX_SLOTS; i++)
		err = seam_derive_add(d, word_at(p + 8 * i), 0);
	return err;
}

static int add_dynamic(struct seam_derive *d, const struct dynamic *dyn)
{
	int err = 0;

	if (dyn->init)
		err = seam_derive_add(d, dyn->init, 0);
	if (!err && dyn->fini)
		err = seam_derive_add(d, dyn->fini, 0);
	if (!err)
		err = read_rela(d, dyn);
	if (!err)
		err = read_relr(d, dyn);
	if (err || seam_elf_type(d->elf) != ET_EXEC)
		return err;
	err = read_array(d, dyn->init_array);
	if (!err)
		err = read_array(d, dyn->fini_array);
	return err ? err : read_array(d, dyn->preinit_array);
}

static struct range section_range(const struct seam_elf *elf, const char *name)
{
	struct seam_elf_section s;

	if (seam_elf_section(elf, name, &s))
		return (struct range){0, 0};
	return (struct range){s.svma, s.size};
}

/* Static programs: what their start code calls has no other trace. */
static void sections_as_dynamic(const struct seam_elf *elf, struct dynamic *dyn)
{
	dyn->init = section_range(elf, ".init").start;
	dyn->fini = section_range(elf, ".fini").start;
	dyn->init_array = section_range(elf, ".init_array");
	dyn->fini_array = section_range(elf, ".fini_array");
	dyn->preinit_array = section_range(elf, ".preinit_array");
}

static int add_symbols(struct seam_derive *d, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	int err = 0;
	GElf_Sym sym;

	for (int i = 0; data && !err && gelf_getsym(data, i, &sym); i++) {
		int type = GELF_ST_TYPE(sym.st_info);
		uint64_t end = sym.st_value + sym.st_size;

		/* An ifunc's resolver is a function as well. */
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
		    sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS)
			continue;
		err = seam_derive_add(d, sym.st_value,
				      end > sym.st_value ? end : 0);
	}
	return err;
}

static int add_symbol_tables(struct seam_derive *d)
{
	Elf *libelf = seam_elf_libelf(d->elf);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	while (!err && (scn = elf_nextscn(libelf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_entsize &&
		    (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			err = add_symbols(d, scn);
	}
	return err;
}

int seam_derive_entries(struct seam_derive *d)
{
	struct dynamic dyn = {0};
	int err;

	/* Symbols first: they know where their function ends. */
	err = add_symbol_tables(d);
	if (err)
		return err;
	if (!read_dynamic(d->elf, &dyn))
		sections_as_dynamic(d->elf, &dyn);
	if (dyn.textrel)
		return -EOPNOTSUPP;
	return add_dynamic(d, &dyn);
}
