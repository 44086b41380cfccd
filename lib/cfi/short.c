// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The frequent call frame instructions, on a state of two words: what
 * conversions spend their time on. It reports nothing: whatever is not
 * frequent, or not sound, is left to program.c, which begins anew.
 */
#include <endian.h>
#include <string.h>

#include "cfi/run.h"
#include "cfi/take.h"
#include "core/env.h"

enum op {
	RARE,
	ADVANCE,
	ADVANCE_1,
	ADVANCE_2,
	ADVANCE_4,
	NOP,
	IGNORED, /* no operand */
	IGNORED_1, /* one number */
	CFA_OFFSET,
	CFA_OFFSET_SF,
	CFA_REGISTER,
	CFA,
	SAVE,
	RESTORE_FP,
	RESTORE_RA,
	SAVE_EXTENDED,
	REMEMBER,
	RESTORE_STATE,
	NEGATE_RA_STATE,
};

/* Registers other than SP, FP and RA do not matter here. */
static void init_register(struct seam_cfi_take *t, uint8_t reg)
{
	const struct seam_cfi_arch *arch = t->cfi->arch;
	uint8_t *save = &t->ops[OP_OFFSET | reg];
	uint8_t *restore = &t->ops[OP_RESTORE | reg];

	*save = SAVE;
	*restore = IGNORED;
	t->saves[reg] = 0;
	if (reg == arch->fp) {
		t->saves[reg] = UINT32_MAX;
		*restore = RESTORE_FP;
	} else if (reg == arch->ra) {
		t->saves[reg] = (uint64_t)UINT32_MAX << 32;
		*restore = RESTORE_RA;
	} else if (reg == arch->sp || (arch->machine == EM_AARCH64 &&
				       reg == SEAM_CFI_REG_RA_STATE)) {
		*save = RARE;
		*restore = RARE;
	}
}

void seam_cfi_short_init(struct seam_cfi_take *t)
{
	memset(t->ops, RARE, sizeof(t->ops));
	for (unsigned int i = 0; i < 64; i++) {
		t->ops[OP_ADVANCE_LOC | i] = ADVANCE;
		init_register(t, (uint8_t)i);
	}
	t->ops[OP_NOP] = NOP;
	t->ops[OP_ADVANCE_LOC1] = ADVANCE_1;
	t->ops[OP_ADVANCE_LOC2] = ADVANCE_2;
	t->ops[OP_ADVANCE_LOC4] = ADVANCE_4;
	t->ops[OP_OFFSET_EXTENDED] = SAVE_EXTENDED;
	t->ops[OP_REMEMBER_STATE] = REMEMBER;
	t->ops[OP_RESTORE_STATE] = RESTORE_STATE;
	t->ops[OP_DEF_CFA] = CFA;
	t->ops[OP_DEF_CFA_REGISTER] = CFA_REGISTER;
	t->ops[OP_DEF_CFA_OFFSET] = CFA_OFFSET;
	t->ops[OP_DEF_CFA_OFFSET_SF] = CFA_OFFSET_SF;
	t->ops[OP_GNU_ARGS_SIZE] = IGNORED_1;
	if (t->cfi->arch->machine == EM_AARCH64)
		t->ops[OP_AARCH64_NEGATE_RA_STATE] = NEGATE_RA_STATE;
}

/* What does not change during a run. */
struct setting {
	const uint8_t *begin, *end;
	bool be;
	uint64_t code_align;
	int64_t data_align;
	uint64_t initially_saved;
	const uint8_t *ops;
	const uint64_t *saves;
	struct seam_cfi_states *states;
};

/*
 * What does. It is to be kept in registers: a state of which half was just
 * stored is slow to load. So it never has an address, all that works on it is
 * inlined, and states are two words each, which compilers would copy as one.
 */
struct at {
	const uint8_t *p;
	uint64_t cfa, saved; /* the state now */
	uint64_t last_cfa, last_saved; /* of the last row */
	uint64_t loc;
	struct seam_span *row; /* the next one */
};

/* The state holds from loc on. That there is no number for it is seen at the
 * end of the run. */
SEAM_INLINE void push(const struct setting *s, struct at *at)
{
	if (at->cfa == at->last_cfa && at->saved == at->last_saved)
		return;
	at->row->start = at->loc;
	at->row->what = seam_cfi_state_number(
		s->states, (struct seam_cfi_state){at->cfa, at->saved});
	at->row++;
	at->last_cfa = at->cfa;
	at->last_saved = at->saved;
}

