/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A second reader of SFrame V3 for x86-64, for tests only: written from the
 * format's text, in another manner than core/sframe-read.h (it walks all
 * functions, and knows nothing of hostile bytes), so that the two do not
 * err alike.
 */
#ifndef SEAM_TESTS_MINI_H
#define SEAM_TESTS_MINI_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/rule.h"

struct mini {
	const uint8_t *bytes;
	uint64_t addr; /* of the section */
};

static inline int64_t mini_int(const uint8_t *p, int size, bool is_signed)
{
	uint64_t v = 0;

	for (int i = size - 1; i >= 0; i--)
		v = v << 8 | p[i];
	if (is_signed && size < 8 && v >> (8 * size - 1))
		v -= (uint64_t)1 << (8 * size);
	return (int64_t)v;
}

static inline void mini_value(int64_t control, int64_t off,
			      struct seam_value *v)
{
	/* deref_p is bit 1, reg_p bit 0 */
	static const uint8_t kinds[] = {SEAM_CFA_OFF, SEAM_REG_OFF,
					SEAM_CFA_DEREF, SEAM_REG_DEREF};

	v->kind = kinds[control & 3];
	v->reg = (uint8_t)(control >> 3);
	v->off = (int32_t)off;
}

static inline void mini_flex(const uint8_t *p, int n, int size,
			     struct seam_rule *rule)
{
	struct seam_value *to[] = {&rule->cfa, &rule->ra, &rule->fp};
	int i = 0, k = 0;

	while (i < n) {
		int64_t control = mini_int(p + i * size, size, false);

		if (control) {
			mini_value(control,
				   mini_int(p + (i + 1) * size, size, true),
				   to[k]);
			i++;
		}
		i++;
		k++;
	}
}

/* One row at p: its size, its start and its rule. */
static inline int mini_row(const uint8_t *p, const uint8_t *attr,
			   uint64_t *start, struct seam_rule *rule)
{
	int addr = 1 << (attr[2] & 15);
	uint8_t info = p[addr];
	int n = (info >> 1) & 15, size = 1 << ((info >> 5) & 3);
	const uint8_t *words = p + addr + 1;
	int len = addr + 1 + n * size;

	memset(rule, 0, sizeof(*rule));
	*start = (uint64_t)mini_int(p, addr, false);
	if (attr[2] & 0x80)
		rule->flags |= SEAM_RULE_SIGNAL;
	if (!n) {
		rule->flags |= SEAM_RULE_OUTERMOST;
		return len;
	}
	if (attr[3] == 0) {
		mini_value((info & 1 ? 7 : 6) << 3 | 1,
			   mini_int(words, size, true), &rule->cfa);
		if (n == 2)
			mini_value(2, mini_int(words + size, size, true),
				   &rule->fp);
		return len;
	}
	if (attr[3] == 31)
		rule->cfa_add =
			(int32_t)mini_int(words + --n * size, size, true);
	mini_flex(words, n, size, rule);
	return len;
}

/* Return: whether a row holds for pc, an address. */
static inline bool mini_find(const struct mini *m, uint64_t pc,
			     struct seam_rule *ret)
{
	const uint8_t *b = m->bytes;
	uint32_t num = (uint32_t)mini_int(b + 8, 4, false);
	const uint8_t *fres = b + 28 + mini_int(b + 24, 4, false);
	bool found = false;

	for (uint32_t i = 0; i < num; i++) {
		const uint8_t *e = b + 28 + 16 * i;
		uint64_t start = m->addr + (uint64_t)(e - b) +
				 (uint64_t)mini_int(e, 8, true);
		uint64_t size = (uint64_t)mini_int(e + 8, 4, false), off;
		const uint8_t *attr = fres + mini_int(e + 12, 4, false);
		const uint8_t *p = attr + 5;

		if (pc < start || pc >= start + size)
			continue;
		off = pc - start;
		if (attr[2] & 0x10)
			off %= attr[4];
		for (int64_t n = mini_int(attr, 2, false); n; n--) {
			struct seam_rule rule;
			uint64_t from;

			p += mini_row(p, attr, &from, &rule);
			if (from <= off) {
				*ret = rule;
				found = true;
			}
		}
		return found;
	}
	return false;
}

#endif
