// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "elf/add-section.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/err.h"
#include "elf/add-private.h"
#include "elf/fail.h"

#define ALIGN 8
/* A file that is this much larger than what it holds is nobody's wish. */
#define HOLE_MAX (UINT64_C(1) << 30)

static uint64_t align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) & -to;
}

/* The largest page that systems of the machine have. */
static uint64_t page_size(uint16_t machine)
{
	return machine == EM_X86_64 || machine == EM_S390 ? 4096 : 65536;
}

/* The PT_LOAD that holds [svma, svma + size) of the file. */
static const Elf64_Phdr *load_of(const struct seam_elf_add *add, uint64_t svma,
				 uint64_t size)
{
	for (size_t i = 0; i < add->num_phdrs; i++) {
		const Elf64_Phdr *ph = &add->phdrs[i];

		if (ph->p_type == PT_LOAD && svma >= ph->p_vaddr &&
		    svma - ph->p_vaddr <= ph->p_filesz &&
		    size <= ph->p_filesz - (svma - ph->p_vaddr))
			return ph;
	}
	return NULL;
}

/* Where an old section lies: by its header; without any, by what names it. */
static bool old_place(const struct seam_elf_add *add, Elf64_Shdr *ret)
{
	if (add->old) {
		*ret = add->shdrs[add->old];
		return seam_elf_add_is_in_file(ret) &&
		       ret->sh_flags & SHF_ALLOC;
	}
	for (size_t i = 0; !add->shdrs && i < add->num_phdrs; i++) {
		if (add->phdrs[i].p_type != add->spec.p_type)
			continue;
		ret->sh_addr = add->phdrs[i].p_vaddr;
		ret->sh_offset = add->phdrs[i].p_offset;
		ret->sh_size = add->phdrs[i].p_filesz;
		return true;
	}
	return false;
}

/* Whether the old section's place is loaded, read-only, and large enough. */
static bool plan_in_place(struct seam_elf_add *add)
{
	const Elf64_Phdr *ph;
	Elf64_Shdr sh;

	if (!old_place(add, &sh) || sh.sh_size < add->size ||
	    sh.sh_addr % ALIGN)
		return false;
	ph = load_of(add, sh.sh_addr, sh.sh_size);
	if (!ph || ph->p_flags & PF_W ||
	    sh.sh_offset - ph->p_offset != sh.sh_addr - ph->p_vaddr)
		return false;
	add->in_place = true;
	add->off = sh.sh_offset;
	add->svma = sh.sh_addr;
	return true;
}

/* The program header that names the section: the old one, or one more. */
static Elf64_Phdr *naming_phdr(struct seam_elf_add *add)
{
	for (size_t i = 0; i < add->num_phdrs; i++)
		if (add->phdrs[i].p_type == add->spec.p_type)
			return &add->phdrs[i];
	return &add->phdrs[add->num_phdrs++];
}

static bool has_naming_phdr(const struct seam_elf_add *add)
{
	for (size_t i = 0; i < add->num_phdrs; i++)
		if (add->phdrs[i].p_type == add->spec.p_type)
			return true;
	return false;
}

static void name_section(struct seam_elf_add *add)
{
	*naming_phdr(add) = (Elf64_Phdr){
		.p_type = add->spec.p_type,
		.p_flags = PF_R,
		.p_offset = add->off,
		.p_vaddr = add->svma,
		.p_paddr = add->svma,
		.p_filesz = add->size,
		.p_memsz = add->size,
		.p_align = ALIGN,
	};
}

/* Behind the last PT_LOAD: loaders want them by address. */
static Elf64_Phdr *insert_load(struct seam_elf_add *add)
{
	size_t at = add->last_load + 1;

	memmove(&add->phdrs[at + 1], &add->phdrs[at],
		(add->num_phdrs - at) * sizeof(*add->phdrs));
	add->num_phdrs++;
	return &add->phdrs[at];
}

