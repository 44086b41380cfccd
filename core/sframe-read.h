/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Reads SFrame V3: from a section's bytes and a pc to the rule that holds
 * there. Nothing is copied, allocated or trusted: every offset is compared
 * with the section's size before it is read through, so that hostile bytes
 * cost a wrong answer at most.
 *
 * pc is in the space of the section: its distance from the section's first
 * byte. For a section at svma S, pass svma - S.
 *
 *	struct seam_sframe sf;
 *	struct seam_rule rule;
 *	int err = seam_sframe_open(&sf, bytes, size);
 *	if (!err)
 *		err = seam_sframe_find(&sf, pc, &rule);
 */
#ifndef SEAM_CORE_SFRAME_READ_H
#define SEAM_CORE_SFRAME_READ_H

#include "core/arch.h"
#include "core/env.h"
#include "core/err.h"
#include "core/rule.h"
#include "core/sframe-format.h"

struct seam_sframe {
	const uint8_t SEAM_TABLE *base; /* the header; borrowed */
	uint32_t fdes; /* offset of the first index entry from base */
	uint32_t num_fdes;
	uint32_t fres; /* offset of the FRE sub-section from base */
	uint32_t end; /* offset of its end */
	int8_t fixed_fp_off;
	int8_t fixed_ra_off;
};

/* A function found in the index. */
struct seam_sframe_func {
	uint64_t start; /* section space */
	uint32_t size;
	uint32_t rows; /* offset of the first row from base */
	uint16_t num_rows;
	uint8_t info, info2, rep_size;
};

/*
 * Checks the header and where its parts lie.
 * Return: 0 or one of SEAM_SFRAME_*.
 */
SEAM_INLINE int seam_sframe_open(struct seam_sframe *sf,
				 const uint8_t SEAM_TABLE *base, uint64_t size)
{
	uint64_t fdes, fres, end;
	uint32_t num_fdes;

	*sf = (struct seam_sframe){0};
	if (size < sizeof(struct seam_sframe_header))
		return SEAM_SFRAME_SHORT;
	if (seam_load_u16(base) != SEAM_SFRAME_MAGIC)
		return SEAM_SFRAME_MAGIC_BAD;
	if (seam_load_u8(base + 2) != SEAM_SFRAME_V3)
		return SEAM_SFRAME_VERSION;
	if (seam_load_u8(base + 3) !=
	    (SEAM_SFRAME_F_SORTED | SEAM_SFRAME_F_PCREL))
		return SEAM_SFRAME_FLAGS;
	if (!seam_abi_known(seam_load_u8(base + 4)))
		return SEAM_SFRAME_ABI;
	num_fdes = seam_load_u32(base + 8);
	fdes = sizeof(struct seam_sframe_header) + seam_load_u8(base + 7);
	fres = fdes + seam_load_u32(base + 24);
	fdes += seam_load_u32(base + 20);
	end = fres + seam_load_u32(base + 16);
	if (fdes + (uint64_t)num_fdes * sizeof(struct seam_sframe_fde3) >
		    fres ||
	    end > size || end > UINT32_MAX)
		return SEAM_SFRAME_LAYOUT;
	sf->base = base;
	sf->fdes = (uint32_t)fdes;
	sf->num_fdes = num_fdes;
	sf->fres = (uint32_t)fres;
	sf->end = (uint32_t)end;
	sf->fixed_fp_off = (int8_t)seam_load_u8(base + 5);
	sf->fixed_ra_off = (int8_t)seam_load_u8(base + 6);
	return SEAM_OK;
}

/* The start of function i: its field holds the distance from itself. */
SEAM_INLINE uint64_t seam_sframe_start(const struct seam_sframe *sf, uint32_t i)
{
	uint64_t field =
		sf->fdes + (uint64_t)i * sizeof(struct seam_sframe_fde3);

	return field + seam_load_u64(sf->base + field);
}

/*
 * The last function that starts at or before pc.
 * Return: its index, or num_fdes if there is none.
 */
