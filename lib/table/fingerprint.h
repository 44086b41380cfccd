/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What a table was made from. A build-id is only a claim: tools copy it,
 * --build-id=0x... repeats it. The fingerprint covers all that the converter
 * reads: headers, CFI and symbols; and what is loaded, for rules are derived
 * from code, and from what the dynamic linker is told to call.
 */
#ifndef SEAM_LIB_TABLE_FINGERPRINT_H
#define SEAM_LIB_TABLE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"

struct seam_fingerprint {
	uint64_t file_size;
	uint64_t headers; /* hashes */
	uint64_t segments;
	uint64_t sections; /* that are not loaded */
};

void seam_fingerprint(const struct seam_elf *elf, struct seam_fingerprint *ret);

/* CRC-32 as zlib has it; of any size. */
uint32_t seam_crc32(uint32_t crc, const uint8_t *bytes, size_t size);

#endif
