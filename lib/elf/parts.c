// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "elf/parts.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/populate.h"
#include "base/search.h"

/* No section is that large that has names in it, but symbols' own. */
#define NAMES_DATA_MAX (64 << 20)
#define PIECE ((size_t)2 << 20)

int seam_elf_parts_add(struct seam_elf_parts *parts, uint64_t off,
		       uint64_t size)
{
	uint64_t end = size > UINT64_MAX - off ? UINT64_MAX : off + size;

	if (seam_grow(&parts->v, parts->n + 1, &parts->room, sizeof(*parts->v)))
		return -ENOMEM;
	parts->v[parts->n++] = (struct seam_elf_part){off, end};
	return 0;
}

static int by_offset(const void *va, const void *vb)
{
	const struct seam_elf_part *a = va, *b = vb;

	return a->off < b->off ? -1 : a->off > b->off;
}

uint64_t seam_elf_parts_settle(struct seam_elf_parts *parts, uint64_t file_size)
{
	uint64_t bytes = 0;
	size_t to = 0;

	if (parts->n)
		qsort(parts->v, parts->n, sizeof(*parts->v), by_offset);
	for (size_t i = 0; i < parts->n; i++) {
		struct seam_elf_part p = parts->v[i];

		if (p.end > file_size)
			p.end = file_size;
		if (p.off >= p.end)
			continue;
		if (to && p.off <= parts->v[to - 1].end) {
			if (p.end > parts->v[to - 1].end)
				parts->v[to - 1].end = p.end;
		} else {
			parts->v[to++] = p;
		}
	}
	parts->n = to;
	for (size_t i = 0; i < to; i++)
		bytes += parts->v[i].end - parts->v[i].off;
	return bytes;
}

bool seam_elf_parts_have(const struct seam_elf_parts *parts, uint64_t off,
			 uint64_t size)
{
	/* The first part that begins behind off. */
	size_t next = SEAM_SEARCH(i, parts->n, parts->v[i].off <= off);

	return next && off <= parts->v[next - 1].end &&
	       size <= parts->v[next - 1].end - off;
}

void seam_elf_parts_fini(struct seam_elf_parts *parts)
{
	free(parts->v);
	*parts = (struct seam_elf_parts){0};
}

static int add_headers(struct seam_elf_parts *parts, Elf *elf,
		       const GElf_Ehdr *ehdr)
{
	size_t phnum = 0, shnum = 0;
	int err = seam_elf_parts_add(parts, 0, ehdr->e_ehsize);

	/* Where there are too many to count in the ELF header, the first
	 * section header has their number. */
	if (elf_getphdrnum(elf, &phnum) || elf_getshdrnum(elf, &shnum))
		phnum = ehdr->e_phnum;
	if (!err && ehdr->e_shoff)
		err = seam_elf_parts_add(parts, ehdr->e_shoff,
					 (shnum ? shnum : 1) *
						 (uint64_t)ehdr->e_shentsize);
	return err ? err
		   : seam_elf_parts_add(parts, ehdr->e_phoff,
					phnum * (uint64_t)ehdr->e_phentsize);
}

/* What is loaded, sections tell better, where there are any. */
static int add_segments(struct seam_elf_parts *parts, Elf *elf,
			enum seam_elf_parts_for what)
{
	size_t n = 0, names = 0;
	bool load = what == SEAM_ELF_FOR_ALL ||
		    elf_getshdrstrndx(elf, &names) || !names;
	GElf_Phdr ph;
	int err = 0;

	if (elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; !err && i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) &&
		    (load || ph.p_type != PT_LOAD))
			err = seam_elf_parts_add(parts, ph.p_offset,
						 ph.p_filesz);
	return err;
}

static bool is_read(const GElf_Shdr *sh, const char *name)
{
	switch (sh->sh_type) {
	case SHT_NULL:
	case SHT_NOBITS:
		return false;
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_DYNAMIC:
	case SHT_NOTE:
	case SHT_SYMTAB_SHNDX:
		return true;
	}
	if (sh->sh_flags & (SHF_ALLOC | SHF_EXECINSTR))
		return true;
	return name &&
	       (!strcmp(name, ".debug_frame") ||
		!strcmp(name, ".zdebug_frame") || !strcmp(name, ".eh_frame") ||
		!strcmp(name, ".rela.eh_frame") ||
		!strcmp(name, ".rela.debug_frame"));
}

