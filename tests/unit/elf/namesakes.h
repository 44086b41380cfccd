/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A file that says of itself that it has a function time and again. */
#ifndef SEAM_TEST_NAMESAKES_H
#define SEAM_TEST_NAMESAKES_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct namesakes_head {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[3];
	char names[16]; /* the function's is one */
};

/* Its addresses are its offsets. Return: NULL: no memory; it is freed. */
static inline void *namesakes(const char *name, uint64_t svma, size_t n,
			      size_t *ret_size)
{
	struct namesakes_head h = {
		.eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				   ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_DYN,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_ehsize = sizeof(h.eh),
		       .e_phoff = offsetof(struct namesakes_head, ph),
		       .e_phentsize = sizeof(h.ph),
		       .e_phnum = 1,
		       .e_shoff = offsetof(struct namesakes_head, sh),
		       .e_shentsize = sizeof(*h.sh),
		       .e_shnum = 3},
		.ph = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X},
		.sh = {[1] = {.sh_type = SHT_DYNSYM,
			      .sh_flags = SHF_ALLOC,
			      .sh_offset = sizeof(h),
			      .sh_size = (n + 1) * sizeof(Elf64_Sym),
			      .sh_link = 2,
			      .sh_addralign = 8,
			      .sh_entsize = sizeof(Elf64_Sym)},
		       [2] = {.sh_type = SHT_STRTAB,
			      .sh_flags = SHF_ALLOC,
			      .sh_offset =
				      offsetof(struct namesakes_head, names),
			      .sh_size = sizeof(h.names),
			      .sh_addralign = 1}},
	};
	const Elf64_Sym sym = {.st_name = 1,
			       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			       .st_shndx = 1,
			       .st_value = svma};
	size_t size = sizeof(h) + (n + 1) * sizeof(sym);
	uint8_t *image = calloc(1, size);

	if (!image)
		return NULL;
	h.ph.p_filesz = h.ph.p_memsz = size;
	strncpy(h.names + 1, name, sizeof(h.names) - 2);
	memcpy(image, &h, sizeof(h));
	for (size_t i = 1; i <= n; i++)
		memcpy(image + sizeof(h) + i * sizeof(sym), &sym, sizeof(sym));
	*ret_size = size;
	return image;
}

#endif
