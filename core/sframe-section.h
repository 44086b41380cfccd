/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * An SFrame section of version 1, 2 or 3 in either byte order: its header and
 * its functions. sframe-row.h reads their rows, sframe-read.h finds the one
 * for a pc. Nothing is copied, allocated or trusted: every offset is compared
 * with the section's size before it is read through, so that hostile bytes
 * cost a wrong answer at most.
 *
 * Addresses are in the space of the section: the distance from its first
 * byte, which is below 0, and wraps, where text lies in front of it. For a
 * section at svma S, the pc is svma - S.
 */
#ifndef SEAM_CORE_SFRAME_SECTION_H
#define SEAM_CORE_SFRAME_SECTION_H

#include "core/arch.h"
#include "core/env.h"
#include "core/err.h"
#include "core/sframe-format.h"

/* Where a section lies in memory that is no table of ours, includers say
 * before what base is to them, and how to load bits from an offset. */
#ifndef SEAM_SFRAME_LOAD
#define SEAM_SFRAME_BASE const uint8_t SEAM_TABLE *
#define SEAM_SFRAME_LOAD(sf, bits, at)                                         \
	seam_load_u##bits((sf)->base + seam_table_off(at))
#endif

/* Plain data. What differs between versions is looked up once, when the
 * section is opened. */
struct seam_sframe {
	SEAM_SFRAME_BASE base; /* the header; borrowed */
	uint32_t fdes; /* offset of the first index entry from base */
	uint32_t num_fdes;
	uint32_t num_fres; /* what the header says; nothing depends on it */
	uint32_t fres; /* offset of the FRE sub-section from base */
	uint32_t end; /* offset of its end */
	uint8_t version, flags, abi;
	int8_t fixed_fp_off; /* 0: FP is in no fixed place */
	int8_t fixed_ra_off;
	uint8_t arch; /* enum seam_arch */
	uint8_t sp, fp; /* numbers of the ABI's registers */
	uint8_t fde_size;
	bool is_swapped; /* the byte order is not this machine's */
	bool is_sorted; /* by start, as the flags say */
	uint64_t anchor; /* all ones: starts count from their own field */
};

/* A function. */
struct seam_sframe_func {
	uint64_t start; /* section space */
	uint32_t size;
	uint32_t at; /* offset of its index entry from base */
	uint32_t rows; /* offset of the first row from base */
	uint32_t num_rows;
	/* As in V3; what older versions do not have is 0. */
	uint8_t info; /* SEAM_SFRAME_INFO_* */
	uint8_t info2; /* SEAM_SFRAME_FDE_* */
	uint8_t rep_size; /* of blocks, if info has SEAM_SFRAME_INFO_PCMASK */
};

/* An integer at an offset from base, which the caller has compared with the
 * section's size. */
SEAM_INLINE uint8_t seam_sframe_u8(const struct seam_sframe *sf, uint64_t at)
{
	return SEAM_SFRAME_LOAD(sf, 8, at);
}

SEAM_INLINE uint16_t seam_sframe_u16(const struct seam_sframe *sf, uint64_t at)
{
	uint16_t v = SEAM_SFRAME_LOAD(sf, 16, at);

	return sf->is_swapped ? __builtin_bswap16(v) : v;
}

SEAM_INLINE uint32_t seam_sframe_u32(const struct seam_sframe *sf, uint64_t at)
{
	uint32_t v = SEAM_SFRAME_LOAD(sf, 32, at);

	return sf->is_swapped ? __builtin_bswap32(v) : v;
}

SEAM_INLINE uint64_t seam_sframe_u64(const struct seam_sframe *sf, uint64_t at)
{
	uint64_t v = SEAM_SFRAME_LOAD(sf, 64, at);

	return sf->is_swapped ? __builtin_bswap64(v) : v;
}

/* The header flags that a version defines. */
SEAM_INLINE uint8_t seam_sframe_known_flags(uint8_t version)
{
	if (version == SEAM_SFRAME_V1)
		return SEAM_SFRAME_F_SORTED | SEAM_SFRAME_F_FRAME_POINTER;
	if (version == SEAM_SFRAME_V2)
		return SEAM_SFRAME_F_SORTED | SEAM_SFRAME_F_FRAME_POINTER |
		       SEAM_SFRAME_F_PCREL;
	return SEAM_SFRAME_F_SORTED | SEAM_SFRAME_F_PCREL;
}

