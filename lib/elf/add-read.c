// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads the headers of a file that is to get a section, and finds what
 * speaks against it. A file that is not understood whole is left alone.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "core/err.h"
#include "elf/add-private.h"
#include "elf/fail.h"

#define DT_GNU_PRELINKED_TAG 0x6ffffdf5

static int refuse(struct seam_errinfo *reterr, uint64_t off, const char *where,
		  const char *why)
{
	return seam_elf_fail(reterr, SEAM_ELF_LAYOUT, off, where, why);
}

static int check_header(const struct seam_elf_add *add,
			struct seam_errinfo *reterr)
{
	const Elf64_Ehdr *eh = &add->eh;

	if (eh->e_type == ET_REL)
		return refuse(reterr, 16, "ELF header",
			      "a relocatable file has no segments: its "
			      "assembler or linker makes such sections");
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		return refuse(reterr, 16, "ELF header",
			      "neither an executable nor a shared library");
	if (!eh->e_phnum || eh->e_phnum == PN_XNUM ||
	    eh->e_phentsize != sizeof(Elf64_Phdr))
		return refuse(reterr, 54, "ELF header",
			      "it has no program headers that can be changed");
	/* Linux refuses tables larger than this. */
	if ((eh->e_phnum + 2u) * sizeof(Elf64_Phdr) > 65536)
		return refuse(reterr, 56, "ELF header",
			      "it has too many program headers already");
	if (eh->e_shoff && (!eh->e_shnum || !eh->e_shstrndx ||
			    eh->e_shnum >= SHN_LORESERVE - 1 ||
			    eh->e_shstrndx >= eh->e_shnum ||
			    eh->e_shentsize != sizeof(Elf64_Shdr)))
		return refuse(reterr, 58, "ELF header",
			      "its section headers are not understood");
	return 0;
}

static int read_phdrs(struct seam_elf_add *add, struct seam_errinfo *reterr)
{
	Elf *libelf = seam_elf_libelf(add->elf);
	GElf_Phdr ph;

	/* Room for a PT_LOAD and one that names the section. */
	add->phdrs = calloc(add->eh.e_phnum + 2u, sizeof(*add->phdrs));
	if (!add->phdrs)
		return -ENOMEM;
	for (int i = 0; i < add->eh.e_phnum; i++) {
		if (!gelf_getphdr(libelf, i, &ph))
			return refuse(reterr, add->eh.e_phoff,
				      "program headers",
				      "a program header cannot be read");
		add->phdrs[add->num_phdrs++] = ph;
	}
	return 0;
}

static int read_shdr(struct seam_elf_add *add, size_t i,
		     struct seam_errinfo *reterr)
{
	Elf *libelf = seam_elf_libelf(add->elf);
	Elf_Scn *scn = elf_getscn(libelf, i);
	const char *name;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh))
		return refuse(reterr, add->eh.e_shoff, "section headers",
			      "a section header cannot be read");
	if (seam_elf_add_is_in_file(&sh) &&
	    (sh.sh_offset > add->file_size ||
	     sh.sh_size > add->file_size - sh.sh_offset))
		return refuse(reterr, sh.sh_offset, "file",
			      "a section lies outside the file");
	add->shdrs[add->num_shdrs++] = sh;
	name = elf_strptr(libelf, add->eh.e_shstrndx, sh.sh_name);
	if (!name)
		return refuse(reterr, add->eh.e_shoff, "section headers",
			      "a section's name cannot be read");
	if (!strcmp(name, ".gnu.prelink_undo"))
		return refuse(reterr, sh.sh_offset, "file",
			      "it is prelinked: undo that first");
	if (!i || strcmp(name, add->spec.name))
		return 0;
	if (add->old)
		return refuse(reterr, sh.sh_offset, "file",
			      "it has two sections of that name");
	add->old = i;
	return 0;
}

static int read_shdrs(struct seam_elf_add *add, struct seam_errinfo *reterr)
{
	int rc = 0;

	if (!add->eh.e_shoff)
		return 0;
	add->shdrs = calloc(add->eh.e_shnum + 1u, sizeof(*add->shdrs));
	if (!add->shdrs)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < add->eh.e_shnum; i++)
		rc = read_shdr(add, i, reterr);
	/* libelf inflates names; a new one would follow what is compressed. */
	if (!rc && add->shdrs[add->eh.e_shstrndx].sh_flags & SHF_COMPRESSED)
		rc = refuse(reterr, add->eh.e_shoff, "section headers",
			    "the sections' names are compressed");
	return rc;
}

static bool overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
	return a_size && b_size && (a < b ? b - a < a_size : a - b < b_size);
}

/* All of the section that is replaced is cleared or written over: that has to
 * be nobody else's. */
static int check_old(const struct seam_elf_add *add,
		     struct seam_errinfo *reterr)
{
	const Elf64_Shdr *old = add->old ? &add->shdrs[add->old] : NULL;
	const Elf64_Ehdr *eh = &add->eh;
	uint64_t at, size;
	bool is_shared;