SEAM_INLINE void set_cfa_offset(struct at *at, uint32_t off)
{
	at->cfa = (at->cfa & ~(uint64_t)UINT32_MAX) | off;
}

/* Less than 2^40 an advance, so that there are too few for an overflow of
 * more than once. */
SEAM_INLINE void advance(const struct setting *s, struct at *at, uint64_t delta)
{
	delta *= s->code_align;
	if (delta)
		push(s, at);
	at->loc += delta;
}

SEAM_INLINE bool advance_sized(const struct setting *s, struct at *at,
			       size_t size)
{
	struct seam_bytes b = {at->p, s->end, s->be};
	uint64_t delta;

	if (!seam_bytes_uint(&b, size, &delta))
		return false;
	at->p = b.p;
	advance(s, at, delta);
	return true;
}

/* Numbers of up to 31 bits. */
SEAM_INLINE bool number(const struct setting *s, struct at *at, uint32_t *ret)
{
	struct seam_bytes b = {at->p, s->end, s->be};
	uint64_t value;

	if (!seam_bytes_uleb(&b, &value) || value > INT32_MAX)
		return false;
	at->p = b.p;
	*ret = (uint32_t)value;
	return true;
}

SEAM_INLINE bool ignore(const struct setting *s, struct at *at)
{
	uint32_t value;

	return number(s, at, &value);
}

SEAM_INLINE bool cfa_offset(const struct setting *s, struct at *at)
{
	uint32_t off;

	if (!number(s, at, &off))
		return false;
	set_cfa_offset(at, off);
	return true;
}

SEAM_INLINE bool cfa_offset_sf(const struct setting *s, struct at *at)
{
	struct seam_bytes b = {at->p, s->end, s->be};
	int64_t off;

	if (!seam_bytes_sleb(&b, &off) || off != (int32_t)off)
		return false;
	off *= s->data_align;
	if (off != (int32_t)off)
		return false;
	at->p = b.p;
	set_cfa_offset(at, (uint32_t)off);
	return true;
}

SEAM_INLINE bool cfa_register(const struct setting *s, struct at *at)
{
	uint32_t reg;

	if (!number(s, at, &reg) || reg >= s->states->arch->regs)
		return false;
	at->cfa &= ~((uint64_t)0xff << 32);
	at->cfa |= (uint64_t)reg << 32;
	return true;
}

/* mask: the half of the word that changes. */
SEAM_INLINE void set_saved(struct at *at, uint64_t mask, uint64_t saved)
{
	at->saved = (at->saved & ~mask) | (saved & mask);
}

/* Whether the register is one that matters is no branch: there would be no
 * telling where it goes. */
SEAM_INLINE bool save_at(const struct setting *s, struct at *at, uint8_t reg,
			 uint32_t factored)
{
	uint64_t mask = s->saves[reg];
	int64_t off = factored * s->data_align;

	if (mask && (off <= INT32_MIN || off > INT32_MAX))
		return false;
	set_saved(at, mask, (uint64_t)off << 32 | (uint32_t)off);
	return true;
}

SEAM_INLINE bool save(const struct setting *s, struct at *at, uint8_t reg)
{
	uint32_t factored;

	return number(s, at, &factored) && save_at(s, at, reg, factored);
}

SEAM_INLINE void restore(const struct setting *s, struct at *at, uint64_t mask)
{
	set_saved(at, mask, s->initially_saved);
}

/* Vector registers and their like; others have a shorter form. */
SEAM_INLINE bool save_extended(const struct setting *s, struct at *at)
{
	uint32_t reg;

	return number(s, at, &reg) && reg >= 64 && ignore(s, at);
}

/* What is not among the most frequent. Return: false: it is not even among
 * the frequent. */
SEAM_INLINE bool run_other(const struct setting *s, struct at *at, enum op op)
{
	switch (op) {
	case ADVANCE_2:
		return advance_sized(s, at, 2);
	case ADVANCE_4:
		return advance_sized(s, at, 4);
	case CFA_OFFSET_SF:
		return cfa_offset_sf(s, at);
	case CFA_REGISTER:
		return cfa_register(s, at);
	case CFA:
		return cfa_register(s, at) && cfa_offset(s, at);
	case RESTORE_FP:
		restore(s, at, UINT32_MAX);
		return true;
	case RESTORE_RA:
		restore(s, at, (uint64_t)UINT32_MAX << 32);
		return true;
	case SAVE_EXTENDED:
		return save_extended(s, at);
	case NEGATE_RA_STATE:
		at->cfa ^= (uint64_t)SEAM_CFI_RA_SIGNED << 40;
		return true;
	default:
		return false;
	}
}

