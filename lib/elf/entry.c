// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "elf/entry.h"

#include <gelf.h>
#include <stddef.h>

#ifndef DF_1_PIE
#define DF_1_PIE 0x08000000
#endif

struct dynamic {
	bool has_needed, is_pie;
};

static Elf_Scn *find_section(Elf *elf, Elf_Scn *from, uint32_t type,
			     GElf_Shdr *ret)
{
	Elf_Scn *scn = from;

	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, ret) && ret->sh_type == type)
			return scn;
	}
	return NULL;
}

static struct dynamic read_dynamic(Elf *elf)
{
	struct dynamic dynamic = {false, false};
	GElf_Shdr shdr;
	Elf_Scn *scn = find_section(elf, NULL, SHT_DYNAMIC, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn); i++) {
		if (dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_NEEDED)
			dynamic.has_needed = true;
		if (dyn.d_tag == DT_FLAGS_1)
			dynamic.is_pie = dyn.d_un.d_val & DF_1_PIE;
	}
	return dynamic;
}

static bool has_interpreter(Elf *elf)
{
	size_t count = 0;
	GElf_Phdr phdr;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(elf, (int)i, &phdr) &&
		    phdr.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static bool is_real(const struct seam_elf *elf)
{
	Elf *libelf = seam_elf_libelf(elf);
	struct dynamic dynamic;
	GElf_Ehdr ehdr;

	if (!seam_elf_entry(elf) || !libelf || !gelf_getehdr(libelf, &ehdr))
		return false;
	if (ehdr.e_type != ET_DYN || has_interpreter(libelf))
		return true;
	/* Left: libraries, static-pie programs, and ld.so, which needs no
	 * other library. */
	dynamic = read_dynamic(libelf);
	return dynamic.is_pie || !dynamic.has_needed;
}

bool seam_entry_is_real(const struct seam_elf *elf)
{
	struct seam_entry_memo *memo = seam_elf_entry_memo(elf);

	if (!memo->has_real)
		memo->is_real = is_real(elf);
	memo->has_real = true;
	return memo->is_real;
}

static uint64_t next_in_table(Elf_Scn *scn, const GElf_Shdr *shdr,
			      uint64_t addr, uint64_t limit)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;

	if (!data || !shdr->sh_entsize)
		return limit;
	for (int i = 0; gelf_getsym(data, i, &sym); i++) {
		int type = GELF_ST_TYPE(sym.st_info);

		if (type != STT_FUNC && type != STT_NOTYPE)
			continue;
		if (sym.st_shndx != SHN_UNDEF && sym.st_shndx != SHN_ABS &&
		    sym.st_value > addr && sym.st_value < limit)
			limit = sym.st_value;
	}
	return limit;
}

static uint64_t next_symbol(const struct seam_elf *elf, uint64_t addr)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	Elf *libelf = seam_elf_libelf(elf);
	uint64_t limit = UINT64_MAX;
	GElf_Shdr shdr;

	for (int i = 0; libelf && i < 2; i++) {
		Elf_Scn *scn = NULL;

		while ((scn = find_section(libelf, scn, types[i], &shdr)))
			limit = next_in_table(scn, &shdr, addr, limit);
	}
	return limit;
}

uint64_t seam_entry_next_symbol(const struct seam_elf *elf)
{
	struct seam_entry_memo *memo = seam_elf_entry_memo(elf);

	if (!memo->has_next)
		memo->next = next_symbol(elf, seam_elf_entry(elf));
	memo->has_next = true;
	return memo->next;
}
