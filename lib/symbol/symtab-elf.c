/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The functions in .symtab or .dynsym, and what else names code. */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symtab.h"

struct section {
	uint64_t end; /* svma */
	bool alloc, exec, text;
};

struct reader {
	struct seam_symtab *tab;
	const struct seam_elf *elf;
	struct section *sections;
	size_t num_sections;
	struct seam_strings names;
};

/* Section names are short; more of a longer one is not looked at. */
#define SECTION_NAME_MAX 256

bool seam_strings_get(const struct seam_elf *elf, size_t section,
		      struct seam_strings *ret)
{
	Elf_Scn *scn = elf_getscn(seam_elf_libelf(elf), section);
	Elf_Data *data;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB ||
	    sh.sh_flags & SHF_COMPRESSED)
		return false;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return false;
	ret->data = data->d_buf;
	ret->size = data->d_size;
	return true;
}

int seam_symtab_own_strings(struct seam_symtab *tab, const struct seam_elf *elf,
			    size_t section, struct seam_strings *ret)
{
	struct seam_strings names;
	char *copy;
	int rc;

	if (!seam_strings_get(elf, section, &names))
		return -ENOENT;
	copy = malloc(names.size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, names.data, names.size);
	copy[names.size] = '\0';
	rc = seam_symtab_own(tab, copy);
	if (!rc)
		*ret = (struct seam_strings){copy, names.size};
	return rc;
}

static bool name_has_text(const struct seam_strings *names, uint64_t at)
{
	size_t len;

	if (at >= names->size)
		return false;
	len = names->size - at;
	len = strnlen(names->data + at,
		      len < SECTION_NAME_MAX ? len : SECTION_NAME_MAX);
	return memmem(names->data + at, len, "text", 4);
}

static int read_sections(struct reader *r)
{
	Elf *elf = seam_elf_libelf(r->elf);
	struct seam_strings names = {0};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t strndx, i;

	if (elf_getshdrnum(elf, &r->num_sections) ||
	    elf_getshdrstrndx(elf, &strndx))
		return -ENOENT;
	seam_strings_get(r->elf, strndx, &names);
	if (r->num_sections > SHN_LORESERVE)
		r->num_sections = SHN_LORESERVE;
	r->sections = calloc(r->num_sections + 1, sizeof(*r->sections));
	if (!r->sections)
		return -ENOMEM;
	while ((scn = elf_nextscn(elf, scn))) {
		i = elf_ndxscn(scn);
		if (i >= r->num_sections)
			break;
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC))
			continue;
		r->sections[i] = (struct section){
			.end = sh.sh_size > UINT64_MAX - sh.sh_addr
				       ? UINT64_MAX
				       : sh.sh_addr + sh.sh_size,
			.alloc = true,
			.exec = sh.sh_flags & SHF_EXECINSTR,
			.text = name_has_text(&names, sh.sh_name),
		};
	}
	return 0;
}

/* ARM's and RISC-V's marks between code and data. */
static bool is_mapping_symbol(const struct seam_elf *elf, const char *name)
{
	uint16_t machine = seam_elf_machine(elf);

	return name[0] == '$' && (machine == EM_ARM || machine == EM_AARCH64 ||
				  machine == EM_RISCV);
}

static bool names_code(const GElf_Sym *sym, const struct section *sec)
{
	int visibility = GELF_ST_VISIBILITY(sym->st_other);

	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return sec->alloc;
	case STT_OBJECT: /* data among code: the end of what is before it */
		return sec->exec;
	case STT_NOTYPE: /* labels in assembly */
		return sec->text && visibility != STV_HIDDEN &&
		       visibility != STV_INTERNAL;
	}
	return false;
}

static int add_symbol(struct reader *r, const GElf_Sym *sym)
{
	const struct section *sec;
	struct seam_sym add;

	/* No symbol table names code by an index beyond SHN_LORESERVE: that
	 * would be a linked file of 65,280 sections. */
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE ||
	    sym->st_shndx >= r->num_sections || !sym->st_name ||
	    sym->st_name >= r->names.size)
		return 0;
	sec = &r->sections[sym->st_shndx];
	if (!names_code(sym, sec) ||
	    is_mapping_symbol(r->elf, r->names.data + sym->st_name))
		return 0;
	add = (struct seam_sym){
		.start = sym->st_value,
		.end = sec->end,
		.raw = r->names.data + sym->st_name,
		.type = GELF_ST_TYPE(sym->st_info),
		.bind = GELF_ST_BIND(sym->st_info),
	};
	if (sym->st_size) {
		add.has_size = true;
		add.end = sym->st_size > UINT64_MAX - add.start
				  ? UINT64_MAX
				  : add.start + sym->st_size;
	} else if (add.end < add.start) {
		add.end = add.start;
	}
	return seam_symtab_add(r->tab, &add);
}

static int read_symbols(struct reader *r, Elf_Scn *scn, size_t link)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;
	size_t n;
	int rc;

	if (!data || !data->d_buf)
		return -ENOENT;
	rc = seam_symtab_own_strings(r->tab, r->elf, link, &r->names);
	if (!rc)
		rc = read_sections(r);
	if (rc)
		return rc;
	n = data->d_size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		if (!gelf_getsym(data, (int)i, &sym))
			break;
		rc = add_symbol(r, &sym);
		if (rc)
			return rc;
	}
	return 0;
}

int seam_symtab_read_elf(struct seam_symtab *tab, const struct seam_elf *elf,
			 uint32_t section_type)
{
	struct reader r = {.tab = tab, .elf = elf};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int rc = -ENOENT;

	while ((scn = elf_nextscn(seam_elf_libelf(elf), scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != section_type ||
		    sh.sh_flags & SHF_COMPRESSED)
			continue;
		rc = read_symbols(&r, scn, sh.sh_link);
		break;
	}
	free(r.sections);
	return rc;
}
