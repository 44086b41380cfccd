// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/verify.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/err.h"
#include "sframe/verify-row.h"

int seam_sframe_refuse(const struct seam_sframe_verify *v, int code,
		       uint64_t offset, const char *reason)
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

static bool has(const struct seam_sframe_verify *v, uint32_t flag)
{
	return v->limits.flags & flag;
}

/* Version and flags. */
static int check_version(const struct seam_sframe_verify *v)
{
	uint8_t version = seam_sframe_u8(&v->sf, 2);
	uint8_t flags = seam_sframe_u8(&v->sf, 3);
	bool only_v3 =
		has(v, SEAM_SFRAME_VERIFY_KERNEL | SEAM_SFRAME_VERIFY_LOADER);

	if (version < SEAM_SFRAME_V1 || version > SEAM_SFRAME_V3)
		return seam_sframe_refuse(v, SEAM_SFRAME_VERSION, 2,
					  "the version is not 1, 2 or 3");
	if (only_v3 && version != SEAM_SFRAME_V3)
		return seam_sframe_refuse(v, SEAM_SFRAME_VERSION, 2,
					  "the version is not 3");
	if (flags & ~seam_sframe_known_flags(version))
		return seam_sframe_refuse(v, SEAM_SFRAME_FLAGS, 3,
					  "undefined flags are set");
	if (version == SEAM_SFRAME_V3 && !(flags & SEAM_SFRAME_F_PCREL))
		return seam_sframe_refuse(
			v, SEAM_SFRAME_FLAGS, 3,
			"function starts are not relative to themselves");
	if (only_v3 && !(flags & SEAM_SFRAME_F_SORTED))
		return seam_sframe_refuse(v, SEAM_SFRAME_FLAGS, 3,
					  "the functions are not sorted");
	return 0;
}

/* The ABI, and what it fixes. */
static int check_abi(const struct seam_sframe_verify *v)
{
	uint8_t abi = seam_sframe_u8(&v->sf, 4);
	uint8_t wanted = v->limits.abi;
	enum seam_arch arch = seam_abi_arch(abi);

	if (has(v, SEAM_SFRAME_VERIFY_KERNEL))
		wanted = SEAM_SFRAME_ABI_AMD64;
	if (!arch)
		return seam_sframe_refuse(v, SEAM_SFRAME_ABI, 4,
					  "the ABI is unknown");
	if (arch == SEAM_ARCH_S390X &&
	    seam_sframe_u8(&v->sf, 2) == SEAM_SFRAME_V1)
		return seam_sframe_refuse(v, SEAM_SFRAME_ABI, 4,
					  "V1 does not know s390x");
	if (seam_abi_is_big(abi) !=
	    (seam_sframe_u8(&v->sf, 0) == SEAM_SFRAME_MAGIC >> 8))
		return seam_sframe_refuse(v, SEAM_SFRAME_ABI, 4,
					  "the ABI has the other byte order");
	if (wanted && abi != wanted)
		return seam_sframe_refuse(v, SEAM_SFRAME_ABI, 4,
					  "the ABI is not the file's");
	if (seam_sframe_u8(&v->sf, 5))
		return seam_sframe_refuse(v, SEAM_SFRAME_ABI, 5,
					  "the ABI has no fixed place for FP");
	if ((int8_t)seam_sframe_u8(&v->sf, 6) != seam_arch_ra_off(arch))
		return seam_sframe_refuse(v, SEAM_SFRAME_ABI, 6,
					  "the return address is fixed "
					  "elsewhere than in the ABI");
	return 0;
}

/* Where the parts lie. What an auxiliary header holds nobody knows: it is
 * skipped. */
