// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/verify.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/err.h"
#include "core/sframe-format.h"

#define REG_MAX 16 /* 0-15 and the return address column */
#define DEFAULT_MAX_WORDS 2

struct verify {
	const uint8_t *bytes;
	size_t size;
	struct seam_sframe_limits limits;
	struct seam_errinfo *reterr;
	struct seam_sframe_header h;
	uint64_t fdes, fres, fres_end; /* offsets from the section's start */
	uint64_t rows_left; /* work still allowed */
	uint64_t prev_start, prev_end;
};

/* One descriptor, index entry and attributes. */
struct func {
	uint64_t at; /* of its index entry */
	uint64_t start;
	uint32_t size, num_fres;
	uint64_t attr; /* offset of the attributes */
	uint8_t info, type, rep_size;
};

static int fail(const struct verify *v, int code, uint64_t offset,
		const char *reason)
{
	struct seam_errinfo *e = v->reterr;

	if (e) {
		memset(e, 0, sizeof(*e));
		e->code = code;
		e->offset = offset;
		snprintf(e->where, sizeof(e->where), ".sframe");
		snprintf(e->reason, sizeof(e->reason), "%s", reason);
	}
	return -EINVAL;
}

static uint64_t get(const uint8_t *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	return v;
}

/* Section 1 of the format: the fixed values of version 3 and x86-64. */
static int check_header_values(const struct verify *v)
{
	const struct seam_sframe_header *h = &v->h;
	uint8_t known = SEAM_SFRAME_F_SORTED | SEAM_SFRAME_F_PCREL;

	if (h->magic != SEAM_SFRAME_MAGIC)
		return fail(v, SEAM_SFRAME_MAGIC_BAD, 0,
			    "the magic is not SFrame");
	if (h->version != SEAM_SFRAME_V3)
		return fail(v, SEAM_SFRAME_VERSION, 2, "the version is not 3");
	if (h->flags & ~known)
		return fail(v, SEAM_SFRAME_FLAGS, 3, "undefined flags are set");
	if (!(h->flags & SEAM_SFRAME_F_PCREL))
		return fail(v, SEAM_SFRAME_FLAGS, 3,
			    "function starts are not relative to themselves");
	if ((v->limits.flags & SEAM_SFRAME_VERIFY_KERNEL) &&
	    !(h->flags & SEAM_SFRAME_F_SORTED))
		return fail(v, SEAM_SFRAME_FLAGS, 3,
			    "the functions are not sorted");
	if (h->abi != SEAM_SFRAME_ABI_AMD64)
		return fail(v, SEAM_SFRAME_ABI, 4, "the ABI is not x86-64");
	if (h->fixed_fp_off)
		return fail(v, SEAM_SFRAME_ABI, 5,
			    "x86-64 has no fixed place for FP");
	if (h->fixed_ra_off != -8)
		return fail(v, SEAM_SFRAME_ABI, 6,
			    "the return address is not fixed at CFA - 8");
	return 0;
}

static int check_header(struct verify *v)
{
	struct seam_sframe_header *h = &v->h;
	uint64_t end_hdr = sizeof(*h);
	int r;

	if (v->size < sizeof(*h))
		return fail(v, SEAM_SFRAME_SHORT, v->size,
			    "the section ends inside its header");
	memcpy(h, v->bytes, sizeof(*h));
	r = check_header_values(v);
	if (r)
		return r;
	/* What an auxiliary header holds nobody knows: it is skipped. */
	end_hdr += h->auxhdr_len;
	v->fdes = end_hdr + h->fdeoff;
	v->fres = end_hdr + h->freoff;
	v->fres_end = v->fres + h->fre_len;
	if (v->fdes + (uint64_t)h->num_fdes * sizeof(struct seam_sframe_fde3) >
	    v->fres)
		return fail(v, SEAM_SFRAME_LAYOUT, 8,
			    "the index runs into the rows");
	if (v->fres_end > v->size)
		return fail(v, SEAM_SFRAME_LAYOUT, 16,
			    "the rows run past the end of the section");
	if (v->fres_end > UINT32_MAX)
		return fail(v, SEAM_SFRAME_LAYOUT, 16,
			    "the section is larger than 4 GiB");
	if ((v->limits.flags & SEAM_SFRAME_VERIFY_KERNEL) &&
	    v->fres_end != v->size)
		return fail(v, SEAM_SFRAME_LAYOUT, v->fres_end,
			    "bytes follow the rows");
	/* The smallest row has two bytes, and rows do not share them. */
	v->rows_left = h->fre_len / 2;
	return 0;
}

static int check_order(struct verify *v, const struct func *f)
{
	if (!(v->h.flags & SEAM_SFRAME_F_SORTED) || f->at == v->fdes)
		return 0;
	if (f->start < v->prev_start)
		return fail(v, SEAM_SFRAME_ORDER, f->at,
			    "a function starts before the one in front of it");
	if (f->start < v->prev_end)
		return fail(v, SEAM_SFRAME_ORDER, f->at,
			    "a function begins inside the one in front of it");
	return 0;
}