SEAM_INLINE uint8_t seam_sframe_fde_size(uint8_t version)
{
	return version == SEAM_SFRAME_V1   ? SEAM_SFRAME_FDE1_SIZE
	       : version == SEAM_SFRAME_V2 ? SEAM_SFRAME_FDE2_SIZE
					   : sizeof(struct seam_sframe_fde3);
}

/* Magic, version, flags and ABI; these are single bytes but for the magic. */
SEAM_INLINE int seam_sframe_open_kind(struct seam_sframe *sf)
{
	bool is_big = SEAM_SFRAME_LOAD(sf, 8, 0) == SEAM_SFRAME_MAGIC >> 8;

	sf->is_swapped = SEAM_SFRAME_LOAD(sf, 16, 0) != SEAM_SFRAME_MAGIC;
	if (seam_sframe_u16(sf, 0) != SEAM_SFRAME_MAGIC)
		return SEAM_SFRAME_MAGIC_BAD;
	sf->version = seam_sframe_u8(sf, 2);
	sf->flags = seam_sframe_u8(sf, 3);
	sf->abi = seam_sframe_u8(sf, 4);
	if (sf->version < SEAM_SFRAME_V1 || sf->version > SEAM_SFRAME_V3)
		return SEAM_SFRAME_VERSION;
	if (sf->flags & ~seam_sframe_known_flags(sf->version))
		return SEAM_SFRAME_FLAGS;
	sf->fixed_fp_off = (int8_t)seam_sframe_u8(sf, 5);
	sf->fixed_ra_off = (int8_t)seam_sframe_u8(sf, 6);
	sf->arch = (uint8_t)seam_abi_arch(sf->abi);
	if (!sf->arch || seam_abi_is_big(sf->abi) != is_big ||
	    (sf->version == SEAM_SFRAME_V1 && sf->arch == SEAM_ARCH_S390X))
		return SEAM_SFRAME_ABI;
	/* amd64 has no register that a return address could be left in. */
	if (sf->arch == SEAM_ARCH_AMD64 && !sf->fixed_ra_off)
		return SEAM_SFRAME_ABI;
	sf->sp = seam_arch_sp((enum seam_arch)sf->arch);
	sf->fp = seam_arch_fp((enum seam_arch)sf->arch);
	sf->fde_size = seam_sframe_fde_size(sf->version);
	sf->is_sorted = sf->flags & SEAM_SFRAME_F_SORTED;
	sf->anchor = sf->flags & SEAM_SFRAME_F_PCREL ? ~0ULL : 0;
	return SEAM_OK;
}

/*
 * Checks the header and where its parts lie. size: of all that may be read
 * from base on; bytes behind the section are ignored.
 * Return: 0 or one of SEAM_SFRAME_*.
 */
SEAM_INLINE int seam_sframe_open(struct seam_sframe *sf, SEAM_SFRAME_BASE base,
				 uint64_t size)
{
	uint64_t fdes, fres, end;
	int err;

	*sf = (struct seam_sframe){0};
	if (size < sizeof(struct seam_sframe_header))
		return SEAM_SFRAME_SHORT;
	sf->base = base;
	err = seam_sframe_open_kind(sf);
	if (err)
		return err;
	sf->num_fdes = seam_sframe_u32(sf, 8);
	sf->num_fres = seam_sframe_u32(sf, 12);
	/* What an auxiliary header holds nobody knows: it is skipped. */
	fdes = sizeof(struct seam_sframe_header) + seam_sframe_u8(sf, 7);
	fres = fdes + seam_sframe_u32(sf, 24);
	fdes += seam_sframe_u32(sf, 20);
	end = fres + seam_sframe_u32(sf, 16);
	if (fdes + (uint64_t)sf->num_fdes * sf->fde_size > fres || end > size ||
	    end > UINT32_MAX)
		return SEAM_SFRAME_LAYOUT;
	sf->fdes = (uint32_t)fdes;
	sf->fres = (uint32_t)fres;
	sf->end = (uint32_t)end;
	return SEAM_OK;
}

