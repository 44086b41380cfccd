// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Source: the ELF gABI, "Note Section". */
#include <stdio.h>
#include <string.h>

#include "elf/private.h"

static uint32_t note_word(const struct seam_elf *elf, const uint8_t *p)
{
	return (uint32_t)seam_elf_load(elf, p, 4);
}

static size_t find_build_id(const struct seam_elf *elf, const uint8_t *p,
			    size_t size, uint32_t align,
			    uint8_t ret_id[SEAM_BUILD_ID_MAX])
{
	uint64_t name_len, desc_len, desc, next;

	while (size >= 12) {
		name_len = note_word(elf, p);
		desc_len = note_word(elf, p + 4);
		desc = (12 + name_len + align - 1) & -(uint64_t)align;
		next = (desc + desc_len + align - 1) & -(uint64_t)align;
		if (desc > size || desc_len > size - desc)
			return 0;
		/* Longer ids than the kernel's own limit do not match anything
		 * that the kernel reports. */
		if (note_word(elf, p + 8) == NT_GNU_BUILD_ID && name_len == 4 &&
		    !memcmp(p + 12, "GNU", 4) && desc_len > 0 &&
		    desc_len <= SEAM_BUILD_ID_MAX) {
			memcpy(ret_id, p + desc, desc_len);
			return desc_len;
		}
		if (next >= size)
			return 0;
		p += next;
		size -= next;
	}
	return 0;
}

size_t seam_elf_build_id(const struct seam_elf *elf,
			 uint8_t ret_id[SEAM_BUILD_ID_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < elf->num_notes && !len; i++) {
		const struct seam_elf_note *n = &elf->notes[i];

		if (seam_elf_has(elf, n->off, n->size))
			len = find_build_id(elf, elf->bytes + n->off, n->size,
					    n->align, ret_id);
	}
	/* Notes in sections are 4-aligned, except for the 8-aligned property
	 * note, which has a section of its own. */
	for (size_t i = 0; i < elf->num_sections && !len; i++) {
		const struct seam_elf_shdr *s = &elf->sections[i];

		if (s->type == SHT_NOTE && s->has_bytes &&
		    !(s->flags & SHF_COMPRESSED))
			len = find_build_id(elf, s->bytes.data, s->bytes.size,
					    4, ret_id);
	}
	return len;
}

size_t seam_notes_build_id(const uint8_t *notes, size_t size,
			   uint8_t ret_id[SEAM_BUILD_ID_MAX])
{
	const struct seam_elf own = {.ehdr.e_ident[EI_DATA] = ELFDATA2LSB};

	return find_build_id(&own, notes, size, 4, ret_id);
}

size_t seam_own_build_id(uint8_t ret_id[SEAM_BUILD_ID_MAX])
{
	uint8_t notes[4096];
	FILE *f = fopen("/sys/kernel/notes", "re");
	size_t len = f ? fread(notes, 1, sizeof(notes), f) : 0;

	if (f)
		fclose(f);
	return seam_notes_build_id(notes, len, ret_id);
}
