// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/rebase.h"

#include <errno.h>
#include <string.h>

#include "core/sframe-section.h"

/* With the flag that starts count from themselves or without, they count from
 * what moves. */
static void move_start64(const struct seam_sframe *sf, uint8_t *bytes,
			 uint64_t at, uint64_t by)
{
	uint64_t start = seam_sframe_u64(sf, at) - by;

	if (sf->is_swapped)
		start = __builtin_bswap64(start);
	memcpy(bytes + at, &start, sizeof(start));
}

static int64_t start32(const struct seam_sframe *sf, uint64_t at)
{
	return (int32_t)seam_sframe_u32(sf, at);
}

static bool fits_start32(const struct seam_sframe *sf, uint64_t at, uint64_t by)
{
	int64_t start = (int64_t)((uint64_t)start32(sf, at) - by);

	return start == (int32_t)start;
}

static void move_start32(const struct seam_sframe *sf, uint8_t *bytes,
			 uint64_t at, uint64_t by)
{
	uint32_t start = (uint32_t)start32(sf, at) - (uint32_t)by;

	if (sf->is_swapped)
		start = __builtin_bswap32(start);
	memcpy(bytes + at, &start, sizeof(start));
}

int seam_sframe_rebase(uint8_t *bytes, size_t size, uint64_t from, uint64_t to)
{
	struct seam_sframe sf;
	bool is_v2;

	if (seam_sframe_open(&sf, bytes, size))
		return -EINVAL;
	is_v2 = sf.version == SEAM_SFRAME_V2;
	if (!is_v2 && sf.version != SEAM_SFRAME_V3)
		return -EINVAL;
	for (uint32_t i = 0; is_v2 && i < sf.num_fdes; i++)
		if (!fits_start32(&sf, sf.fdes + (uint64_t)i * sf.fde_size,
				  to - from))
			return -EFBIG;
	for (uint32_t i = 0; i < sf.num_fdes; i++) {
		uint64_t at = sf.fdes + (uint64_t)i * sf.fde_size;

		if (is_v2)
			move_start32(&sf, bytes, at, to - from);
		else
			move_start64(&sf, bytes, at, to - from);
	}
	return 0;
}