/* off: of the new segment; svma: likewise. */
static void plan_phdrs(struct seam_elf_add *add, uint64_t off, uint64_t svma,
		       uint64_t page)
{
	uint64_t table = add->num_phdrs + 1 + !has_naming_phdr(add);

	table *= sizeof(Elf64_Phdr);
	add->off = align_up(off + table, ALIGN);
	add->svma = svma + (add->off - off);
	*insert_load(add) = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R,
		.p_offset = off,
		.p_vaddr = svma,
		.p_paddr = svma,
		.p_filesz = add->off + add->size - off,
		.p_memsz = add->off + add->size - off,
		.p_align = page,
	};
	name_section(add);
	for (size_t i = 0; i < add->num_phdrs; i++) {
		Elf64_Phdr *ph = &add->phdrs[i];

		if (ph->p_type != PT_PHDR)
			continue;
		ph->p_offset = off;
		ph->p_vaddr = ph->p_paddr = svma;
		ph->p_filesz = ph->p_memsz = table;
	}
	add->eh.e_phoff = off;
	add->eh.e_phnum = (uint16_t)add->num_phdrs;
}

static int plan_segment(struct seam_elf_add *add, struct seam_errinfo *reterr)
{
	const Elf64_Phdr *first = &add->phdrs[add->first_load];
	const Elf64_Phdr *last = &add->phdrs[add->last_load];
	uint64_t page = page_size(add->eh.e_machine);
	uint64_t bias = first->p_vaddr - first->p_offset;
	uint64_t end = last->p_vaddr + last->p_memsz - bias;
	uint64_t off;

	if (first->p_vaddr < first->p_offset || bias % page)
		return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, first->p_offset,
				     "file",
				     "its first segment is not where a page "
				     "of the file would be");
	if (end > INT64_MAX / 2 || add->size > UINT32_MAX)
		return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, last->p_offset,
				     "file",
				     "there is no address behind its segments");
	off = align_up(add->file_size > end ? add->file_size : end, page);
	if (off - add->file_size > HOLE_MAX)
		return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, last->p_offset,
				     "file",
				     "its memory is over 1 GiB larger than "
				     "the file, which would have to grow as "
				     "much");
	plan_phdrs(add, off, off + bias, page);
	return 0;
}

/*
 * Behind the section: names, where the name is a new one, and the section
 * headers. Sections keep their numbers, which symbols have.
 */
static void plan_sections(struct seam_elf_add *add)
{
	uint64_t end = add->off + add->size;
	Elf64_Shdr *names, *sh;

	if (!add->shdrs)
		return;
	names = &add->shdrs[add->eh.e_shstrndx];
	sh = &add->shdrs[add->old ? add->old : add->num_shdrs++];
	*sh = (Elf64_Shdr){
		.sh_name = add->old ? sh->sh_name : (uint32_t)names->sh_size,
		.sh_type = add->spec.sh_type,
		.sh_flags = SHF_ALLOC,
		.sh_addr = add->svma,
		.sh_offset = add->off,
		.sh_size = add->size,
		.sh_addralign = ALIGN,
	};
	if (add->in_place)
		return;
	if (!add->old) {
		add->names_off = end;
		names->sh_size += strlen(add->spec.name) + 1;
		end += names->sh_size;
	}
	add->eh.e_shoff = align_up(end, ALIGN);
	add->eh.e_shnum = (uint16_t)add->num_shdrs;
}

int seam_elf_add_plan(const struct seam_elf *elf,
		      const struct seam_elf_new_section *spec, uint64_t size,
		      struct seam_elf_add **ret, struct seam_errinfo *reterr)
{
	struct seam_elf_add *add = calloc(1, sizeof(*add));
	size_t file_size;
	int rc;

	if (!add)
		return -ENOMEM;
	seam_elf_bytes(elf, &file_size);
	add->elf = elf;
	add->spec = *spec;
	add->size = size;
	add->file_size = file_size;
	rc = seam_elf_add_read(add, reterr);
	if (!rc && plan_in_place(add) && has_naming_phdr(add))
		name_section(add);
	else if (!rc) {
		add->in_place = false;
		rc = plan_segment(add, reterr);
	}
	if (rc) {
		seam_elf_add_free(add);
		return rc;
	}
	plan_sections(add);
	*ret = add;
	return 0;
}

struct seam_elf_add *seam_elf_add_free(struct seam_elf_add *add)
{
	if (!add)
		return NULL;
	free(add->phdrs);
	free(add->shdrs);
	free(add);
	return NULL;
}

uint64_t seam_elf_add_svma(const struct seam_elf_add *add)
{
	return add->svma;
}

bool seam_elf_add_in_place(const struct seam_elf_add *add)
{
	return add->in_place;
}