static int check_layout(const struct seam_sframe_verify *v)
{
	const struct seam_sframe *sf = &v->sf;
	uint64_t num_fdes = seam_sframe_u32(sf, 8);
	uint64_t hdr_end =
		sizeof(struct seam_sframe_header) + seam_sframe_u8(sf, 7);
	uint64_t fdes = hdr_end + seam_sframe_u32(sf, 20);
	uint64_t fres = hdr_end + seam_sframe_u32(sf, 24);
	uint64_t end = fres + seam_sframe_u32(sf, 16);

	if (hdr_end > v->size)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_LAYOUT, 7,
			"the section ends inside its auxiliary header");
	if (fdes + num_fdes * seam_sframe_fde_size(seam_sframe_u8(sf, 2)) >
	    fres)
		return seam_sframe_refuse(v, SEAM_SFRAME_LAYOUT, 8,
					  "the index runs into the rows");
	if (end > v->size)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_LAYOUT, 16,
			"the rows run past the end of the section");
	if (end > UINT32_MAX)
		return seam_sframe_refuse(v, SEAM_SFRAME_LAYOUT, 16,
					  "the section is larger than 4 GiB");
	if (has(v, SEAM_SFRAME_VERIFY_KERNEL) && end != v->size)
		return seam_sframe_refuse(v, SEAM_SFRAME_LAYOUT, end,
					  "bytes follow the rows");
	return 0;
}

/* What Linux's loader minds and no other reader. */
static int check_loadable(const struct seam_sframe_verify *v)
{
	if (!has(v, SEAM_SFRAME_VERIFY_LOADER))
		return 0;
	if (seam_sframe_u8(&v->sf, 7))
		return seam_sframe_refuse(v, SEAM_SFRAME_LAYOUT, 7,
					  "there is an auxiliary header");
	if (!seam_sframe_u32(&v->sf, 8))
		return seam_sframe_refuse(v, SEAM_SFRAME_LAYOUT, 8,
					  "there are no functions");
	if (!seam_sframe_u32(&v->sf, 12))
		return seam_sframe_refuse(v, SEAM_SFRAME_LAYOUT, 12,
					  "there are no rows");
	return 0;
}

static int check_header(struct seam_sframe_verify *v, const uint8_t *bytes)
{
	struct seam_sframe *sf = &v->sf;
	int r;

	if (v->size < sizeof(struct seam_sframe_header))
		return seam_sframe_refuse(v, SEAM_SFRAME_SHORT, v->size,
					  "the section ends inside its header");
	sf->base = bytes;
	sf->is_swapped = seam_load_u16(bytes) != SEAM_SFRAME_MAGIC;
	if (seam_sframe_u16(sf, 0) != SEAM_SFRAME_MAGIC)
		return seam_sframe_refuse(v, SEAM_SFRAME_MAGIC_BAD, 0,
					  "the magic is not SFrame");
	r = check_version(v);
	if (!r)
		r = check_abi(v);
	if (!r)
		r = check_layout(v);
	if (!r)
		r = check_loadable(v);
	if (r)
		return r;
	r = seam_sframe_open(sf, bytes, v->size);
	if (r)
		return seam_sframe_refuse(v, r, 0, "the reader refuses it");
	if (has(v, SEAM_SFRAME_VERIFY_RELOCATABLE))
		seam_sframe_set_relocatable(sf);
	/* The smallest row has two bytes, and rows do not share them. */
	v->rows_left = (sf->end - sf->fres) / 2;
	return 0;
}

/*
 * By the distance from the section, as readers search. Empty functions may
 * share their start with another, on either side of it.
 */
static int check_order(struct seam_sframe_verify *v,
		       const struct seam_sframe_func *f)
{
	int64_t start = (int64_t)f->start, end = start + f->size;
	bool is_first = f->at == v->sf.fdes;

	if (!v->sf.is_sorted)
		return 0;
	if (!is_first && start < v->prev_start)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_ORDER, f->at,
			"a function starts before the one in front of it");
	if (!is_first && start < v->prev_end &&
	    (f->size || start != v->prev_start))
		return seam_sframe_refuse(
			v, SEAM_SFRAME_ORDER, f->at,
			"a function begins inside one in front of it");
	if (!is_first && has(v, SEAM_SFRAME_VERIFY_LOADER) &&
	    start == v->prev_start)
		return seam_sframe_refuse(v, SEAM_SFRAME_ORDER, f->at,
					  "two functions start alike");
	v->prev_start = start;
	if (is_first || end > v->prev_end)
		v->prev_end = end;
	return 0;
}

