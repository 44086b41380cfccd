// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "sframe/encode-row.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/sframe-format.h"
#include "sframe/encode.h"

#define REG_FP 6
#define REG_SP 7
#define REG_MAX 15
#define RA_OFF (-8) /* the header's fixed place */
#define MAX_WORDS 7

static bool is_base(const struct seam_value *v)
{
	return (v->kind == SEAM_REG_OFF || v->kind == SEAM_REG_DEREF) &&
	       v->reg <= REG_MAX;
}

/* The format has words for these; CFA + off itself is not among them. */
static bool is_slot(const struct seam_value *v)
{
	return v->kind == SEAM_SAME || v->kind == SEAM_CFA_DEREF || is_base(v);
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

int seam_sframe_normalise(uint32_t flags, const struct seam_rule *rule,
			  struct seam_rule *ret)
{
	if (rule->flags & SEAM_RULE_OUTERMOST) {
		*ret = (struct seam_rule){.flags = SEAM_RULE_OUTERMOST};
		return 0;
	}
	if (!is_base(&rule->cfa) || !is_slot(&rule->ra) || !is_slot(&rule->fp))
		return -EINVAL;
	if (rule->flags & SEAM_RULE_MANGLED)
		return -EINVAL;
	if (rule->cfa_add && (rule->cfa.kind != SEAM_REG_DEREF ||
			      !(flags & SEAM_SFRAME_ALLOW_ADD)))
		return -EINVAL;
	*ret = (struct seam_rule){
		.cfa = value_of(&rule->cfa),
		.fp = value_of(&rule->fp),
		.cfa_add = rule->cfa_add,
	};
	if (rule->ra.kind != SEAM_CFA_DEREF || rule->ra.off != RA_OFF)
		ret->ra = value_of(&rule->ra);
	return 0;
}

/* By field: what was just stored in pieces is slow to load as a whole. */
static bool value_equal(const struct seam_value *a, const struct seam_value *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->off == b->off;
}

bool seam_sframe_rule_equal(const struct seam_rule *a,
			    const struct seam_rule *b)
{
	return value_equal(&a->cfa, &b->cfa) && value_equal(&a->ra, &b->ra) &&
	       value_equal(&a->fp, &b->fp) && a->cfa_add == b->cfa_add &&
	       a->flags == b->flags;
}

static bool fits_default(const struct seam_rule *rule)
{
	if (rule->flags & SEAM_RULE_OUTERMOST)
		return true;
	return rule->cfa.kind == SEAM_REG_OFF &&
	       (rule->cfa.reg == REG_FP || rule->cfa.reg == REG_SP) &&
	       rule->ra.kind == SEAM_SAME &&
	       (rule->fp.kind == SEAM_SAME || rule->fp.kind == SEAM_CFA_DEREF);
}

uint8_t seam_sframe_rows_type(const struct seam_sframe_in_row *rows, size_t num)
{
	uint8_t type = SEAM_SFRAME_FDE_DEFAULT;

	for (size_t i = 0; i < num; i++) {
		if (rows[i].rule.cfa_add)
			return SEAM_SFRAME_FDE_FLEX_ADD;
		if (!fits_default(&rows[i].rule))
			type = SEAM_SFRAME_FDE_FLEX;
	}
	return type;
}

/* The words of one row, before their size is known. */
struct words {
	int32_t w[MAX_WORDS];
	unsigned int count;
};

static void push(struct words *words, int32_t w)
{
	words->w[words->count++] = w;
}

static void push_pair(struct words *words, const struct seam_value *v)
{
	int32_t control = 0;

	if (v->kind == SEAM_REG_OFF || v->kind == SEAM_REG_DEREF)
		control = v->reg << 3 | SEAM_SFRAME_FLEX_REG;
	if (v->kind == SEAM_CFA_DEREF || v->kind == SEAM_REG_DEREF)
		control |= SEAM_SFRAME_FLEX_DEREF;
	push(words, control);
	push(words, v->off);
}

static void push_flex(struct words *words, const struct seam_rule *rule,
		      uint8_t type)
{
	push_pair(words, &rule->cfa);
	if (rule->ra.kind != SEAM_SAME)
		push_pair(words, &rule->ra);
	else if (rule->fp.kind != SEAM_SAME)
		push(words, 0); /* stands alone: no rule for RA */
	if (rule->fp.kind != SEAM_SAME)
		push_pair(words, &rule->fp);
	if (type == SEAM_SFRAME_FDE_FLEX_ADD)
		push(words, rule->cfa_add);
}

static void push_default(struct words *words, const struct seam_rule *rule)
{
	push(words, rule->cfa.off);
	if (rule->fp.kind != SEAM_SAME)
		push(words, rule->fp.off);
}

/*
 * log2 of the bytes that the widest word needs. Control words are unsigned,
 * but those of registers 0 to 15 are below 128 and need no care.
 */
static unsigned int word_size_log2(const struct words *words)
{
	uint32_t bits = 0;

	_Static_assert((REG_MAX << 3 | 7) < 128, "control words fit s8");
	for (unsigned int i = 0; i < words->count; i++)
		bits |= (uint32_t)(words->w[i] ^ words->w[i] >> 31);
	return bits < 0x80 ? 0 : bits < 0x8000 ? 1 : 2;
}

/* Stores 8 bytes, and counts only size of them. */
static uint8_t *put(uint8_t *p, uint64_t value, size_t size)
{
	memcpy(p, &value, 8);
	return p + size;
}

uint8_t *seam_sframe_put_row(uint8_t *p, uint32_t start,
			     unsigned int start_log2,
			     const struct seam_rule *rule, uint8_t type)
{
	struct words words = {.count = 0};
	unsigned int log2;
	uint8_t base = 0;

	p = put(p, start, (size_t)1 << start_log2);
	if (rule->flags & SEAM_RULE_OUTERMOST) {
		*p++ = 0;
		return p;
	}
	if (type == SEAM_SFRAME_FDE_DEFAULT) {
		push_default(&words, rule);
		base = rule->cfa.reg == REG_SP ? SEAM_SFRAME_FRE_BASE_SP : 0;
	} else {
		push_flex(&words, rule, type);
	}
	log2 = word_size_log2(&words);
	*p++ = (uint8_t)(base | words.count << 1 | log2 << 5);
	for (unsigned int i = 0; i < words.count; i++)
		p = put(p, (uint32_t)words.w[i], (size_t)1 << log2);
	return p;
}
