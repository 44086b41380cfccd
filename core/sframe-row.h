/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The rows of a function in an SFrame section, one behind the other: what a
 * row holds, and the rule that it means.
 *
 *	struct seam_sframe_row row = {.next = func.rows};
 *	for (uint32_t j = 0; j < func.num_rows; j++) {
 *		if (seam_sframe_row_at(&sf, &func, row.next, &row))
 *			break;
 *		err = seam_sframe_rule(&sf, &func, &row, &rule);
 *	}
 */
#ifndef SEAM_CORE_SFRAME_ROW_H
#define SEAM_CORE_SFRAME_ROW_H

#include "core/rule.h"
#include "core/sframe-section.h"
#include "core/signal-frame.h"

/* One row. Offsets are from the section's base. */
struct seam_sframe_row {
	uint32_t at;
	uint32_t start; /* from the function's start, or that of its block */
	uint32_t words; /* offset of the first word */
	uint32_t next; /* offset of the byte behind the row */
	uint8_t info; /* SEAM_SFRAME_FRE_*: base, number and size of words */
};

/*
 * Reads the row at an offset from base, which is func.rows or the last row's
 * next. Return: 0; SEAM_SFRAME_ROW if it does not lie in the section.
 */
SEAM_INLINE int seam_sframe_row_at(const struct seam_sframe *sf,
				   const struct seam_sframe_func *func,
				   uint32_t at, struct seam_sframe_row *ret)
{
	uint32_t type = func->info & SEAM_SFRAME_INFO_FRE_TYPE;
	uint32_t width = 1u << (type & 3), len;
	uint8_t info;

	if (sf->end < at || sf->end - at < width + 1)
		return SEAM_SFRAME_ROW;
	info = seam_sframe_u8(sf, at + width);
	len = SEAM_SFRAME_FRE_COUNT(info) << SEAM_SFRAME_FRE_SIZE(info);
	if (SEAM_SFRAME_FRE_SIZE(info) == 3 || sf->end - at - width - 1 < len)
		return SEAM_SFRAME_ROW;
	ret->at = at;
	ret->start = type == 0	 ? seam_sframe_u8(sf, at)
		     : type == 1 ? seam_sframe_u16(sf, at)
				 : seam_sframe_u32(sf, at);
	ret->words = at + width + 1;
	ret->next = ret->words + len;
	ret->info = info;
	return SEAM_OK;
}

/* Word i of a row, below SEAM_SFRAME_FRE_COUNT, as the signed number it is
 * unless it is a control word. */
SEAM_INLINE int32_t seam_sframe_word(const struct seam_sframe *sf,
				     const struct seam_sframe_row *row,
				     uint32_t i)
{
	uint32_t log2 = SEAM_SFRAME_FRE_SIZE(row->info);
	uint64_t at = (uint64_t)row->words + (i << log2);

	if (log2 == 0)
		return (int8_t)seam_sframe_u8(sf, at);
	if (log2 == 1)
		return (int16_t)seam_sframe_u16(sf, at);
	return (int32_t)seam_sframe_u32(sf, at);
}

/* Word i of a FLEX row as a control word, which is unsigned: r16 of s390x is
 * 0x81 in a byte. */
SEAM_INLINE uint32_t seam_sframe_control(const struct seam_sframe *sf,
					 const struct seam_sframe_row *row,
					 uint32_t i)
{
	uint32_t word = (uint32_t)seam_sframe_word(sf, row, i);
	uint32_t bits = 8u << SEAM_SFRAME_FRE_SIZE(row->info);

	return bits < 32 ? word & ((1u << bits) - 1) : word;
}

/* From the word of a CFA to its offset in bytes; s390x scales it. */
SEAM_INLINE int seam_sframe_cfa_off(const struct seam_sframe *sf, int32_t word,
				    int32_t *ret)
{
	int64_t off = word;

	if (sf->arch == SEAM_ARCH_S390X)
		off = off * SEAM_SFRAME_S390X_CFA_SCALE +
		      SEAM_SFRAME_S390X_CFA_ADJUST;
	*ret = (int32_t)off;
	return off == *ret ? SEAM_OK : SEAM_SFRAME_ROW;
}

