// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/verify-row.h"

#include "core/err.h"
#include "core/sframe-row.h"

/* A row whose bounds have been checked. */
struct words {
	const struct seam_sframe_verify *v;
	struct seam_sframe_row row;
	uint32_t num; /* of words that are the format's */
	uint32_t i; /* the next one */
};

static enum seam_arch arch(const struct seam_sframe_verify *v)
{
	return (enum seam_arch)v->sf.arch;
}

static int refuse_word(const struct words *w, uint32_t i, const char *reason)
{
	return seam_sframe_refuse(
		w->v, SEAM_SFRAME_ROW,
		(uint64_t)w->row.words +
			(i << SEAM_SFRAME_FRE_SIZE(w->row.info)),
		reason);
}

static int check_control(const struct words *w, uint32_t i, uint32_t control)
{
	uint32_t regnum = SEAM_SFRAME_FLEX_REGNUM(control);

	if (control & SEAM_SFRAME_FLEX_UNUSED)
		return refuse_word(w, i,
				   "an unused bit of a control word is set");
	if (!seam_arch_has_reg(arch(w->v), regnum))
		return refuse_word(w, i, "the ABI has no such register");
	if (control & SEAM_SFRAME_FLEX_REG)
		return 0;
	if (!(control & SEAM_SFRAME_FLEX_DEREF))
		return refuse_word(w, i,
				   "a control word names a register unused");
	if (regnum)
		return refuse_word(
			w, i, "a control word based on the CFA has a register");
	return 0;
}

/* Reads a control word and, unless it is 0, the offset behind it. */
static int check_flex_value(struct words *w, uint32_t *ret_control)
{
	uint32_t i = w->i++;
	uint32_t control = seam_sframe_control(&w->v->sf, &w->row, i);

	*ret_control = control;
	if (!control)
		return 0;
	if (w->i >= w->num)
		return refuse_word(w, i,
				   "a control word has no offset behind it");
	w->i++;
	return check_control(w, i, control);
}

static int check_cfa_off(const struct words *w, uint32_t i)
{
	int32_t off;

	if (seam_sframe_cfa_off(&w->v->sf,
				seam_sframe_word(&w->v->sf, &w->row, i), &off))
		return refuse_word(w, i, "a CFA's offset exceeds 32 bits");
	return 0;
}

/* The CFA, then RA and FP, each a pair; RA may be a lone 0 before FP. */
static int check_flex(struct words *w)
{
	uint32_t control;
	int r;

	for (int i = 0; i < 3 && w->i < w->num; i++) {
		uint32_t at = w->i;

		r = check_flex_value(w, &control);
		if (r)
			return r;
		if (!i && !(control & SEAM_SFRAME_FLEX_REG))
			return refuse_word(w, at,
					   "a CFA is not based on a register");
		if (i == 2 && !control)
			return refuse_word(w, at,
					   "FP has an empty control word");
	}
	if (w->i < w->num)
		return refuse_word(w, w->i,
				   "a row has words that mean nothing");
	return check_cfa_off(w, 1);
}

/* s390x in V2: an odd word of RA or FP is a register. */
static int check_odd_words(const struct words *w)
{
	for (uint32_t i = 1; i < w->num; i++) {
		int32_t word = seam_sframe_word(&w->v->sf, &w->row, i);

		if (word & 1 &&
		    !seam_arch_has_reg(arch(w->v), (uint32_t)word >> 1))
			return refuse_word(w, i,
					   "the ABI has no such register");
	}
	return 0;
}

static int check_default(const struct words *w)
{
	const struct seam_sframe *sf = &w->v->sf;
	uint32_t max = 3u - !!sf->fixed_ra_off - !!sf->fixed_fp_off;
	int r;

	if (w->num > max)
		return refuse_word(w, max, "a row has words that mean nothing");
	r = check_cfa_off(w, 0);
	if (!r && sf->version == SEAM_SFRAME_V2 && sf->arch == SEAM_ARCH_S390X)
		r = check_odd_words(w);
	return r;
}

static int check_words(struct words *w, const struct seam_sframe_func *f)
{
	uint8_t type = f->info2 & SEAM_SFRAME_FDE_TYPE;

	if (!w->num) {
		if (w->v->sf.version == SEAM_SFRAME_V1)
			return seam_sframe_refuse(
				w->v, SEAM_SFRAME_ROW, w->row.at,
				"a row has no words, which V1 gives no sense");
		return 0; /* RA undefined */
	}
	if (type == SEAM_SFRAME_FDE_DEFAULT)
		return check_default(w);
	if (type == SEAM_SFRAME_FDE_FLEX_ADD) {
		/* The last word is added to the CFA: any will do. */
		if (w->num < 3)
			return refuse_word(w, 0,
					   "a row lacks the word for its CFA");
		w->num--;
	}
	return check_flex(w);
}

/* The start, and its place among the others. */
static int check_start(const struct words *w, const struct seam_sframe_func *f,
		       int64_t *prev_off)
{
	const struct seam_sframe_verify *v = w->v;
	int64_t off = w->row.start;
	bool in_blocks = f->info & SEAM_SFRAME_INFO_PCMASK &&
			 v->sf.version != SEAM_SFRAME_V1;

	if (off <= *prev_off)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_ROW, w->row.at,
			"a row does not start after the one before it");
	/* A row at the very end covers nothing: assemblers write such. */
	if (in_blocks ? off >= f->rep_size : off > f->size)
		return seam_sframe_refuse(v, SEAM_SFRAME_ROW, w->row.at,
					  "a row starts outside its function");
	*prev_off = off;
	return 0;
}

int seam_sframe_verify_row(const struct seam_sframe_verify *v,
			   const struct seam_sframe_func *f, uint64_t at,
			   int64_t *prev_off)
{
	uint64_t width = 1ull << (f->info & SEAM_SFRAME_INFO_FRE_TYPE);
	struct words w = {.v = v};
	uint8_t info;
	int r;

	if (v->sf.end - at < width + 1)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_ROW, at,
			"a row runs past the end of the rows");
	info = seam_sframe_u8(&v->sf, at + width);
	if (SEAM_SFRAME_FRE_SIZE(info) == 3)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_ROW, at + width,
			"the size of a row's words is unknown");
	if (info & SEAM_SFRAME_FRE_MANGLED && v->sf.arch != SEAM_ARCH_AARCH64)
		return seam_sframe_refuse(
			v, SEAM_SFRAME_ROW, at + width,
			"the ABI has no mangled return addresses");
	if (seam_sframe_row_at(&v->sf, f, (uint32_t)at, &w.row))
		return seam_sframe_refuse(
			v, SEAM_SFRAME_ROW, at,
			"a row runs past the end of the rows");
	w.num = SEAM_SFRAME_FRE_COUNT(info);
	r = check_start(&w, f, prev_off);
	if (!r)
		r = check_words(&w, f);
	return r ? r : (int)(w.row.next - w.row.at);
}