SEAM_INLINE uint64_t load8(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

/* Programs are padded with up to seven. How many there are nobody can know,
 * so that they are not counted where that can be helped. */
SEAM_INLINE void skip_nops(const struct setting *s, struct at *at)
{
	size_t left = (size_t)(s->end - at->p);

	if (left < 8 && s->end - s->begin >= 8 &&
	    (!left || !(load8(s->end - 8) >> (64 - 8 * left)))) {
		at->p = s->end;
		return;
	}
	while (at->p < s->end && *at->p == OP_NOP)
		at->p++;
}

/*
 * The most frequent of all, in whatever order: advances, offsets of the CFA in
 * one byte or two, which follow most of them, and registers that are saved at
 * one. Up to four bytes, so not at the very end.
 */
SEAM_INLINE void run_frequent(const struct setting *s, struct at *at)
{
	uint32_t v;

	while (s->end - at->p >= 4) {
		memcpy(&v, at->p, 4);
		v = le32toh(v);
		if ((v & 0xc0) == OP_ADVANCE_LOC) {
			at->p++;
			advance(s, at, v & 0x3f);
			v >>= 8;
		}
		if ((v & 0x80ff) == OP_DEF_CFA_OFFSET) {
			at->p += 2;
			set_cfa_offset(at, v >> 8 & 0xff);
		} else if ((v & 0x80c0) == OP_OFFSET) {
			if (s->ops[v & 0xff] != SAVE ||
			    !save_at(s, at, v & 0x3f, v >> 8 & 0xff))
				return;
			at->p += 2;
		} else if ((v & 0x8080ff) == (OP_DEF_CFA_OFFSET | 0x8000)) {
			at->p += 3;
			set_cfa_offset(at, (v >> 8 & 0x7f) | (v >> 9 & 0x3f80));
		} else if ((v & 0xc0) != OP_ADVANCE_LOC) {
			return;
		}
	}
}

/* Return: false: something else is left. */
SEAM_INLINE bool run(const struct setting *s, struct at *at)
{
	uint64_t saved[SEAM_CFI_MAX_REMEMBER][2];
	unsigned int depth = 0;
	bool ok = true;
	uint8_t op;

	while (ok) {
		run_frequent(s, at);
		if (at->p == s->end)
			break;
		op = *at->p++;
		switch ((enum op)s->ops[op]) {
		case ADVANCE:
			advance(s, at, op & 0x3f);
			break;
		case ADVANCE_1:
			ok = advance_sized(s, at, 1);
			break;
		case NOP:
			skip_nops(s, at);
			break;
		case SAVE:
			ok = save(s, at, op & 0x3f);
			break;
		case IGNORED:
			break;
		case IGNORED_1:
			ok = ignore(s, at);
			break;
		case CFA_OFFSET:
			ok = cfa_offset(s, at);
			break;
		case REMEMBER:
			ok = depth < SEAM_CFI_MAX_REMEMBER;
			if (!ok)
				break;
			saved[depth][0] = at->cfa;
			saved[depth++][1] = at->saved;
			break;
		case RESTORE_STATE:
			ok = depth > 0;
			if (!ok)
				break;
			at->cfa = saved[--depth][0];
			at->saved = saved[depth][1];
			break;
		default:
			ok = run_other(s, at, s->ops[op]);
		}
	}
	push(s, at);
	return ok;
}

bool seam_cfi_short_run(struct seam_cfi_take *t, const struct seam_fde *fde,
			struct seam_cfi_state initial)
{
	const struct setting s = {
		.begin = fde->program.p,
		.end = fde->program.end,
		.be = fde->program.be,
		.code_align = fde->cie->code_align,
		.data_align = fde->cie->data_align,
		.initially_saved = initial.saved,
		.ops = t->ops,
		.saves = t->saves,
		.states = t->states,
	};
	struct at at = {
		.p = fde->program.p,
		.cfa = initial.cfa,
		.saved = initial.saved,
		.loc = fde->start,
		.row = t->rows,
	};

	if (s.end - at.p > SEAM_CFI_SHORT_MAX || !run(&s, &at) ||
	    at.loc < fde->start || t->states->rc)
		return false;
	/* What lies behind the end covers nothing. */
	while (at.row[-1].start >= fde->end)
		at.row--;
	t->num_rows = (size_t)(at.row - t->rows);
	return true;
}