static int check_place(struct verify *v, const struct func *f)
{
	const struct seam_sframe_limits *l = &v->limits;

	if (f->size > UINT64_MAX - f->start)
		return fail(v, SEAM_SFRAME_FUNC, f->at,
			    "a function wraps around the address space");
	if (l->text_end &&
	    (f->start < l->text_start || f->start + f->size > l->text_end))
		return fail(v, SEAM_SFRAME_FUNC, f->at,
			    "a function lies outside the text");
	return check_order(v, f);
}

static int check_attributes(const struct verify *v, const struct func *f)
{
	uint8_t info2 = v->bytes[f->attr + SEAM_SFRAME_ATTR_INFO2];
	uint64_t at_info = f->attr + SEAM_SFRAME_ATTR_INFO;
	uint64_t at_rep = f->attr + SEAM_SFRAME_ATTR_REP_SIZE;
	bool is_kernel = v->limits.flags & SEAM_SFRAME_VERIFY_KERNEL;

	if ((f->info & SEAM_SFRAME_INFO_FRE_TYPE) > 2)
		return fail(v, SEAM_SFRAME_FUNC, at_info,
			    "the size of row starts is unknown");
	if (f->info & (SEAM_SFRAME_INFO_PAUTH_B | 0x40))
		return fail(v, SEAM_SFRAME_FUNC, at_info,
			    "unused bits of the function info are set");
	if (info2 & ~SEAM_SFRAME_FDE_TYPE)
		return fail(v, SEAM_SFRAME_FUNC, at_info + 1,
			    "unused bits of the function type are set");
	if (f->type > SEAM_SFRAME_FDE_FLEX &&
	    !(is_kernel && f->type == SEAM_SFRAME_FDE_FLEX_ADD))
		return fail(v, SEAM_SFRAME_FUNC, at_info + 1,
			    "the function type is unknown");
	if (f->info & SEAM_SFRAME_INFO_PCMASK) {
		if (!f->rep_size || f->rep_size > f->size)
			return fail(v, SEAM_SFRAME_FUNC, at_rep,
				    "the block size does not fit the function");
	} else if (f->rep_size) {
		return fail(v, SEAM_SFRAME_FUNC, at_rep,
			    "a function without blocks has a block size");
	}
	return 0;
}

/* Reads a control word and, unless it is 0, the offset behind it. */
static int check_flex_value(const struct verify *v, const uint8_t *words,
			    unsigned int log2, unsigned int *left,
			    uint32_t *ret_control)
{
	uint64_t at = (uint64_t)(words - v->bytes);
	uint32_t control = (uint32_t)get(words, (size_t)1 << log2);

	*ret_control = control;
	(*left)--;
	if (!control)
		return 0;
	if (!*left)
		return fail(v, SEAM_SFRAME_ROW, at,
			    "a control word has no offset behind it");
	(*left)--;
	if (control & 4)
		return fail(v, SEAM_SFRAME_ROW, at,
			    "an unused bit of a control word is set");
	if (SEAM_SFRAME_FLEX_REGNUM(control) > REG_MAX)
		return fail(v, SEAM_SFRAME_ROW, at,
			    "x86-64 has no such register");
	if (!(control & (SEAM_SFRAME_FLEX_REG | SEAM_SFRAME_FLEX_DEREF)))
		return fail(v, SEAM_SFRAME_ROW, at,
			    "a control word names a register it does not use");
	if (!(control & SEAM_SFRAME_FLEX_REG) &&
	    SEAM_SFRAME_FLEX_REGNUM(control))
		return fail(v, SEAM_SFRAME_ROW, at,
			    "a control word based on the CFA has a register");
	return 0;
}

/* The CFA, then RA and FP, each a pair; RA may be a lone 0 before FP. */
static int check_flex(const struct verify *v, const uint8_t *words,
		      unsigned int log2, unsigned int num)
{
	uint64_t at = (uint64_t)(words - v->bytes);
	unsigned int left = num;
	uint32_t control;

	for (int i = 0; i < 3 && left; i++) {
		int r = check_flex_value(v,
					 words + ((size_t)(num - left) << log2),
					 log2, &left, &control);
		if (r)
			return r;
		if (!i && !(control & SEAM_SFRAME_FLEX_REG))
			return fail(v, SEAM_SFRAME_ROW, at,
				    "a CFA is not based on a register");
		if (i == 2 && !control)
			return fail(v, SEAM_SFRAME_ROW, at,
				    "FP has an empty control word");
	}
	if (left)
		return fail(v, SEAM_SFRAME_ROW, at,
			    "a row has words that mean nothing");
	return 0;
}