SEAM_INLINE uint32_t seam_sframe_search(const struct seam_sframe *sf,
					uint64_t pc)
{
	uint32_t lo = 0, hi = sf->num_fdes;

	/* hi - lo halves: at most 32 rounds. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		SEAM_LOOP_GUARD;
		if (seam_sframe_start(sf, mid) <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : sf->num_fdes;
}

/* Reads index entry i and its attributes. Return: 0 or SEAM_SFRAME_FUNC. */
SEAM_INLINE int seam_sframe_func_at(const struct seam_sframe *sf, uint32_t i,
				    struct seam_sframe_func *ret)
{
	uint64_t field =
		sf->fdes + (uint64_t)i * sizeof(struct seam_sframe_fde3);
	uint64_t attr =
		(uint64_t)sf->fres + seam_load_u32(sf->base + field + 12);

	if (attr + SEAM_SFRAME_ATTR_SIZE > sf->end)
		return SEAM_SFRAME_FUNC;
	ret->start = seam_sframe_start(sf, i);
	ret->size = seam_load_u32(sf->base + field + 8);
	ret->num_rows = seam_load_u16(sf->base + attr);
	ret->info = seam_load_u8(sf->base + attr + SEAM_SFRAME_ATTR_INFO);
	ret->info2 = seam_load_u8(sf->base + attr + SEAM_SFRAME_ATTR_INFO2);
	ret->rep_size =
		seam_load_u8(sf->base + attr + SEAM_SFRAME_ATTR_REP_SIZE);
	ret->rows = (uint32_t)(attr + SEAM_SFRAME_ATTR_SIZE);
	if ((ret->info & SEAM_SFRAME_INFO_FRE_TYPE) > 2)
		return SEAM_SFRAME_FUNC;
	return SEAM_OK;
}

/* Word i of a row whose words begin at p and are 1 << size_code bytes. */
SEAM_INLINE int32_t seam_sframe_word(const uint8_t SEAM_TABLE *p,
				     uint32_t size_code, uint32_t i)
{
	if (size_code == 0)
		return (int8_t)seam_load_u8(p + i);
	if (size_code == 1)
		return (int16_t)seam_load_u16(p + 2 * i);
	return (int32_t)seam_load_u32(p + 4 * i);
}

/* A DEFAULT row: CFA, then RA and FP where the header does not fix them. */
SEAM_INLINE int seam_sframe_default(const struct seam_sframe *sf,
				    const uint8_t SEAM_TABLE *words,
				    uint8_t info, struct seam_rule *ret)
{
	uint32_t n = SEAM_SFRAME_FRE_COUNT(info);
	uint32_t size = SEAM_SFRAME_FRE_SIZE(info);
	uint32_t i = 1;

	ret->cfa.kind = SEAM_REG_OFF;
	ret->cfa.reg = info & SEAM_SFRAME_FRE_BASE_SP ? SEAM_AMD64_REG_SP
						      : SEAM_AMD64_REG_FP;
	ret->cfa.off = seam_sframe_word(words, size, 0);
	if (!sf->fixed_ra_off && i < n) {
		ret->ra.off = seam_sframe_word(words, size, i++);
		ret->ra.kind = ret->ra.off ? SEAM_CFA_DEREF : SEAM_SAME;
	}
	if (sf->fixed_fp_off) {
		ret->fp.off = sf->fixed_fp_off;
		ret->fp.kind = SEAM_CFA_DEREF;
	} else if (i < n) {
		ret->fp.off = seam_sframe_word(words, size, i++);
		ret->fp.kind = SEAM_CFA_DEREF;
	}
	return i == n ? SEAM_OK : SEAM_SFRAME_ROW;
}

/*
 * One value of a FLEX row: control and offset words at *i, or a control of
 * 0 alone, which leaves the value as it was.
 */
SEAM_INLINE int seam_sframe_flex_value(const uint8_t SEAM_TABLE *words,
				       uint8_t info, uint32_t *i,
				       struct seam_value *ret)
{
	uint32_t n = SEAM_SFRAME_FRE_COUNT(info);
	uint32_t size = SEAM_SFRAME_FRE_SIZE(info);
	uint32_t control, regnum;

	if (*i >= n)
		return SEAM_OK;
	control = (uint32_t)seam_sframe_word(words, size, (*i)++);
	if (size == 0)
		control &= 0xff;
	else if (size == 1)
		control &= 0xffff;
	if (!control)
		return SEAM_OK;
	regnum = SEAM_SFRAME_FLEX_REGNUM(control);
	if (*i >= n || (control & 4) || regnum > 255)
		return SEAM_SFRAME_ROW;
	ret->off = seam_sframe_word(words, size, (*i)++);
	ret->reg = (uint8_t)regnum;
	if (control & SEAM_SFRAME_FLEX_REG)
		ret->kind = control & SEAM_SFRAME_FLEX_DEREF ? SEAM_REG_DEREF
							     : SEAM_REG_OFF;
	else
		ret->kind = control & SEAM_SFRAME_FLEX_DEREF ? SEAM_CFA_DEREF
							     : SEAM_CFA_OFF;
	return SEAM_OK;
}

SEAM_INLINE int seam_sframe_flex(const uint8_t SEAM_TABLE *words, uint8_t info,
				 bool has_add, struct seam_rule *ret)
{
	uint8_t body = info;
	uint32_t i = 0;

	if (has_add) {
		uint32_t n = SEAM_SFRAME_FRE_COUNT(info);

		if (n < 3)
			return SEAM_SFRAME_ROW;
		ret->cfa_add = seam_sframe_word(
			words, SEAM_SFRAME_FRE_SIZE(info), n - 1);
		body = (uint8_t)(info - 2); /* one word less */
	}
	if (seam_sframe_flex_value(words, body, &i, &ret->cfa) ||
	    seam_sframe_flex_value(words, body, &i, &ret->ra) ||
	    seam_sframe_flex_value(words, body, &i, &ret->fp))
		return SEAM_SFRAME_ROW;
	if (i != SEAM_SFRAME_FRE_COUNT(body) ||
	    (ret->cfa.kind != SEAM_REG_OFF && ret->cfa.kind != SEAM_REG_DEREF))
		return SEAM_SFRAME_ROW;
	return SEAM_OK;
}

/* Decodes the row whose info byte is at offset at. */
SEAM_INLINE int seam_sframe_row(const struct seam_sframe *sf,
				const struct seam_sframe_func *func,
				uint32_t at, struct seam_rule *ret)
{
	const uint8_t SEAM_TABLE *words = sf->base + at + 1;
	uint8_t info = seam_load_u8(sf->base + at);
	uint8_t type = func->info2 & SEAM_SFRAME_FDE_TYPE;

	*ret = (struct seam_rule){0};
	if (func->info & SEAM_SFRAME_INFO_SIGNAL)
		ret->flags |= SEAM_RULE_SIGNAL;
	if (!SEAM_SFRAME_FRE_COUNT(info)) {
		ret->flags |= SEAM_RULE_OUTERMOST;
		return SEAM_OK;
	}
	if (type == SEAM_SFRAME_FDE_DEFAULT)
		return seam_sframe_default(sf, words, info, ret);
	if (type == SEAM_SFRAME_FDE_FLEX)
		return seam_sframe_flex(words, info, false, ret);
	if (type == SEAM_SFRAME_FDE_FLEX_ADD)
		return seam_sframe_flex(words, info, true, ret);
	return SEAM_SFRAME_FUNC;
}

/*
 * The offset of the info byte of the last row that starts at or before off,
 * which is relative to the function's start; 0 if there is none or the rows
 * do not lie in the section. Rows are walked in order: num_rows at most.
 */
SEAM_INLINE uint32_t seam_sframe_scan(const struct seam_sframe *sf,
				      const struct seam_sframe_func *func,
				      uint32_t off)
{
	uint32_t type = func->info & SEAM_SFRAME_INFO_FRE_TYPE;
	uint32_t width = 1u << type;
	uint32_t at = func->rows, found = 0;
	uint32_t left = func->num_rows;

	while (left > 0) {
		const uint8_t SEAM_TABLE *p = sf->base + at;
		uint32_t start, len;
		uint8_t info;

		SEAM_LOOP_GUARD;
		if (sf->end - at < width + 1)
			return 0;
		start = type == 0   ? seam_load_u8(p)
			: type == 1 ? seam_load_u16(p)
				    : seam_load_u32(p);
		if (start > off)
			break;
		info = seam_load_u8(p + width);
		if (SEAM_SFRAME_FRE_SIZE(info) == 3)
			return 0;
		len = width + 1 +
		      (SEAM_SFRAME_FRE_COUNT(info)
		       << SEAM_SFRAME_FRE_SIZE(info));
		if (sf->end - at < len)
			return 0;
		found = at + width;
		at += len;
		left--;
	}
	return found;
}

/*
 * The rule for a pc.
 * Return: 0; SEAM_NO_RULE if no function or row covers it; SEAM_SFRAME_FUNC
 * or SEAM_SFRAME_ROW if what covers it is malformed.
 */
SEAM_INLINE int seam_sframe_find(const struct seam_sframe *sf, uint64_t pc,
				 struct seam_rule *ret)
{
	struct seam_sframe_func func;
	uint32_t i = seam_sframe_search(sf, pc);
	uint64_t off;
	uint32_t at;

	if (i >= sf->num_fdes)
		return SEAM_NO_RULE;
	if (seam_sframe_func_at(sf, i, &func))
		return SEAM_SFRAME_FUNC;
	off = pc - func.start;
	if (off >= func.size)
		return SEAM_NO_RULE;
	if (func.info & SEAM_SFRAME_INFO_PCMASK) {
		if (!func.rep_size)
			return SEAM_SFRAME_FUNC;
		off %= func.rep_size;
	}
	at = seam_sframe_scan(sf, &func, (uint32_t)off);
	if (!at)
		return SEAM_NO_RULE;
	return seam_sframe_row(sf, &func, at, ret);
}

#endif
