/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* env.h for gcc and clang, native. */
#ifndef SEAM_CORE_ENV_USER_H
#define SEAM_CORE_ENV_USER_H

#define SEAM_TABLE
#define SEAM_LOOP_GUARD                                                        \
	do {                                                                   \
	} while (0)

#define SEAM_FORGET                                                            \
	do {                                                                   \
	} while (0)

#define SEAM_DEFINE_LOAD(type, name)                                           \
	SEAM_INLINE type name(const void *p)                                   \
	{                                                                      \
		type v;                                                        \
		__builtin_memcpy(&v, p, sizeof(v));                            \
		return v;                                                      \
	}
SEAM_DEFINE_LOAD(uint8_t, seam_load_u8)
SEAM_DEFINE_LOAD(uint16_t, seam_load_u16)
SEAM_DEFINE_LOAD(uint32_t, seam_load_u32)
SEAM_DEFINE_LOAD(uint64_t, seam_load_u64)
#undef SEAM_DEFINE_LOAD

SEAM_INLINE uint64_t seam_table_off(uint64_t off)
{
	return off;
}

SEAM_INLINE uint64_t seam_mask(uint64_t bit)
{
	return 0 - bit;
}

SEAM_INLINE uint32_t seam_unknown(uint32_t v)
{
	return v;
}

#endif
