// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The relocations that CFI of relocatable files has: words that name code.
 * Sources: the x86-64 psABI, 4.4.1; ELF for the Arm 64-bit Architecture,
 * 5.7; the s390x ELF ABI supplement, 4.2. All three have RELA only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "elf/private.h"

#ifndef R_390_PC64
#define R_390_PC64 23
#endif

#define RELA_SIZE 24
#define SYM_SIZE 24

struct relocation {
	uint16_t machine;
	uint32_t type;
	uint8_t size; /* of the field */
	bool pcrel;
};

static const struct relocation known[] = {
	{EM_X86_64, R_X86_64_64, 8, false},
	{EM_X86_64, R_X86_64_PC32, 4, true},
	{EM_X86_64, R_X86_64_32, 4, false},
	{EM_X86_64, R_X86_64_32S, 4, false},
	{EM_X86_64, R_X86_64_PC64, 8, true},
	{EM_AARCH64, R_AARCH64_ABS64, 8, false},
	{EM_AARCH64, R_AARCH64_ABS32, 4, false},
	{EM_AARCH64, R_AARCH64_PREL64, 8, true},
	{EM_AARCH64, R_AARCH64_PREL32, 4, true},
	{EM_S390, R_390_32, 4, false},
	{EM_S390, R_390_PC32, 4, true},
	{EM_S390, R_390_64, 8, false},
	{EM_S390, R_390_PC64, 8, true},
};

struct relocate {
	const struct seam_elf *elf;
	uint64_t svma; /* of the content */
	uint8_t *content;
	struct seam_elf_place place; /* of the section at hand */
	uint64_t left; /* relocations: more than bytes have no place */
	const struct seam_elf_shdr *xindex; /* of symbols' sections, or NULL */
	uint64_t *unresolved;
	size_t num, room;
};

static const struct relocation *find_type(uint16_t machine, uint32_t type)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].machine == machine && known[i].type == type)
			return &known[i];
	return NULL;
}

/* A file has one symbol table at most, and so one of these. */
static const struct seam_elf_shdr *find_xindex(const struct seam_elf *elf)
{
	for (size_t i = 1; i < elf->num_sections; i++)
		if (elf->sections[i].type == SHT_SYMTAB_SHNDX &&
		    elf->sections[i].has_bytes)
			return &elf->sections[i];
	return NULL;
}

/* The section that a symbol is in, of which there may be more than 16 bits
 * can count. */
static uint32_t symbol_section(const struct relocate *r, uint32_t symtab,
			       uint64_t sym, uint16_t shndx)
{
	if (shndx != SHN_XINDEX)
		return shndx;
	if (!r->xindex || r->xindex->link != symtab ||
	    sym >= r->xindex->bytes.size / 4)
		return SHN_UNDEF;
	return (uint32_t)seam_elf_load(r->elf, r->xindex->bytes.data + 4 * sym,
				       4);
}

static bool symbol_value(const struct relocate *r, uint32_t symtab,
			 uint64_t sym, uint64_t *ret)
{
	const struct seam_elf *elf = r->elf;
	const struct seam_elf_section *tab;
	const uint8_t *p;
	uint32_t shndx;

	if (symtab >= elf->num_sections || !elf->sections[symtab].has_bytes)
		return false;
	tab = &elf->sections[symtab].bytes;
	if (sym >= tab->size / SYM_SIZE)
		return false;
	p = tab->data + sym * SYM_SIZE;
	*ret = seam_elf_load(elf, p + 8, 8);
	shndx = (uint32_t)seam_elf_load(elf, p + 6, 2);
	if (shndx == SHN_ABS)
		return true;
	shndx = symbol_section(r, symtab, sym, (uint16_t)shndx);
	if (shndx == SHN_UNDEF || shndx >= elf->num_sections ||
	    !(elf->sections[shndx].flags & SHF_ALLOC) ||
	    (!elf->sections[shndx].has_bytes &&
	     elf->sections[shndx].type != SHT_NOBITS))
		return false;
	*ret += elf->sections[shndx].bytes.svma;
	return true;
}

static void store(const struct seam_elf *elf, uint8_t *p, size_t size,
		  uint64_t v)
{
	bool le = seam_elf_is_le(elf);

	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> 8 * (le ? i : size - 1 - i));
}

static int leave(struct relocate *r, uint64_t off)
{
	if (seam_grow(&r->unresolved, r->num + 1, &r->room,
		      sizeof(*r->unresolved)))
		return -ENOMEM;
	r->unresolved[r->num++] = off;
	return 0;
}

static int apply(struct relocate *r, const uint8_t *rela, uint32_t symtab)
{
	const struct seam_elf *elf = r->elf;
	uint64_t off = seam_elf_load(elf, rela, 8);
	uint64_t info = seam_elf_load(elf, rela + 8, 8);
	uint64_t v = 0, addend = seam_elf_load(elf, rela + 16, 8);
	const struct relocation *how;

	if (!(info & 0xffffffff)) /* R_..._NONE, of every machine */
		return 0;
	how = find_type(elf->ehdr.e_machine, (uint32_t)info);
	if (!how)
		return leave(r, r->place.at + off);
	if (off > r->place.size || how->size > r->place.size - off)
		return -EINVAL;
	off += r->place.at;
	if (info >> 32 && !symbol_value(r, symtab, info >> 32, &v))
		return leave(r, off);
	v += addend;
	if (how->pcrel)
		v -= r->svma + off;
	store(elf, r->content + off, how->size, v);
	return 0;
}

static int apply_all(struct relocate *r, const struct seam_elf_shdr *rela)
{
	size_t n = rela->bytes.size / RELA_SIZE;
	int rc = 0;

	if (n > r->left)
		return -EINVAL;
	r->left -= n;
	for (size_t i = 0; i < n && !rc; i++)
		rc = apply(r, rela->bytes.data + i * RELA_SIZE, rela->link);
	return rc;
}

static int by_value(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

	return a < b ? -1 : a > b;
}

int seam_elf_relocate(const struct seam_elf *elf,
		      const struct seam_elf_place *places, uint64_t svma,
		      uint8_t *content, uint64_t **ret_unresolved,
		      size_t *ret_num_unresolved)
{
	struct relocate r = {
		.elf = elf,
		.svma = svma,
		.content = content,
		.xindex = find_xindex(elf),
	};
	int rc = 0;

	for (size_t i = 1; i < elf->num_sections; i++)
		r.left += places[i].size;
	for (size_t i = 1; i < elf->num_sections && !rc; i++) {
		const struct seam_elf_shdr *s = &elf->sections[i];

		if (s->type != SHT_RELA || !s->has_bytes ||
		    s->info >= elf->num_sections || !places[s->info].size)
			continue;
		r.place = places[s->info];
		rc = apply_all(&r, s);
	}
	if (rc) {
		free(r.unresolved);
		return rc;
	}
	if (r.num)
		qsort(r.unresolved, r.num, sizeof(*r.unresolved), by_value);
	*ret_unresolved = r.unresolved;
	*ret_num_unresolved = r.num;
	return 0;
}
