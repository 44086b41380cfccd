/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Builds an ELF image with one CIE and one FDE, byte by byte, for tests of
 * what no assembler would write.
 */
#ifndef SEAM_TESTS_CFI_IMAGE_H
#define SEAM_TESTS_CFI_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "written.h"

#define IMAGE_SVMA 0x10000 /* of file offset 0 */
#define IMAGE_POINTER_OFF 0x180 /* IMAGE_FUNC lies here, as 8 bytes */
#define IMAGE_CFI_OFF 0x200
#define IMAGE_FUNC 0x11000 /* svma of the function */
#define IMAGE_FUNC_SIZE 0x100
#ifndef IMAGE_MAX
#define IMAGE_MAX 0x4000
#endif

struct image {
	uint8_t bytes[IMAGE_MAX];
	size_t size;
};

/* Zeros mean what a compiler would write; see spec_defaults. */
struct spec {
	const char *aug; /* "zR" */
	struct bytes aug_data; /* { pcrel sdata4 } */
	uint8_t version; /* 1 */
	uint8_t code_align; /* 1 */
	uint8_t data_align; /* -8: 0x78 */
	uint8_t ra; /* 16 */
	struct bytes cie; /* def_cfa r7+8, r16 at cfa-8 */
	struct bytes fde; /* nothing */
	uint8_t fde_enc; /* as in aug_data */
	struct bytes fde_start; /* raw start field, if not of fde_enc */
	uint32_t func_size; /* IMAGE_FUNC_SIZE */
	bool debug_frame, dwarf64;
	uint8_t address_size, segment_size; /* version 4 */
};

static inline void put(struct image *im, uint64_t v, size_t size)
{
	/* Some fields are made wider than any value. */
	for (size_t i = 0; i < size; i++)
		im->bytes[im->size++] = i < 8 ? (uint8_t)(v >> (8 * i)) : 0;
}

static inline void put_bytes(struct image *im, struct bytes b)
{
	if (b.len)
		memcpy(im->bytes + im->size, b.p, b.len);
	im->size += b.len;
}

/* Return: where the length goes. */
static inline size_t begin_entry(struct image *im, bool dwarf64)
{
	if (dwarf64)
		put(im, 0xffffffff, 4);
	put(im, 0, dwarf64 ? 8 : 4);
	return im->size;
}

static inline void end_entry(struct image *im, size_t begin, bool dwarf64)
{
	size_t field = dwarf64 ? 8 : 4;
	uint64_t len = im->size - begin;

	memcpy(im->bytes + begin - field, &len, field);
}

static inline void spec_defaults(struct spec *s)
{
	static const uint8_t enc[] = {0x1b};
	static const uint8_t cie[] = {0x0c, 7, 8, 0x90, 1};

	if (!s->aug) {
		s->aug = s->debug_frame ? "" : "zR";
		s->fde_enc = s->debug_frame ? 0 : 0x1b;
		if (!s->debug_frame)
			s->aug_data = (struct bytes){enc, sizeof(enc)};
	}
	s->version = s->version ?: 1;
	s->code_align = s->code_align ?: 1;
	s->data_align = s->data_align ?: 0x78;
	s->ra = s->ra ?: 16;
	s->func_size = s->func_size ?: IMAGE_FUNC_SIZE;
	s->address_size = s->address_size ?: 8;
	if (!s->cie.p)
		s->cie = (struct bytes){cie, sizeof(cie)};
}

static inline void put_cie(struct image *im, const struct spec *s)
{
	size_t begin = begin_entry(im, s->dwarf64);

	if (s->debug_frame)
		put(im, UINT64_MAX, s->dwarf64 ? 8 : 4);
	else
		put(im, 0, 4);
	put(im, s->version, 1);
	put_bytes(im,
		  (struct bytes){(const uint8_t *)s->aug, strlen(s->aug) + 1});
	if (s->version == 4) {
		put(im, s->address_size, 1);
		put(im, s->segment_size, 1);
	}
	put(im, s->code_align, 1);
	put(im, s->data_align, 1);
	put(im, s->ra, 1);
	if (s->aug[0] == 'z') {
		put(im, s->aug_data.len, 1);
		put_bytes(im, s->aug_data);
	}
	put_bytes(im, s->cie);
	end_entry(im, begin, s->dwarf64);
}

