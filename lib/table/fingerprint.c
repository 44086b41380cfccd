// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/fingerprint.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>

uint32_t seam_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
	return (uint32_t)crc32_z(crc, bytes, size);
}

static bool add_section(const struct seam_elf *elf, const char *name,
			struct seam_fingerprint *f)
{
	struct seam_elf_section section;

	if (seam_elf_section(elf, name, &section))
		return false;
	f->cfi_size += section.size;
	f->cfi_crc = seam_crc32(f->cfi_crc, section.data, section.size);
	return true;
}

void seam_fingerprint(const struct seam_elf *elf, struct seam_fingerprint *ret)
{
	const struct seam_elf_segment *segments;
	const uint8_t *bytes;
	size_t count, size;

	memset(ret, 0, sizeof(*ret));
	bytes = seam_elf_bytes(elf, &size);
	ret->entry = seam_elf_entry(elf);
	ret->file_size = size;
	segments = seam_elf_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		const uint64_t v[] = {segments[i].svma, segments[i].off,
				      segments[i].filesz, segments[i].memsz,
				      segments[i].flags};

		ret->segments_crc = seam_crc32(ret->segments_crc,
					       (const uint8_t *)v, sizeof(v));
	}
	add_section(elf, ".debug_frame", ret);
	/* Without section headers the CFI is found in another way. */
	if (!add_section(elf, ".eh_frame", ret) && !ret->cfi_size)
		ret->cfi_crc = seam_crc32(0, bytes, size);
}
