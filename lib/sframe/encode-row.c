// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/encode-row.h"

#include <string.h>

#include "core/sframe-format.h"
#include "sframe/encode.h"

#define MAX_WORDS 7

/* A register that a frame's values can be found from: not amd64's column of
 * the return address, which no instruction can name. */
static bool is_base_reg(const struct seam_sframe_target *t, uint8_t reg)
{
	return seam_arch_has_reg(t->arch, reg) &&
	       !(t->arch == SEAM_ARCH_AMD64 && reg == SEAM_AMD64_REG_IP);
}

static bool is_base(const struct seam_sframe_target *t,
		    const struct seam_value *v)
{
	return (v->kind == SEAM_REG_OFF || v->kind == SEAM_REG_DEREF) &&
	       is_base_reg(t, v->reg);
}

/* The format has words for these; CFA + off itself is not among them. */
static bool is_slot(const struct seam_sframe_target *t,
		    const struct seam_value *v)
{
	return v->kind == SEAM_SAME || v->kind == SEAM_CFA_DEREF ||
	       is_base(t, v);
}

static struct seam_value value_of(const struct seam_value *v)
{
	switch (v->kind) {
	case SEAM_SAME:
		return (struct seam_value){0};
	case SEAM_CFA_DEREF:
		return (struct seam_value){.kind = v->kind, .off = v->off};
	default:
		return (struct seam_value){
			.kind = v->kind, .reg = v->reg, .off = v->off};
	}
}

/* In its own register it is where it was. */
static bool is_in(const struct seam_value *v, uint8_t reg)
{
	return v->kind == SEAM_REG_OFF && v->reg == reg && !v->off;
}

static struct seam_value ra_of(const struct seam_sframe_target *t,
			       const struct seam_value *v)
{
	int8_t fixed = seam_arch_ra_off(t->arch);

	if (fixed ? v->kind == SEAM_CFA_DEREF && v->off == fixed
		  : is_in(v, seam_arch_ra(t->arch)))
		return (struct seam_value){0};
	return value_of(v);
}

static struct seam_value fp_of(const struct seam_sframe_target *t,
			       const struct seam_value *v)
{
	return is_in(v, seam_arch_fp(t->arch)) ? (struct seam_value){0}
					       : value_of(v);
}

/* s390x in V2: an even word is an offset, an odd one a register. */
static bool fits_odd_word(const struct seam_value *v)
{
	return v->kind == SEAM_SAME ||
	       (v->kind == SEAM_CFA_DEREF && !(v->off & 1)) ||
	       (v->kind == SEAM_REG_OFF && !v->off);
}

static bool has_odd_words(const struct seam_sframe_target *t)
{
	return t->version == SEAM_SFRAME_V2 && t->arch == SEAM_ARCH_S390X;
}

/*
 * Whether RA is what a DEFAULT row can say: nothing; or a word, of which 0 is
 * taken, and that stands in front of FP's. Only s390x has 0 for "not saved".
 */
static bool fits_default_ra(const struct seam_sframe_target *t,
			    const struct seam_rule *rule)
{
	const struct seam_value *ra = &rule->ra;

	if (ra->kind == SEAM_SAME)
		return t->arch != SEAM_ARCH_AARCH64 ||
		       rule->fp.kind == SEAM_SAME;
	if (t->arch == SEAM_ARCH_AMD64)
		return false;
	if (has_odd_words(t))
		return fits_odd_word(ra) &&
		       !(ra->kind == SEAM_CFA_DEREF && !ra->off);
	return ra->kind == SEAM_CFA_DEREF && ra->off;
}

static bool fits_default_fp(const struct seam_sframe_target *t,
			    const struct seam_value *fp)
{
	if (has_odd_words(t))
		return fits_odd_word(fp);
	return fp->kind == SEAM_SAME || fp->kind == SEAM_CFA_DEREF;
}

