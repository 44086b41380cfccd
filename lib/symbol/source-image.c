// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * An ELF file in memory with nothing but debug sections, unpacked. libdw
 * of elfutils 0.188 reads none that zstd packed, does not bound what it
 * unpacks, and opens by itself what .gnu_debugaltlink names, a FIFO too.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/source-private.h"

#define IMAGE_MAX (UINT64_C(2) << 30)

static const struct {
	const char *name;
	size_t at; /* in struct seam_source_image; 0: libdw alone reads it */
} wanted[] = {
	{".debug_info", offsetof(struct seam_source_image, info)},
	{".debug_abbrev", offsetof(struct seam_source_image, abbrev)},
	{".debug_line", offsetof(struct seam_source_image, line)},
	{".debug_line_str", offsetof(struct seam_source_image, line_str)},
	{".debug_str", offsetof(struct seam_source_image, str)},
	{".debug_str_offsets", 0},
	{".debug_addr", 0},
	{".debug_ranges", 0},
	{".debug_rnglists", 0},
};

#define WANTED (sizeof(wanted) / sizeof(*wanted))
#define SECTIONS (WANTED + 2) /* the null one first, the names last */
#define NAMES_MAX 256

struct plan {
	const struct seam_elf *elf;
	struct seam_elf_content contents[WANTED];
	bool present[WANTED];
	char names[NAMES_MAX];
	size_t names_size;
	uint64_t size;
	Elf64_Shdr sh[SECTIONS];
	Elf64_Ehdr eh;
};

static uint64_t take_room(struct plan *p, uint64_t size)
{
	uint64_t at = (p->size + 15) & ~UINT64_C(15);

	p->size = at + size;
	return at;
}

static uint32_t add_name(struct plan *p, const char *name)
{
	size_t at = p->names_size, size = strlen(name) + 1;

	memcpy(p->names + at, name, size);
	p->names_size += size;
	return (uint32_t)at;
}

static int read_contents(struct plan *p)
{
	uint64_t total = 0;

	for (size_t i = 0; i < WANTED; i++) {
		int rc = seam_elf_content(p->elf, wanted[i].name,
					  &p->contents[i]);

		p->present[i] = !rc;
		if (rc && rc != -ENOENT)
			return rc;
		total += rc ? 0 : p->contents[i].bytes.size;
	}
	if (!p->present[0] || !p->contents[0].bytes.size)
		return -ENOENT;
	return total > IMAGE_MAX ? -EFBIG : 0;
}

static void lay_out(struct plan *p)
{
	p->names_size = 1;
	p->size = sizeof(p->eh);
	for (size_t i = 0; i < WANTED; i++) {
		if (!p->present[i])
			continue;
		p->sh[i + 1] = (Elf64_Shdr){
			.sh_name = add_name(p, wanted[i].name),
			.sh_type = SHT_PROGBITS,
			.sh_size = p->contents[i].bytes.size,
			.sh_offset = take_room(p, p->contents[i].bytes.size),
			.sh_addralign = 1,
		};
	}
	p->sh[SECTIONS - 1] = (Elf64_Shdr){
		.sh_name = add_name(p, ".shstrtab"),
		.sh_type = SHT_STRTAB,
		.sh_size = p->names_size,
		.sh_offset = take_room(p, p->names_size),
		.sh_addralign = 1,
	};
	p->eh = (Elf64_Ehdr){
		.e_type = ET_DYN,
		.e_machine = seam_elf_machine(p->elf),
		.e_version = EV_CURRENT,
		.e_shoff = take_room(p, sizeof(p->sh)),
		.e_ehsize = sizeof(p->eh),
		.e_shentsize = sizeof(*p->sh),
		.e_shnum = SECTIONS,
		.e_shstrndx = SECTIONS - 1,
	};
	memcpy(p->eh.e_ident, ELFMAG, SELFMAG);
	p->eh.e_ident[EI_CLASS] = ELFCLASS64;
	p->eh.e_ident[EI_DATA] =
		seam_elf_is_le(p->elf) ? ELFDATA2LSB : ELFDATA2MSB;
	p->eh.e_ident[EI_VERSION] = EV_CURRENT;
}

static int write_as(struct plan *p, void *to, void *from, size_t size,
		    Elf_Type type)
{
	Elf_Data in = {.d_buf = from,
		       .d_type = type,
		       .d_version = EV_CURRENT,
		       .d_size = size};
	Elf_Data out = in;

	out.d_buf = to;
	return elf64_xlatetof(&out, &in, p->eh.e_ident[EI_DATA]) ? 0 : -EINVAL;
}

static int fill(struct plan *p, struct seam_source_image *image)
{
	for (size_t i = 0; i < WANTED; i++) {
		struct seam_source_part part = {
			.data = image->bytes + p->sh[i + 1].sh_offset,
			.size = p->sh[i + 1].sh_size,
		};

		if (!p->present[i])
			continue;
		memcpy(image->bytes + p->sh[i + 1].sh_offset,
		       p->contents[i].bytes.data, part.size);
		if (wanted[i].at)
			memcpy((char *)image + wanted[i].at, &part,
			       sizeof(part));
	}
	memcpy(image->bytes + p->sh[SECTIONS - 1].sh_offset, p->names,
	       p->names_size);
	if (write_as(p, image->bytes, &p->eh, sizeof(p->eh), ELF_T_EHDR) ||
	    write_as(p, image->bytes + p->eh.e_shoff, p->sh, sizeof(p->sh),
		     ELF_T_SHDR))
		return -EINVAL;
	return 0;
}

static int begin_dwarf(struct seam_source_image *image)
{
	image->elf = elf_memory((char *)image->bytes, image->size);
	if (!image->elf)
		return -ENOMEM;
	image->dw = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	return image->dw ? 0 : -EINVAL;
}

static int make(struct plan *p, struct seam_source_image *image)
{
	int rc = read_contents(p);

	if (rc)
		return rc;
	lay_out(p);
	image->bytes = calloc(1, p->size);
	if (!image->bytes)
		return -ENOMEM;
	image->size = p->size;
	image->le = seam_elf_is_le(p->elf);
	rc = fill(p, image);
	return rc ? rc : begin_dwarf(image);
}

int seam_source_image_open(const struct seam_elf *elf,
			   struct seam_source_image *ret)
{
	struct seam_source_image image = {0};
	struct plan *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->elf = elf;
	rc = make(p, &image);
	for (size_t i = 0; i < WANTED; i++)
		seam_elf_content_fini(&p->contents[i]);
	free(p);
	if (rc)
		seam_source_image_close(&image);
	else
		*ret = image;
	return rc;
}

void seam_source_image_close(struct seam_source_image *image)
{
	if (image->dw)
		dwarf_end(image->dw);
	if (image->elf)
		elf_end(image->elf);
	free(image->bytes);
	*image = (struct seam_source_image){0};
}
