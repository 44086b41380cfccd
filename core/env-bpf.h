/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * env.h for clang -target bpf. Tables lie in an arena: address space 1, no
 * bounds checks by the verifier, an unpopulated page reads as zero. The
 * loads cast instead of copying, since the BPF target would split a memcpy
 * of unknown alignment into byte loads; x86-64 and aarch64 load unaligned.
 */
#ifndef SEAM_CORE_ENV_BPF_H
#define SEAM_CORE_ENV_BPF_H

#define SEAM_TABLE __attribute__((address_space(1)))

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

#endif