static int check_words(const struct verify *v, const struct func *f,
		       const uint8_t *p, uint8_t info)
{
	unsigned int num = SEAM_SFRAME_FRE_COUNT(info);
	unsigned int log2 = SEAM_SFRAME_FRE_SIZE(info);
	uint64_t at = (uint64_t)(p - v->bytes);

	if (!num)
		return 0; /* RA undefined */
	if (f->type == SEAM_SFRAME_FDE_DEFAULT) {
		if (num > DEFAULT_MAX_WORDS)
			return fail(v, SEAM_SFRAME_ROW, at,
				    "a row has words that mean nothing");
		return 0;
	}
	if (f->type == SEAM_SFRAME_FDE_FLEX_ADD) {
		/* The last word is added to the CFA: any will do. */
		if (num < 3)
			return fail(v, SEAM_SFRAME_ROW, at,
				    "a row lacks the word for its CFA");
		num--;
	}
	return check_flex(v, p, log2, num);
}

/* Return: the row's size, or -EINVAL. */
static int check_row(const struct verify *v, const struct func *f, uint64_t at,
		     int64_t *prev_off)
{
	size_t addr = (size_t)1 << (f->info & SEAM_SFRAME_INFO_FRE_TYPE);
	uint64_t left = v->fres_end - at;
	const uint8_t *p = v->bytes + at;
	uint64_t words_len;
	int64_t off;
	uint8_t info;
	int r;

	if (left < addr + 1)
		return fail(v, SEAM_SFRAME_ROW, at,
			    "a row runs past the end of the rows");
	off = (int64_t)get(p, addr);
	info = p[addr];
	words_len = (uint64_t)SEAM_SFRAME_FRE_COUNT(info)
		    << SEAM_SFRAME_FRE_SIZE(info);
	if (SEAM_SFRAME_FRE_SIZE(info) == 3)
		return fail(v, SEAM_SFRAME_ROW, at + addr,
			    "the size of a row's words is unknown");
	if (info & SEAM_SFRAME_FRE_MANGLED)
		return fail(v, SEAM_SFRAME_ROW, at + addr,
			    "x86-64 has no mangled return addresses");
	if (left - addr - 1 < words_len)
		return fail(v, SEAM_SFRAME_ROW, at,
			    "a row runs past the end of the rows");
	if (off <= *prev_off)
		return fail(v, SEAM_SFRAME_ROW, at,
			    "a row does not start after the one before it");
	if (f->info & SEAM_SFRAME_INFO_PCMASK ? off >= f->rep_size
					      : off > f->size)
		return fail(v, SEAM_SFRAME_ROW, at,
			    "a row starts outside its function");
	*prev_off = off;
	r = check_words(v, f, p + addr + 1, info);
	return r ? r : (int)(addr + 1 + words_len);
}

static int check_rows(struct verify *v, const struct func *f)
{
	uint64_t at = f->attr + SEAM_SFRAME_ATTR_SIZE;
	int64_t prev_off = -1;

	/* Functions may share rows, but not so that checking never ends. */
	if (f->num_fres > v->rows_left)
		return fail(v, SEAM_SFRAME_FUNC, f->attr,
			    "the functions claim more rows than there are");
	v->rows_left -= f->num_fres;
	for (uint32_t i = 0; i < f->num_fres; i++) {
		int r = check_row(v, f, at, &prev_off);

		if (r < 0)
			return r;
		at += (uint64_t)r;
	}
	return 0;
}

static int check_func(struct verify *v, uint32_t i)
{
	const uint8_t *p;
	struct func f;
	uint64_t fre_off;
	int r;

	f.at = v->fdes + (uint64_t)i * sizeof(struct seam_sframe_fde3);
	p = v->bytes + f.at;
	f.start = get(p, 8) + v->limits.section_addr + f.at;
	f.size = (uint32_t)get(p + 8, 4);
	fre_off = get(p + 12, 4);
	r = check_place(v, &f);
	if (r)
		return r;
	v->prev_start = f.start;
	v->prev_end = f.start + f.size;
	if (v->h.fre_len < SEAM_SFRAME_ATTR_SIZE ||
	    fre_off > v->h.fre_len - SEAM_SFRAME_ATTR_SIZE)
		return fail(v, SEAM_SFRAME_FUNC, f.at + 12,
			    "a function's attributes lie outside the rows");
	f.attr = v->fres + fre_off;
	p = v->bytes + f.attr;
	f.num_fres = (uint32_t)get(p, 2);
	f.info = p[SEAM_SFRAME_ATTR_INFO];
	f.type = p[SEAM_SFRAME_ATTR_INFO2] & SEAM_SFRAME_FDE_TYPE;
	f.rep_size = p[SEAM_SFRAME_ATTR_REP_SIZE];
	r = check_attributes(v, &f);
	return r ? r : check_rows(v, &f);
}

int seam_sframe_verify(const uint8_t *bytes, size_t size,
		       const struct seam_sframe_limits *limits,
		       struct seam_errinfo *reterr)
{
	struct verify v = {.bytes = bytes, .size = size, .reterr = reterr};
	int r;

	if (limits)
		v.limits = *limits;
	r = check_header(&v);
	for (uint32_t i = 0; !r && i < v.h.num_fdes; i++)
		r = check_func(&v, i);
	return r;
}
