/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The SFrame format as it lies in memory: constants and structures only.
 * All integers are in the target's byte order. Nothing is aligned: a reader
 * loads through env.h, never by a cast to these structures.
 * Source: "The SFrame Format", versions 1 to 3, binutils 2.40 to 2.47.
 */
#ifndef SEAM_CORE_SFRAME_FORMAT_H
#define SEAM_CORE_SFRAME_FORMAT_H

#include <stdint.h>

#define SEAM_SFRAME_MAGIC 0xdee2
#define SEAM_SFRAME_V1 1 /* binutils 2.40 */
#define SEAM_SFRAME_V2 2 /* 2.41 to 2.45 */
#define SEAM_SFRAME_V3 3 /* from 2.46 on */

#define SEAM_SFRAME_F_SORTED 0x1
#define SEAM_SFRAME_F_FRAME_POINTER 0x2 /* V1 and V2 only */
#define SEAM_SFRAME_F_PCREL 0x4 /* not in V1 */

#define SEAM_SFRAME_ABI_AARCH64_BE 1
#define SEAM_SFRAME_ABI_AARCH64_LE 2
#define SEAM_SFRAME_ABI_AMD64 3
#define SEAM_SFRAME_ABI_S390X 4

struct seam_sframe_header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint8_t abi;
	int8_t fixed_fp_off; /* 0: FP is not at a fixed place */
	int8_t fixed_ra_off; /* amd64: -8 */
	uint8_t auxhdr_len;
	uint32_t num_fdes;
	uint32_t num_fres;
	uint32_t fre_len;
	uint32_t fdeoff; /* from the end of the header, aux included */
	uint32_t freoff; /* likewise */
};
_Static_assert(sizeof(struct seam_sframe_header) == 28, "SFrame header");

/*
 * V1 and V2 index entries: start s32, size u32, offset of the rows u32, their
 * number u32, info u8; in V2 then rep_size u8 and two bytes of 0.
 */
#define SEAM_SFRAME_FDE1_SIZE 17
#define SEAM_SFRAME_FDE2_SIZE 20
#define SEAM_SFRAME_FDE_FUNC_SIZE 4
#define SEAM_SFRAME_FDE_FRE_OFF 8
#define SEAM_SFRAME_FDE_NUM_FRES 12
#define SEAM_SFRAME_FDE_INFO 16
#define SEAM_SFRAME_FDE_REP_SIZE 17
#define SEAM_SFRAME_FDE_PADDING 18

/* V3 index entry. The start is relative to the entry's own address. */
struct seam_sframe_fde3 {
	int64_t start_off;
	uint32_t size;
	uint32_t fre_off;
};
_Static_assert(sizeof(struct seam_sframe_fde3) == 16, "SFrame V3 FDE");

/* V3 attributes: 5 unaligned bytes at fre_off, its rows follow. */
#define SEAM_SFRAME_ATTR_SIZE 5
#define SEAM_SFRAME_ATTR_NUM_FRES 0 /* u16 */
#define SEAM_SFRAME_ATTR_INFO 2
#define SEAM_SFRAME_ATTR_INFO2 3
#define SEAM_SFRAME_ATTR_REP_SIZE 4

/* function info, in V3 an attribute */
#define SEAM_SFRAME_INFO_FRE_TYPE 0x0f /* 0, 1, 2: start is 1, 2, 4 bytes */
#define SEAM_SFRAME_INFO_PCMASK 0x10
#define SEAM_SFRAME_INFO_PAUTH_B 0x20 /* aarch64: key B, else A */
#define SEAM_SFRAME_INFO_UNUSED 0x40
#define SEAM_SFRAME_INFO_SIGNAL 0x80 /* V3 only */

/* attribute info2: the FDE type */
#define SEAM_SFRAME_FDE_TYPE 0x1f
#define SEAM_SFRAME_FDE_DEFAULT 0
#define SEAM_SFRAME_FDE_FLEX 1
/*
 * Seam's own, in the kernel's copy of a table only, never in a file: a FLEX
 * row with one more signed word, last, that is added to the dereferenced
 * CFA: CFA = *(reg + off) + add. OpenSSL's assembly is full of it.
 */
#define SEAM_SFRAME_FDE_FLEX_ADD 31

/* FRE info */
#define SEAM_SFRAME_FRE_BASE_SP 0x01
#define SEAM_SFRAME_FRE_COUNT(info) (((info) >> 1) & 0xf)
#define SEAM_SFRAME_FRE_SIZE(info) (((info) >> 5) & 0x3)
#define SEAM_SFRAME_FRE_MANGLED 0x80

/* FLEX control word */
#define SEAM_SFRAME_FLEX_REG 0x1
#define SEAM_SFRAME_FLEX_DEREF 0x2
#define SEAM_SFRAME_FLEX_UNUSED 0x4
#define SEAM_SFRAME_FLEX_REGNUM(control) ((control) >> 3)

#define SEAM_SFRAME_MAX_WORDS 15

/* s390x: a CFA's word is (offset - 160) / 8. In V2 an odd word of RA or FP is
 * a register's number, times two and one. */
#define SEAM_SFRAME_S390X_CFA_ADJUST 160
#define SEAM_SFRAME_S390X_CFA_SCALE 8

#endif
