// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cfi/states.h"

#include <stdlib.h>
#include <string.h>

struct seam_cfi_states *seam_cfi_states_new(const struct seam_cfi_arch *arch,
					    const struct seam_cfi_taker *taker)
{
	struct seam_cfi_states *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arch = arch;
	s->taker = taker;
	return s;
}

void seam_cfi_states_forget(struct seam_cfi_states *s)
{
	s->taker->forget(s->taker->ctx);
	s->n = 0;
	s->has_odd = false;
	memset(s->known, 0, sizeof(s->known));
}

static bool reg_equal(const struct seam_cfi_reg *a,
		      const struct seam_cfi_reg *b)
{
	return a->how == b->how && a->reg == b->reg &&
	       a->expr_len == b->expr_len && a->off == b->off;
}

static bool kind_equal(const struct seam_cfi_arch *arch,
		       const struct seam_cfi_row *a,
		       const struct seam_cfi_row *b)
{
	return a->signal == b->signal && a->key_b == b->key_b &&
	       a->odd_column == b->odd_column &&
	       reg_equal(&a->regs[arch->sp], &b->regs[arch->sp]);
}

/* Without addresses and registers that nobody asked for. */
static struct seam_cfi_row narrow(const struct seam_cfi_arch *arch,
				  const struct seam_cfi_row *row)
{
	struct seam_cfi_row to = {
		.abi = row->abi,
		.signal = row->signal,
		.key_b = row->key_b,
		.odd_column = row->odd_column,
		.ra_state = row->ra_state,
		.cfa_is_expr = row->cfa_is_expr,
		.cfa_reg = row->cfa_reg,
		.cfa_expr_len = row->cfa_expr_len,
		.cfa_off = row->cfa_off,
		.cfa_expr = row->cfa_expr,
	};

	to.regs[arch->sp] = row->regs[arch->sp];
	to.regs[arch->fp] = row->regs[arch->fp];
	to.regs[arch->ra] = row->regs[arch->ra];
	return to;
}

/* Return: plus one; 0: there is no room for it. */
static size_t kind_of(struct seam_cfi_states *s, const struct seam_cfi_row *row)
{
	for (size_t i = 0; i < s->num_kinds; i++)
		if (kind_equal(s->arch, &s->kinds[i], row))
			return i + 1;
	if (s->num_kinds == SEAM_CFI_KINDS)
		return 0;
	s->kinds[s->num_kinds] = narrow(s->arch, row);
	return ++s->num_kinds;
}

static bool pack_saved(const struct seam_cfi_reg *reg, uint32_t *ret)
{
	if (reg->how == SEAM_CFI_SAME) {
		*ret = SEAM_CFI_SAVED_SAME;
		return true;
	}
	*ret = (uint32_t)reg->off;
	return reg->how == SEAM_CFI_OFFSET && reg->off > INT32_MIN &&
	       reg->off <= INT32_MAX;
}

static void unpack_saved(uint32_t saved, struct seam_cfi_reg *reg)
{
	*reg = (struct seam_cfi_reg){0};
	if (saved == SEAM_CFI_SAVED_SAME)
		return;
	reg->how = SEAM_CFI_OFFSET;
	reg->off = (int32_t)saved;
}

bool seam_cfi_state_pack(struct seam_cfi_states *s,
			 const struct seam_cfi_row *row,
			 struct seam_cfi_state *ret)
{
	uint32_t fp, ra;
	size_t kind;

	if (row->cfa_is_expr || row->cfa_reg == SEAM_CFI_NO_CFA ||
	    row->cfa_off < INT32_MIN || row->cfa_off > INT32_MAX ||
	    !pack_saved(&row->regs[s->arch->fp], &fp) ||
	    !pack_saved(&row->regs[s->arch->ra], &ra))
		return false;
	kind = kind_of(s, row);
	if (!kind)
		return false;
	ret->cfa = (uint32_t)row->cfa_off | (uint64_t)row->cfa_reg << 32 |
		   (uint64_t)row->ra_state << 40 | (uint64_t)kind << 48;
	ret->saved = fp | (uint64_t)ra << 32;
	return true;
}

/* In the row of its kind, where only what kinds are made of stays. */
static const struct seam_cfi_row *unpack(struct seam_cfi_states *s,
					 struct seam_cfi_state state)
{
	struct seam_cfi_row *row = &s->kinds[(state.cfa >> 48) - 1];

	row->cfa_is_expr = false;
	row->cfa_expr = NULL;
	row->cfa_expr_len = 0;
	row->cfa_off = (int32_t)(uint32_t)state.cfa;
	row->cfa_reg = (uint8_t)(state.cfa >> 32);
	row->ra_state = (uint8_t)(state.cfa >> 40);
	unpack_saved((uint32_t)state.saved, &row->regs[s->arch->fp]);
	unpack_saved((uint32_t)(state.saved >> 32), &row->regs[s->arch->ra]);
	return row;
}

static uint32_t hand_out(struct seam_cfi_states *s,
			 const struct seam_cfi_row *row)
{
	uint32_t number;

	if (!s->rc)
		s->rc = s->taker->state(s->taker->ctx, row, &number);
	if (s->rc)
		return SEAM_CFI_STATE_NONE;
	s->n++;
	return number;
}

uint32_t seam_cfi_state_miss(struct seam_cfi_states *s,
			     struct seam_cfi_state state)
{
	size_t mask = (1 << SEAM_CFI_STATE_BITS) - 1;
	size_t place = seam_cfi_state_place(state);
	struct seam_cfi_known *known = NULL;
	uint32_t number;

	for (size_t i = 0; i < SEAM_CFI_STATE_PROBES; i++) {
		known = &s->known[(place + i) & mask];
		if (!known->state.cfa)
			break;
		if (seam_cfi_state_equal(known->state, state))
			return known->number;
	}
	number = hand_out(s, unpack(s, state));
	/* Where there is no room the last one has to be numbered again. */
	if (number != SEAM_CFI_STATE_NONE)
		*known = (struct seam_cfi_known){state, number};
	return number;
}

static bool odd_equal(const struct seam_cfi_arch *arch,
		      const struct seam_cfi_row *a,
		      const struct seam_cfi_row *b)
{
	return kind_equal(arch, a, b) && a->ra_state == b->ra_state &&
	       a->cfa_is_expr == b->cfa_is_expr && a->cfa_reg == b->cfa_reg &&
	       a->cfa_off == b->cfa_off && a->cfa_expr == b->cfa_expr &&
	       a->cfa_expr_len == b->cfa_expr_len &&
	       reg_equal(&a->regs[arch->fp], &b->regs[arch->fp]) &&
	       reg_equal(&a->regs[arch->ra], &b->regs[arch->ra]);
}

uint32_t seam_cfi_state_of_row(struct seam_cfi_states *s,
			       const struct seam_cfi_row *row)
{
	struct seam_cfi_state state;

	if (seam_cfi_state_pack(s, row, &state))
		return seam_cfi_state_number(s, state);
	if (s->has_odd && odd_equal(s->arch, &s->odd, row))
		return s->odd_number;
	s->odd = narrow(s->arch, row);
	s->odd_number = hand_out(s, &s->odd);
	s->has_odd = s->odd_number != SEAM_CFI_STATE_NONE;
	return s->odd_number;
}