static int check_place(struct seam_sframe_verify *v,
		       const struct seam_sframe_func *f)
{
	const struct seam_sframe_limits *l = &v->limits;
	uint64_t start = f->start + l->section_addr;

	if (f->size > UINT64_MAX - start ||
	    (int64_t)f->start > INT64_MAX - (int64_t)f->size)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_FUNC, f->at,
			"a function wraps around the address space");
	if (l->text_end &&
	    (start < l->text_start || start + f->size > l->text_end))
		return seam_sframe_refuse(v, SEAM_SFRAME_FUNC, f->at,
					  "a function lies outside the text");
	return check_order(v, f);
}

/* Where the bytes of a function's info are, for what is said about them. */
struct info_at {
	uint64_t num_rows, info, info2, rep_size;
};

static struct info_at info_at(const struct seam_sframe_verify *v,
			      const struct seam_sframe_func *f)
{
	uint64_t attr = (uint64_t)f->rows - SEAM_SFRAME_ATTR_SIZE;

	if (v->sf.version != SEAM_SFRAME_V3)
		return (struct info_at){
			.num_rows = f->at + SEAM_SFRAME_FDE_NUM_FRES,
			.info = f->at + SEAM_SFRAME_FDE_INFO,
			.rep_size = f->at + SEAM_SFRAME_FDE_REP_SIZE,
		};
	return (struct info_at){
		.num_rows = attr,
		.info = attr + SEAM_SFRAME_ATTR_INFO,
		.info2 = attr + SEAM_SFRAME_ATTR_INFO2,
		.rep_size = attr + SEAM_SFRAME_ATTR_REP_SIZE,
	};
}

/* Bits that the version or the ABI does not define. */
static int check_bits(const struct seam_sframe_verify *v,
		      const struct seam_sframe_func *f,
		      const struct info_at *at)
{
	uint8_t type = f->info2 & SEAM_SFRAME_FDE_TYPE;
	uint8_t unused = SEAM_SFRAME_INFO_UNUSED;

	if (v->sf.arch != SEAM_ARCH_AARCH64)
		unused |= SEAM_SFRAME_INFO_PAUTH_B;
	if (v->sf.version != SEAM_SFRAME_V3)
		unused |= SEAM_SFRAME_INFO_SIGNAL;
	if (seam_sframe_u8(&v->sf, at->info) & unused)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_FUNC, at->info,
			"unused bits of the function info are set");
	if (v->sf.version == SEAM_SFRAME_V2 &&
	    seam_sframe_u16(&v->sf, f->at + SEAM_SFRAME_FDE_PADDING))
		return seam_sframe_refuse(v, SEAM_SFRAME_FUNC,
					  f->at + SEAM_SFRAME_FDE_PADDING,
					  "padding is not 0");
	if (f->info2 & ~SEAM_SFRAME_FDE_TYPE)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_FUNC, at->info2,
			"unused bits of the function type are set");
	if (type > SEAM_SFRAME_FDE_FLEX &&
	    !(has(v, SEAM_SFRAME_VERIFY_KERNEL) &&
	      type == SEAM_SFRAME_FDE_FLEX_ADD))
		return seam_sframe_refuse(v, SEAM_SFRAME_FUNC, at->info2,
					  "the function type is unknown");
	return 0;
}