static bool fits_default_cfa(const struct seam_sframe_target *t,
			     const struct seam_value *cfa)
{
	return cfa->kind == SEAM_REG_OFF &&
	       (cfa->reg == seam_arch_fp(t->arch) ||
		cfa->reg == seam_arch_sp(t->arch));
}

static bool fits_default(const struct seam_sframe_target *t,
			 const struct seam_rule *rule)
{
	if (rule->flags & SEAM_RULE_OUTERMOST)
		return true;
	return fits_default_cfa(t, &rule->cfa) && fits_default_ra(t, rule) &&
	       fits_default_fp(t, &rule->fp);
}

/* What no version can hold. */
static const char *check_rule(const struct seam_sframe_target *t,
			      const struct seam_rule *rule)
{
	if (!is_base(t, &rule->cfa))
		return "a CFA that is not found from a register";
	if (!is_slot(t, &rule->ra))
		return "a return address that is no saved or register value";
	if (!is_slot(t, &rule->fp))
		return "a frame pointer that is no saved or register value";
	if (rule->flags & SEAM_RULE_MANGLED && t->arch != SEAM_ARCH_AARCH64)
		return "a signed return address";
	if (rule->cfa_add && (rule->cfa.kind != SEAM_REG_DEREF ||
			      !(t->flags & SEAM_SFRAME_ALLOW_ADD)))
		return "a CFA that is read and then added to";
	if (t->arch == SEAM_ARCH_S390X &&
	    (rule->cfa.off - (int64_t)SEAM_SFRAME_S390X_CFA_ADJUST) %
		    SEAM_SFRAME_S390X_CFA_SCALE)
		return "a CFA offset that is no multiple of 8";
	return NULL;
}

static const char *check_v2(const struct seam_sframe_target *t,
			    const struct seam_rule *rule)
{
	if (!fits_default_cfa(t, &rule->cfa))
		return "a CFA that is not SP or FP plus an offset, in V2";
	if (rule->ra.kind == SEAM_SAME && !fits_default_ra(t, rule))
		return "FP saved without the return address, in V2";
	if (!fits_default_ra(t, rule))
		return "a return address that V2 has no place for";
	if (!fits_default_fp(t, &rule->fp))
		return "a frame pointer that V2 has no place for";
	return NULL;
}

const char *seam_sframe_normalise(const struct seam_sframe_target *t,
				  const struct seam_rule *rule,
				  struct seam_rule *ret)
{
	struct seam_rule to = {0};
	const char *why;

	if (rule->flags & SEAM_RULE_OUTERMOST) {
		*ret = (struct seam_rule){.flags = SEAM_RULE_OUTERMOST};
		return NULL;
	}
	why = check_rule(t, rule);
	if (why)
		return why;
	to.cfa = value_of(&rule->cfa);
	to.ra = ra_of(t, &rule->ra);
	to.fp = fp_of(t, &rule->fp);
	to.cfa_add = rule->cfa_add;
	to.flags = rule->flags & SEAM_RULE_MANGLED;
	why = t->version == SEAM_SFRAME_V2 ? check_v2(t, &to) : NULL;
	if (!why)
		*ret = to;
	return why;
}

uint8_t seam_sframe_rows_type(const struct seam_sframe_target *t,
			      const struct seam_sframe_in_row *rows, size_t num)
{
	uint8_t type = SEAM_SFRAME_FDE_DEFAULT;

	for (size_t i = 0; i < num; i++) {
		if (rows[i].rule.cfa_add)
			return SEAM_SFRAME_FDE_FLEX_ADD;
		if (!fits_default(t, &rows[i].rule))
			type = SEAM_SFRAME_FDE_FLEX;
	}
	return type;
}

/* The words of one row, before their size is known. */
struct words {
	int32_t w[MAX_WORDS];
	unsigned int count;
	uint32_t bits; /* those that a word has to have, less its sign */
};