/* Names are only claims: what is no plain content is read by any of them. */
static bool is_left_out(const GElf_Shdr *sh, const char *name,
			const char *const *v)
{
	if (!name || sh->sh_type != SHT_PROGBITS)
		return false;
	for (; *v; v++)
		if (!strcmp(name, *v))
			return true;
	return false;
}

/* Where rules are; neither the code that they are for nor its data. */
static bool is_for_rules(const GElf_Shdr *sh, const char *name)
{
	static const char *const other[] = {
		".text",	".rodata",	     ".data",
		".data.rel.ro", ".gcc_except_table", NULL,
	};

	return is_read(sh, name) && !is_left_out(sh, name, other);
}

static bool is_dwarf(const GElf_Shdr *sh, const char *name)
{
	return name && sh->sh_type == SHT_PROGBITS &&
	       (!strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8));
}

/* Most of a file is of no use for names; what is not known to be is read. */
static bool is_for_names(const GElf_Shdr *sh, const char *name)
{
	static const char *const other[] = {
		".text", ".rodata",	 ".eh_frame",	      ".eh_frame_hdr",
		".data", ".data.rel.ro", ".gcc_except_table", NULL,
	};

	if (sh->sh_type == SHT_NULL || sh->sh_type == SHT_NOBITS)
		return false;
	/* Programs for graphics processors, and other data. */
	if (sh->sh_type == SHT_PROGBITS && sh->sh_size > NAMES_DATA_MAX)
		return false;
	return !is_dwarf(sh, name) && !is_left_out(sh, name, other);
}

static bool is_wanted(const GElf_Shdr *sh, const char *name,
		      enum seam_elf_parts_for what)
{
	switch (what) {
	case SEAM_ELF_FOR_RULES:
		return is_for_rules(sh, name);
	case SEAM_ELF_FOR_NAMES:
		return is_for_names(sh, name);
	case SEAM_ELF_FOR_SOURCE:
		return is_for_names(sh, name) || is_dwarf(sh, name);
	default:
		return is_read(sh, name);
	}
}

static int add_sections(struct seam_elf_parts *parts, Elf *elf,
			enum seam_elf_parts_for what)
{
	size_t names = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while (!err && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			break;
		if (elf_ndxscn(scn) == names ||
		    is_wanted(&sh, elf_strptr(elf, names, sh.sh_name), what))
			err = seam_elf_parts_add(parts, sh.sh_offset,
						 sh.sh_size);
	}
	return err;
}

int seam_elf_parts_of_fd(int fd, uint64_t file_size,
			 enum seam_elf_parts_for what,
			 struct seam_elf_parts *ret)
{
	struct seam_elf_parts parts = {0};
	GElf_Ehdr ehdr;
	Elf *elf;
	int err;

	elf_version(EV_CURRENT);
	/* Read and not mapped: the file may shrink while we look. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr)) {
		elf_end(elf);
		return -EINVAL;
	}
	err = add_headers(&parts, elf, &ehdr);
	if (!err)
		err = add_segments(&parts, elf, what);
	if (!err)
		err = add_sections(&parts, elf, what);
	elf_end(elf);
	if (err) {
		seam_elf_parts_fini(&parts);
		return err;
	}
	seam_elf_parts_settle(&parts, file_size);
	*ret = parts;
	return 0;
}

/* In pieces: a file may be shorter by now, or on a server that is not there. */
static int read_part(int fd, uint8_t *to, uint64_t at, uint64_t end)
{
	while (at < end) {
		const size_t piece =
			end - at < PIECE ? (size_t)(end - at) : PIECE;
		ssize_t n;

		seam_populate(to + at, piece);
		n = pread(fd, to + at, piece, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += (uint64_t)n;
	}
	return 0;
}

int seam_elf_parts_read(const struct seam_elf_parts *parts, int fd, uint8_t *to)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < parts->n; i++)
		rc = read_part(fd, to, parts->v[i].off, parts->v[i].end);
	return rc;
}