static int check_blocks(const struct seam_sframe_verify *v,
			const struct seam_sframe_func *f,
			const struct info_at *at)
{
	if (v->sf.version == SEAM_SFRAME_V1)
		return 0; /* has no size of blocks */
	if (!(f->info & SEAM_SFRAME_INFO_PCMASK)) {
		/* ld of binutils 2.44 gives PLT0 the size of its stubs. */
		if (f->rep_size && v->sf.version != SEAM_SFRAME_V2)
			return seam_sframe_refuse(
				v, SEAM_SFRAME_FUNC, at->rep_size,
				"a function without blocks has a block size");
		return 0;
	}
	if (!f->rep_size || f->rep_size > f->size)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_FUNC, at->rep_size,
			"the block size does not fit the function");
	return 0;
}

static int check_rows(struct seam_sframe_verify *v,
		      const struct seam_sframe_func *f, uint64_t at_num)
{
	uint64_t at = f->rows;
	int64_t prev_off = -1;

	/* Functions may share rows, but not so that checking never ends. */
	if (f->num_rows > v->rows_left)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_FUNC, at_num,
			"the functions claim more rows than there are");
	v->rows_left -= f->num_rows;
	v->rows += f->num_rows;
	for (uint32_t i = 0; i < f->num_rows; i++) {
		int r = seam_sframe_verify_row(v, f, at, &prev_off);

		if (r < 0)
			return r;
		at += (uint64_t)r;
	}
	return 0;
}

/* What the reader takes from the index is in the section. */
static int check_inside(const struct seam_sframe_verify *v, uint32_t i)
{
	const struct seam_sframe *sf = &v->sf;
	uint64_t entry = sf->fdes + (uint64_t)i * sf->fde_size;
	uint64_t fre_len = sf->end - sf->fres, fre_off;

	if (sf->version == SEAM_SFRAME_V3) {
		fre_off = seam_sframe_u32(sf, entry + 12);
		if (fre_len < SEAM_SFRAME_ATTR_SIZE ||
		    fre_off > fre_len - SEAM_SFRAME_ATTR_SIZE)
			return seam_sframe_refuse(
				v, SEAM_SFRAME_FUNC, entry + 12,
				"a function's attributes lie outside the rows");
		return 0;
	}
	fre_off = seam_sframe_u32(sf, entry + SEAM_SFRAME_FDE_FRE_OFF);
	if (fre_off > fre_len ||
	    (fre_off == fre_len &&
	     seam_sframe_u32(sf, entry + SEAM_SFRAME_FDE_NUM_FRES)))
		return seam_sframe_refuse(v, SEAM_SFRAME_FUNC,
					  entry + SEAM_SFRAME_FDE_FRE_OFF,
					  "a function's rows lie outside");
	return 0;
}

static int check_func(struct seam_sframe_verify *v, uint32_t i)
{
	struct seam_sframe_func f = {0};
	struct info_at at;
	int err, r = check_inside(v, i);

	if (r)
		return r;
	err = seam_sframe_func_at(&v->sf, i, &f);
	r = check_place(v, &f);
	if (r)
		return r;
	at = info_at(v, &f);
	if (err)
		return seam_sframe_refuse(v, SEAM_SFRAME_FUNC, at.info,
					  "the size of row starts is unknown");
	r = check_bits(v, &f, &at);
	if (!r)
		r = check_blocks(v, &f, &at);
	return r ? r : check_rows(v, &f, at.num_rows);
}

int seam_sframe_verify(const uint8_t *bytes, size_t size,
		       const struct seam_sframe_limits *limits,
		       struct seam_errinfo *reterr)
{
	struct seam_sframe_verify v = {.size = size, .reterr = reterr};
	int r;

	if (limits)
		v.limits = *limits;
	r = check_header(&v, bytes);
	for (uint32_t i = 0; !r && i < v.sf.num_fdes; i++)
		r = check_func(&v, i);
	if (!r && has(&v, SEAM_SFRAME_VERIFY_STRICT) && v.rows != v.sf.num_fres)
		r = seam_sframe_refuse(
			&v, SEAM_SFRAME_LAYOUT, 12,
			"the number of rows is not that of the functions");
	return r;
}
