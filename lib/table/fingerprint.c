// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table/fingerprint.h"

#include <string.h>
#include <zlib.h>

uint32_t seam_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
	return (uint32_t)crc32_z(crc, bytes, size);
}

void seam_fingerprint(const struct seam_elf *elf, struct seam_fingerprint *ret)
{
	const struct seam_elf_segment *segments;
	struct seam_elf_section section;
	size_t count, size;

	memset(ret, 0, sizeof(*ret));
	ret->entry = seam_elf_entry(elf);
	seam_elf_bytes(elf, &size);
	ret->file_size = size;
	segments = seam_elf_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		const uint64_t v[] = {segments[i].svma, segments[i].off,
				      segments[i].filesz, segments[i].memsz,
				      segments[i].flags};

		ret->segments_crc = seam_crc32(ret->segments_crc,
					       (const uint8_t *)v, sizeof(v));
	}
	if (seam_elf_section(elf, ".eh_frame", &section) &&
	    seam_elf_section(elf, ".debug_frame", &section))
		return;
	ret->cfi_size = section.size;
	ret->cfi_crc = seam_crc32(0, section.data, section.size);
}