/* A place that the header fixes for RA or FP; of amd64's RA the rule has no
 * more to say. */
SEAM_INLINE void seam_sframe_fixed(const struct seam_sframe *sf,
				   struct seam_rule *ret)
{
	if (sf->fixed_ra_off != seam_arch_ra_off((enum seam_arch)sf->arch)) {
		ret->ra.kind = SEAM_CFA_DEREF;
		ret->ra.off = sf->fixed_ra_off;
	}
	if (sf->fixed_fp_off) {
		ret->fp.kind = SEAM_CFA_DEREF;
		ret->fp.off = sf->fixed_fp_off;
	}
}

/* RA or FP of a DEFAULT row: saved near the CFA; or s390x in V2, an odd word,
 * in a register. */
SEAM_INLINE int seam_sframe_slot(const struct seam_sframe *sf, int32_t word,
				 struct seam_value *ret)
{
	if (sf->version == SEAM_SFRAME_V2 && sf->arch == SEAM_ARCH_S390X &&
	    (word & 1)) {
		if (word < 0 || (uint32_t)word >> 1 > UINT8_MAX)
			return SEAM_SFRAME_ROW;
		ret->kind = SEAM_REG_OFF;
		ret->reg = (uint8_t)(word >> 1);
		return SEAM_OK;
	}
	ret->kind = SEAM_CFA_DEREF;
	ret->off = word;
	return SEAM_OK;
}

/* A DEFAULT row: CFA, then RA and FP where the header does not fix them. A
 * word of 0 for RA says that it is not saved. */
SEAM_INLINE int seam_sframe_default(const struct seam_sframe *sf,
				    const struct seam_sframe_row *row,
				    struct seam_rule *ret)
{
	uint32_t n = SEAM_SFRAME_FRE_COUNT(row->info);
	uint32_t i = 1;
	int32_t word;

	ret->cfa.kind = SEAM_REG_OFF;
	ret->cfa.reg = row->info & SEAM_SFRAME_FRE_BASE_SP ? sf->sp : sf->fp;
	if (seam_sframe_cfa_off(sf, seam_sframe_word(sf, row, 0),
				&ret->cfa.off))
		return SEAM_SFRAME_ROW;
	if (!sf->fixed_ra_off && i < n) {
		word = seam_sframe_word(sf, row, i++);
		if (word && seam_sframe_slot(sf, word, &ret->ra))
			return SEAM_SFRAME_ROW;
	}
	if (!sf->fixed_fp_off && i < n) {
		word = seam_sframe_word(sf, row, i++);
		if (seam_sframe_slot(sf, word, &ret->fp))
			return SEAM_SFRAME_ROW;
	}
	return i == n ? SEAM_OK : SEAM_SFRAME_ROW;
}

/*
 * One value of a FLEX row: control and offset words at *i, or a control of
 * 0 alone, which leaves the value as it was. n: how many words there are.
 */
SEAM_INLINE int seam_sframe_flex_value(const struct seam_sframe *sf,
				       const struct seam_sframe_row *row,
				       uint32_t n, uint32_t *i,
				       struct seam_value *ret)
{
	uint32_t control, regnum;

	if (*i >= n)
		return SEAM_OK;
	control = seam_sframe_control(sf, row, (*i)++);
	if (!control)
		return SEAM_OK;
	regnum = SEAM_SFRAME_FLEX_REGNUM(control);
	if (*i >= n || (control & SEAM_SFRAME_FLEX_UNUSED) ||
	    regnum > UINT8_MAX)
		return SEAM_SFRAME_ROW;
	ret->off = seam_sframe_word(sf, row, (*i)++);
	ret->reg = (uint8_t)regnum;
	if (control & SEAM_SFRAME_FLEX_REG)
		ret->kind = control & SEAM_SFRAME_FLEX_DEREF ? SEAM_REG_DEREF
							     : SEAM_REG_OFF;
	else if (control & SEAM_SFRAME_FLEX_DEREF)
		ret->kind = SEAM_CFA_DEREF;
	else
		return SEAM_SFRAME_ROW; /* a register that it does not use */
	return SEAM_OK;
}