static void push(struct words *words, int32_t w)
{
	words->w[words->count++] = w;
	words->bits |= (uint32_t)(w ^ w >> 31);
}

/* Control words are unsigned: they need no bit for a sign. */
static void push_control(struct words *words, uint32_t control)
{
	words->w[words->count++] = (int32_t)control;
	words->bits |= control >> 1;
}

static int32_t cfa_word(const struct seam_sframe_target *t, int32_t off)
{
	int64_t scaled = off;

	if (t->arch == SEAM_ARCH_S390X)
		scaled = (scaled - SEAM_SFRAME_S390X_CFA_ADJUST) /
			 SEAM_SFRAME_S390X_CFA_SCALE;
	return (int32_t)scaled;
}

static void push_pair(struct words *words, const struct seam_value *v,
		      int32_t word)
{
	uint32_t control = 0;

	if (v->kind == SEAM_REG_OFF || v->kind == SEAM_REG_DEREF)
		control = (uint32_t)v->reg << 3 | SEAM_SFRAME_FLEX_REG;
	if (v->kind == SEAM_CFA_DEREF || v->kind == SEAM_REG_DEREF)
		control |= SEAM_SFRAME_FLEX_DEREF;
	push_control(words, control);
	push(words, word);
}

static void push_flex(const struct seam_sframe_target *t, struct words *words,
		      const struct seam_rule *rule, uint8_t type)
{
	push_pair(words, &rule->cfa, cfa_word(t, rule->cfa.off));
	if (rule->ra.kind != SEAM_SAME)
		push_pair(words, &rule->ra, rule->ra.off);
	else if (rule->fp.kind != SEAM_SAME)
		push(words, 0); /* stands alone: no rule for RA */
	if (rule->fp.kind != SEAM_SAME)
		push_pair(words, &rule->fp, rule->fp.off);
	if (type == SEAM_SFRAME_FDE_FLEX_ADD)
		push(words, rule->cfa_add);
}

static int32_t slot_word(const struct seam_value *v)
{
	return v->kind == SEAM_REG_OFF ? v->reg << 1 | 1 : v->off;
}

static void push_default(const struct seam_sframe_target *t,
			 struct words *words, const struct seam_rule *rule)
{
	push(words, cfa_word(t, rule->cfa.off));
	if (t->arch != SEAM_ARCH_AMD64 &&
	    (rule->ra.kind != SEAM_SAME || rule->fp.kind != SEAM_SAME))
		push(words, slot_word(&rule->ra));
	if (rule->fp.kind != SEAM_SAME)
		push(words, slot_word(&rule->fp));
}

uint8_t *seam_sframe_put_row(const struct seam_sframe_target *t, uint8_t *p,
			     uint32_t start, unsigned int start_log2,
			     const struct seam_rule *rule, uint8_t type)
{
	struct words words = {.count = 0};
	unsigned int log2;
	uint8_t info = 0;

	p = seam_sframe_put(t, p, start, (size_t)1 << start_log2);
	if (rule->flags & SEAM_RULE_OUTERMOST) {
		*p++ = 0;
		return p;
	}
	if (type == SEAM_SFRAME_FDE_DEFAULT) {
		push_default(t, &words, rule);
		if (rule->cfa.reg == seam_arch_sp(t->arch))
			info = SEAM_SFRAME_FRE_BASE_SP;
	} else {
		push_flex(t, &words, rule, type);
	}
	if (rule->flags & SEAM_RULE_MANGLED)
		info |= SEAM_SFRAME_FRE_MANGLED;
	log2 = words.bits < 0x80 ? 0 : words.bits < 0x8000 ? 1 : 2;
	*p++ = (uint8_t)(info | words.count << 1 | log2 << 5);
	for (unsigned int i = 0; i < words.count; i++)
		p = seam_sframe_put(t, p, (uint32_t)words.w[i],
				    (size_t)1 << log2);
	return p;
}