	if (!old || !seam_elf_add_is_in_file(old))
		return 0;
	at = old->sh_offset;
	size = old->sh_size;
	is_shared = overlap(at, size, 0, sizeof(*eh)) ||
		    overlap(at, size, eh->e_phoff,
			    add->num_phdrs * sizeof(*add->phdrs)) ||
		    overlap(at, size, eh->e_shoff,
			    add->num_shdrs * sizeof(*add->shdrs));
	for (size_t i = 1; i < add->num_shdrs; i++)
		if (i != add->old && seam_elf_add_is_in_file(&add->shdrs[i]) &&
		    overlap(at, size, add->shdrs[i].sh_offset,
			    add->shdrs[i].sh_size))
			is_shared = true;
	return is_shared ? refuse(reterr, at, "file",
				  "the section to be replaced overlaps "
				  "another, or headers")
			 : 0;
}

/* Segments have to lie as loaders read them: by address, in the file. */
static int check_loads(struct seam_elf_add *add, struct seam_errinfo *reterr)
{
	const Elf64_Phdr *last = NULL;

	for (size_t i = 0; i < add->num_phdrs; i++) {
		const Elf64_Phdr *ph = &add->phdrs[i];
		uint64_t at = add->eh.e_phoff + i * sizeof(*ph);

		if (ph->p_type != PT_LOAD)
			continue;
		if (ph->p_offset > add->file_size ||
		    ph->p_filesz > add->file_size - ph->p_offset)
			return refuse(reterr, at, "file",
				      "a segment lies outside the file");
		if (last && (ph->p_vaddr < last->p_vaddr + last->p_memsz))
			return refuse(reterr, at, "file",
				      "segments overlap or are out of order");
		if (!last)
			add->first_load = i;
		add->last_load = i;
		last = ph;
	}
	if (!last)
		return refuse(reterr, add->eh.e_phoff, "file",
			      "it has no segment that is loaded");
	return 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Bytes behind all that headers tell of are found from the file's end, as
 * self-extracting programs find their load: they have to stay the last ones.
 */
static int check_end(const struct seam_elf_add *add,
		     struct seam_errinfo *reterr)
{
	uint64_t end = add->eh.e_phoff + add->num_phdrs * sizeof(Elf64_Phdr);
	const uint8_t *bytes;
	size_t size;

	for (size_t i = 0; i < add->num_phdrs; i++)
		if (add->phdrs[i].p_type == PT_LOAD)
			end = later(end, add->phdrs[i].p_offset +
						 add->phdrs[i].p_filesz);
	for (size_t i = 1; i < add->num_shdrs; i++)
		if (seam_elf_add_is_in_file(&add->shdrs[i]))
			end = later(end, add->shdrs[i].sh_offset +
						 add->shdrs[i].sh_size);
	if (add->shdrs)
		end = later(end, add->eh.e_shoff +
					 add->num_shdrs * sizeof(Elf64_Shdr));
	bytes = seam_elf_bytes(add->elf, &size);
	while (end < size && !bytes[end])
		end++;
	if (end < size)
		return refuse(reterr, end, "file",
			      "bytes follow that no header tells of: a load "
			      "that is found from the file's end");
	return 0;
}

static int check_dynamic(const struct seam_elf_add *add,
			 struct seam_errinfo *reterr)
{
	Elf *libelf = seam_elf_libelf(add->elf);

	for (size_t i = 0; i < add->num_phdrs; i++) {
		const Elf64_Phdr *ph = &add->phdrs[i];
		Elf_Data *data;
		GElf_Dyn dyn;

		if (ph->p_type != PT_DYNAMIC)
			continue;
		data = elf_getdata_rawchunk(libelf, (int64_t)ph->p_offset,
					    ph->p_filesz, ELF_T_DYN);
		for (int k = 0; data && gelf_getdyn(data, k, &dyn); k++) {
			if (dyn.d_tag == DT_GNU_PRELINKED_TAG)
				return refuse(reterr, ph->p_offset, "file",
					      "it is prelinked: undo that "
					      "first");
			if (dyn.d_tag == DT_NULL)
				break;
		}
	}
	return 0;
}

int seam_elf_add_read(struct seam_elf_add *add, struct seam_errinfo *reterr)
{
	GElf_Ehdr eh;
	int rc;

	if (!gelf_getehdr(seam_elf_libelf(add->elf), &eh))
		return refuse(reterr, 0, "ELF header", "it cannot be read");
	add->eh = eh;
	rc = check_header(add, reterr);
	if (!rc)
		rc = read_phdrs(add, reterr);
	if (!rc)
		rc = read_shdrs(add, reterr);
	if (!rc)
		rc = check_old(add, reterr);
	if (!rc)
		rc = check_loads(add, reterr);
	if (!rc)
		rc = check_dynamic(add, reterr);
	return rc ? rc : check_end(add, reterr);
}