/* The CFA, RA and FP, each as above; in seam's own form one word more. */
SEAM_INLINE int seam_sframe_flex(const struct seam_sframe *sf,
				 const struct seam_sframe_row *row,
				 bool has_add, struct seam_rule *ret)
{
	uint32_t n = SEAM_SFRAME_FRE_COUNT(row->info);
	uint32_t i = 0;

	if (has_add) {
		if (n < 3)
			return SEAM_SFRAME_ROW;
		ret->cfa_add = seam_sframe_word(sf, row, --n);
	}
	if (seam_sframe_flex_value(sf, row, n, &i, &ret->cfa) ||
	    seam_sframe_flex_value(sf, row, n, &i, &ret->ra) ||
	    seam_sframe_flex_value(sf, row, n, &i, &ret->fp))
		return SEAM_SFRAME_ROW;
	if (i != n ||
	    (ret->cfa.kind != SEAM_REG_OFF && ret->cfa.kind != SEAM_REG_DEREF))
		return SEAM_SFRAME_ROW;
	return seam_sframe_cfa_off(sf, ret->cfa.off, &ret->cfa.off);
}

/*
 * The rule that a row means.
 * Return: 0; SEAM_SFRAME_ROW or SEAM_SFRAME_FUNC if it means none.
 */
SEAM_INLINE int seam_sframe_rule(const struct seam_sframe *sf,
				 const struct seam_sframe_func *func,
				 const struct seam_sframe_row *row,
				 struct seam_rule *ret)
{
	uint8_t type = func->info2 & SEAM_SFRAME_FDE_TYPE;

	*ret = (struct seam_rule){0};
	if (func->info & SEAM_SFRAME_INFO_SIGNAL)
		ret->flags |= SEAM_RULE_SIGNAL;
	if (!SEAM_SFRAME_FRE_COUNT(row->info)) {
		ret->flags |= SEAM_RULE_OUTERMOST;
		return sf->version == SEAM_SFRAME_V1 ? SEAM_SFRAME_ROW
						     : SEAM_OK;
	}
	if (row->info & SEAM_SFRAME_FRE_MANGLED &&
	    sf->arch == SEAM_ARCH_AARCH64)
		ret->flags |= SEAM_RULE_MANGLED;
	seam_sframe_fixed(sf, ret);
	if (type == SEAM_SFRAME_FDE_DEFAULT)
		return seam_sframe_default(sf, row, ret);
	if (type == SEAM_SFRAME_FDE_FLEX && sf->version == SEAM_SFRAME_V3)
		return seam_sframe_flex(sf, row, false, ret);
	if (type == SEAM_SFRAME_FDE_FLEX_ADD && sf->version == SEAM_SFRAME_V3)
		return seam_sframe_flex(sf, row, true, ret);
	return SEAM_SFRAME_FUNC;
}

/*
 * What a function without rows means, in V3: the outermost frame; or, of a
 * signal trampoline whose CFI the assembler could not translate, that its
 * caller's registers are in the kernel's signal frame.
 * Return: 0, *ret has SEAM_RULE_NO_ROWS; or SEAM_NO_RULE.
 */
SEAM_INLINE int seam_sframe_empty_rule(const struct seam_sframe *sf,
				       const struct seam_sframe_func *func,
				       struct seam_rule *ret)
{
	*ret = (struct seam_rule){0};
	if (sf->version != SEAM_SFRAME_V3)
		return SEAM_NO_RULE;
	if (func->info & SEAM_SFRAME_INFO_SIGNAL)
		seam_signal_frame_rule((enum seam_arch)sf->arch, ret);
	else if ((func->info2 & SEAM_SFRAME_FDE_TYPE) ==
		 SEAM_SFRAME_FDE_DEFAULT)
		ret->flags = SEAM_RULE_OUTERMOST;
	else
		return SEAM_NO_RULE;
	ret->flags |= SEAM_RULE_NO_ROWS;
	return SEAM_OK;
}

#endif