/*
 * Says that the section is of a relocatable file and its relocations have been
 * applied: they make starts relative to themselves in V1 and V2 as well,
 * where no flag says so.
 */
SEAM_INLINE void seam_sframe_set_relocatable(struct seam_sframe *sf)
{
	sf->anchor = ~0ULL;
}

/* The start of function i, below num_fdes. */
SEAM_INLINE uint64_t seam_sframe_start(const struct seam_sframe *sf, uint32_t i)
{
	uint64_t field = sf->fdes + (uint64_t)i * sf->fde_size;
	uint64_t off;

	if (sf->version == SEAM_SFRAME_V3)
		off = seam_sframe_u64(sf, field);
	else
		off = (uint64_t)(int32_t)seam_sframe_u32(sf, field);
	return (field & sf->anchor) + off;
}

/* V1 and V2: all is in the index entry. */
SEAM_INLINE int seam_sframe_func_old(const struct seam_sframe *sf,
				     uint64_t field,
				     struct seam_sframe_func *ret)
{
	uint64_t rows = (uint64_t)sf->fres +
			seam_sframe_u32(sf, field + SEAM_SFRAME_FDE_FRE_OFF);

	if (rows > sf->end)
		return SEAM_SFRAME_FUNC;
	ret->rows = (uint32_t)rows;
	ret->size = seam_sframe_u32(sf, field + SEAM_SFRAME_FDE_FUNC_SIZE);
	ret->num_rows = seam_sframe_u32(sf, field + SEAM_SFRAME_FDE_NUM_FRES);
	ret->info = seam_sframe_u8(sf, field + SEAM_SFRAME_FDE_INFO) &
		    (uint8_t)~SEAM_SFRAME_INFO_SIGNAL;
	ret->info2 = SEAM_SFRAME_FDE_DEFAULT;
	ret->rep_size = 0;
	if (sf->version == SEAM_SFRAME_V2)
		ret->rep_size =
			seam_sframe_u8(sf, field + SEAM_SFRAME_FDE_REP_SIZE);
	return SEAM_OK;
}

/* V3: an index entry, and attributes in front of the rows. */
SEAM_INLINE int seam_sframe_func_v3(const struct seam_sframe *sf,
				    uint64_t field,
				    struct seam_sframe_func *ret)
{
	uint64_t attr = (uint64_t)sf->fres + seam_sframe_u32(sf, field + 12);

	if (attr + SEAM_SFRAME_ATTR_SIZE > sf->end)
		return SEAM_SFRAME_FUNC;
	ret->rows = (uint32_t)(attr + SEAM_SFRAME_ATTR_SIZE);
	ret->size = seam_sframe_u32(sf, field + 8);
	ret->num_rows = seam_sframe_u16(sf, attr);
	ret->info = seam_sframe_u8(sf, attr + SEAM_SFRAME_ATTR_INFO);
	ret->info2 = seam_sframe_u8(sf, attr + SEAM_SFRAME_ATTR_INFO2);
	ret->rep_size = seam_sframe_u8(sf, attr + SEAM_SFRAME_ATTR_REP_SIZE);
	return SEAM_OK;
}

/*
 * Reads function i, below num_fdes.
 * Return: 0; SEAM_SFRAME_FUNC if it does not lie in the section, or its rows
 * cannot be read.
 */
SEAM_INLINE int seam_sframe_func_at(const struct seam_sframe *sf, uint32_t i,
				    struct seam_sframe_func *ret)
{
	uint64_t field = sf->fdes + (uint64_t)i * sf->fde_size;
	int err;

	err = sf->version == SEAM_SFRAME_V3
		      ? seam_sframe_func_v3(sf, field, ret)
		      : seam_sframe_func_old(sf, field, ret);
	if (err)
		return err;
	ret->start = seam_sframe_start(sf, i);
	ret->at = (uint32_t)field;
	if ((ret->info & SEAM_SFRAME_INFO_FRE_TYPE) > 2)
		return SEAM_SFRAME_FUNC;
	return SEAM_OK;
}

#endif
