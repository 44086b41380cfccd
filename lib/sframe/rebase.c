// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/rebase.h"

#include <errno.h>
#include <string.h>

#include "core/sframe-section.h"

int seam_sframe_rebase(uint8_t *bytes, size_t size, uint64_t from, uint64_t to)
{
	struct seam_sframe sf;

	if (seam_sframe_open(&sf, bytes, size) || sf.version != SEAM_SFRAME_V3)
		return -EINVAL;
	/* With the flag or without, starts count from what moves. */
	for (uint32_t i = 0; i < sf.num_fdes; i++) {
		uint64_t at = sf.fdes + (uint64_t)i * sf.fde_size;
		uint64_t start = seam_sframe_u64(&sf, at) + from - to;

		if (sf.is_swapped)
			start = __builtin_bswap64(start);
		memcpy(bytes + at, &start, sizeof(start));
	}
	return 0;
}