static inline void put_fde(struct image *im, const struct spec *s,
			   uint64_t func)
{
	static const uint8_t sizes[] = {8, 0, 2, 4, 8};
	size_t begin = begin_entry(im, s->dwarf64);
	size_t size = sizes[s->fde_enc & 7];

	if (s->version == 4)
		size = s->address_size;
	if (s->debug_frame)
		put(im, 0, s->dwarf64 ? 8 : 4);
	else
		put(im, im->size - IMAGE_CFI_OFF, 4);
	put(im, 0, s->segment_size);
	if (s->fde_start.p)
		put_bytes(im, s->fde_start);
	else if ((s->fde_enc & 0x70) == 0x10)
		put(im, func - (IMAGE_SVMA + im->size), size);
	else
		put(im, func, size);
	put(im, s->func_size, size);
	if (s->aug[0] == 'z')
		put(im, 0, 1);
	put_bytes(im, s->fde);
	end_entry(im, begin, s->dwarf64);
}

static inline void image_begin(struct image *im)
{
	memset(im, 0, sizeof(*im));
	im->size = IMAGE_CFI_OFF;
}

/* The headers around what lies from IMAGE_CFI_OFF to im->size: up to debug
 * .eh_frame, from there on .debug_frame, either of which may be empty. */
static inline void image_end_two(struct image *im, size_t debug,
				 uint64_t debug_flags)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
	const uint64_t func = IMAGE_FUNC;
	Elf64_Ehdr ehdr = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3,
	};
	Elf64_Phdr phdr = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = IMAGE_SVMA,
		.p_filesz = IMAGE_MAX,
		.p_memsz = IMAGE_MAX,
	};
	Elf64_Shdr shdr[4] = {
		[1] = {.sh_name = 1,
		       .sh_type = SHT_PROGBITS,
		       .sh_flags = SHF_ALLOC,
		       .sh_addr = IMAGE_SVMA + IMAGE_CFI_OFF,
		       .sh_offset = IMAGE_CFI_OFF,
		       .sh_size = debug - IMAGE_CFI_OFF},
		[2] = {.sh_name = 11,
		       .sh_type = SHT_PROGBITS,
		       .sh_flags = debug_flags,
		       .sh_offset = debug,
		       .sh_size = im->size - debug},
		[3] = {.sh_name = 24,
		       .sh_type = SHT_STRTAB,
		       .sh_offset = 0x100,
		       .sh_size = sizeof(names)},
	};

	im->size = (im->size + 7) & ~(size_t)7;
	ehdr.e_shoff = im->size;
	memcpy(im->bytes, &ehdr, sizeof(ehdr));
	memcpy(im->bytes + sizeof(ehdr), &phdr, sizeof(phdr));
	memcpy(im->bytes + 0x100, names, sizeof(names));
	memcpy(im->bytes + IMAGE_POINTER_OFF, &func, sizeof(func));
	memcpy(im->bytes + im->size, shdr, sizeof(shdr));
	im->size = IMAGE_MAX;
}

static inline void image_end(struct image *im, bool debug_frame)
{
	image_end_two(im, debug_frame ? IMAGE_CFI_OFF : im->size, 0);
}

static inline void image_build(struct image *im, const struct spec *spec)
{
	struct spec s = *spec;

	spec_defaults(&s);
	image_begin(im);
	put_cie(im, &s);
	put_fde(im, &s, IMAGE_FUNC);
	image_end(im, s.debug_frame);
}

#endif
