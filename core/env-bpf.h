/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * env.h for clang -target bpf. Tables lie in an arena: address space 1, no
 * bounds checks by the verifier, an unpopulated page reads as zero. Or, where
 * SEAM_TABLE_MAP_SIZE is defined before core is included, at the beginning of
 * a map's value, where the verifier wants to see a bound before each load:
 * the value then has that size, a power of two, and 8 bytes more.
 *
 * The loads cast instead of copying, since the BPF target would split a memcpy
 * of unknown alignment into byte loads; x86-64 and aarch64 load unaligned.
 */
#ifndef SEAM_CORE_ENV_BPF_H
#define SEAM_CORE_ENV_BPF_H

#ifdef SEAM_TABLE_MAP_SIZE
#define SEAM_TABLE
#else
#define SEAM_TABLE __attribute__((address_space(1)))
#endif

/* may_goto: clang 19, Linux 6.9. The verifier ends the loop if it must. */
#define SEAM_LOOP_GUARD                                                        \
	({                                                                     \
		__label__ seam_out, seam_on;                                   \
		asm volatile goto("may_goto %l[seam_out]" : : : : seam_out);   \
		goto seam_on;                                                  \
	seam_out:                                                              \
		break;                                                         \
	seam_on:;                                                              \
	})

/* What was stored is loaded anew: the verifier, which knows not what is in
 * maps, takes up with one state where there were many. */
#define SEAM_FORGET asm volatile("" ::: "memory")

#define SEAM_DEFINE_LOAD(type, name)                                           \
	SEAM_INLINE type name(const void SEAM_TABLE *p)                        \
	{                                                                      \
		return *(const volatile type SEAM_TABLE *)p;                   \
	}
SEAM_DEFINE_LOAD(uint8_t, seam_load_u8)
SEAM_DEFINE_LOAD(uint16_t, seam_load_u16)
SEAM_DEFINE_LOAD(uint32_t, seam_load_u32)
SEAM_DEFINE_LOAD(uint64_t, seam_load_u64)
#undef SEAM_DEFINE_LOAD

SEAM_INLINE uint64_t seam_table_off(uint64_t off)
{
#ifdef SEAM_TABLE_MAP_SIZE
	/* Behind clang's back, which would bound one register and add
	 * another. */
	asm volatile("%0 &= %1" : "+r"(off) : "i"(SEAM_TABLE_MAP_SIZE - 1));
#endif
	return off;
}

/* All ones if the bit is set, else 0. Of what is chosen by this clang makes no
 * branches, and the verifier no states: from Linux 6.18 on it walks on for each
 * of the two, if it sees them. Turned round, which they are equal to, they are
 * any number to it. */
SEAM_INLINE uint64_t seam_mask(uint64_t bit)
{
	uint64_t mask = 0 - bit;

	asm volatile("%0 = be64 %0" : "+r"(mask));
	return mask;
}

/* Is 0, which neither clang nor the verifier knows. */
static volatile uint32_t seam_unknown_zero;

SEAM_INLINE uint32_t seam_unknown(uint32_t v)
{
	return v + seam_unknown_zero;
}

#endif
