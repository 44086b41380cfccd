/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Makes small ELF images in memory: program headers, one CIE for plain and
 * one for signal functions, FDEs with any instructions, and symbols.
 */
#ifndef SEAM_TESTS_TABLE_IMAGE_H
#define SEAM_TESTS_TABLE_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define IMAGE_SIZE 0x8000
#define IMAGE_SVMA 0x40000 /* of file offset 0 */
#define IMAGE_EH 0x4000 /* file offsets */
#define IMAGE_SYMTAB 0x6000
#define IMAGE_NAMES 0x7000
#define IMAGE_SHDRS 0x7800

struct image {
	uint8_t bytes[IMAGE_SIZE];
	size_t eh_size, symtab_size;
	size_t plain_cie, signal_cie; /* offsets in .eh_frame */
};

static inline Elf64_Ehdr *image_ehdr(struct image *im)
{
	return (Elf64_Ehdr *)im->bytes;
}

static inline void image_put(struct image *im, uint64_t v, size_t size)
{
	memcpy(im->bytes + IMAGE_EH + im->eh_size, &v, size);
	im->eh_size += size;
}

static inline size_t image_cie(struct image *im, const char *aug)
{
	/* code 1, data -8, RA 16, pcrel sdata4, CFA = rsp + 8, RA saved */
	static const uint8_t rest[] = {1, 0x78, 16, 1, 0x1b, 12, 7, 8, 0x90, 1};
	size_t at = im->eh_size, len = strlen(aug) + 1;

	image_put(im, 4 + 1 + len + sizeof(rest), 4);
	image_put(im, 0, 4);
	image_put(im, 1, 1);
	memcpy(im->bytes + IMAGE_EH + im->eh_size, aug, len);
	im->eh_size += len;
	memcpy(im->bytes + IMAGE_EH + im->eh_size, rest, sizeof(rest));
	im->eh_size += sizeof(rest);
	return at;
}

static inline void image_segment(struct image *im, uint64_t off, uint64_t svma,
				 uint64_t size, uint32_t flags)
{
	Elf64_Ehdr *eh = image_ehdr(im);
	Elf64_Phdr ph = {.p_type = PT_LOAD,
			 .p_flags = flags,
			 .p_offset = off,
			 .p_vaddr = svma,
			 .p_filesz = size,
			 .p_memsz = size};

	memcpy(im->bytes + sizeof(*eh) + eh->e_phnum++ * sizeof(ph), &ph,
	       sizeof(ph));
}

static inline void image_init(struct image *im, uint16_t type, uint64_t entry)
{
	memset(im, 0, sizeof(*im));
	*image_ehdr(im) = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = type,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = entry,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = IMAGE_SHDRS,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3,
	};
	im->plain_cie = image_cie(im, "zR");
	im->signal_cie = image_cie(im, "zRS");
	im->symtab_size = sizeof(Elf64_Sym);
}

static inline void image_fde(struct image *im, uint64_t svma, uint32_t size,
			     bool signal, const uint8_t *ops, size_t len)
{
	size_t cie = signal ? im->signal_cie : im->plain_cie;

	image_put(im, 4 + 4 + 4 + 1 + len, 4);
	image_put(im, im->eh_size - cie, 4);
	image_put(im, svma - (IMAGE_SVMA + IMAGE_EH + im->eh_size), 4);
	image_put(im, size, 4);
	image_put(im, 0, 1);
	if (len)
		memcpy(im->bytes + IMAGE_EH + im->eh_size, ops, len);
	im->eh_size += len;
}

static inline void image_symbol(struct image *im, uint64_t svma)
{
	Elf64_Sym sym = {.st_info = STT_FUNC, .st_shndx = 1, .st_value = svma};

	memcpy(im->bytes + IMAGE_SYMTAB + im->symtab_size, &sym, sizeof(sym));
	im->symtab_size += sizeof(sym);
}

static inline void image_finish(struct image *im)
{
	static const char names[] = "\0.eh_frame\0.symtab\0.shstrtab";
	const Elf64_Shdr sh[4] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC,
		 .sh_addr = IMAGE_SVMA + IMAGE_EH,
		 .sh_offset = IMAGE_EH,
		 .sh_size = im->eh_size},
		{.sh_name = 11,
		 .sh_type = SHT_SYMTAB,
		 .sh_offset = IMAGE_SYMTAB,
		 .sh_size = im->symtab_size,
		 .sh_link = 3,
		 .sh_entsize = sizeof(Elf64_Sym)},
		{.sh_name = 19,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = IMAGE_NAMES,
		 .sh_size = sizeof(names)},
	};

	memcpy(im->bytes + IMAGE_NAMES, names, sizeof(names));
	memcpy(im->bytes + IMAGE_SHDRS, sh, sizeof(sh));
}

#endif
