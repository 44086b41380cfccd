// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Each function's rows, by numbers: the converter's way through CFI. */
#include "cfi/take.h"

#include <stdlib.h>

#include "base/grow.h"
#include "core/err.h"

/* Return: NULL: its FDEs are not for the short way. */
static const struct seam_cfi_initial *initial_of(struct seam_cfi_take *t,
						 const struct seam_cie *cie)
{
	struct seam_cfi_initial *in = &t->initial[cie - t->cfi->work->cies];

	if (in->sec != cie->sec || in->off != cie->off) {
		in->sec = cie->sec;
		in->off = cie->off;
		in->is_state = !cie->program_fault.code &&
			       cie->code_align < 256 &&
			       cie->data_align > INT16_MIN &&
			       cie->data_align < INT16_MAX &&
			       seam_cfi_state_pack(t->states, &cie->initial,
						   &in->state);
	}
	return in->is_state ? in : NULL;
}

static int keep_row(void *ctx, const struct seam_cfi_row *row)
{
	uint32_t state = seam_cfi_state_of_row(
		((struct seam_cfi_take *)ctx)->states, row);
	struct seam_cfi_take *t = ctx;

	if (state == SEAM_CFI_STATE_NONE)
		return t->states->rc;
	if (t->num_rows && t->rows[t->num_rows - 1].what == state)
		return 0;
	if (seam_grow(&t->rows, t->num_rows + 1, &t->max_rows,
		      sizeof(*t->rows)))
		return -ENOMEM;
	t->rows[t->num_rows++] = (struct seam_span){row->start, state};
	return 0;
}

static void take_bad(void *ctx, const struct seam_cfi_section *sec,
		     const struct seam_fde *fde,
		     const struct seam_cfi_fault *fault)
{
	const struct seam_cfi_take *t = ctx;
	struct seam_errinfo why;

	seam_cfi_errinfo(&why, sec, fault);
	t->taker->bad(t->taker->ctx, fde->start, fde->end, &why);
}

static int take_fde(void *ctx, const struct seam_cfi_section *sec,
		    const struct seam_fde *fde)
{
	struct seam_cfi_take *t = ctx;
	const struct seam_cfi_initial *initial;
	struct seam_cfi_fault fault;
	int rc;

	if (seam_cfi_is_in_first(t->cfi, sec, fde))
		return 0;
	seam_cfi_states_bound(t->states);
	initial = initial_of(t, fde->cie);
	if (!initial || !seam_cfi_short_run(t, fde, initial->state)) {
		if (t->states->rc)
			return t->states->rc;
		t->num_rows = 0;
		rc = seam_fde_run(t->cfi, fde, keep_row, t, &fault);
		if (rc && fault.code)
			take_bad(t, sec, fde, &fault);
		if (rc)
			return fault.code ? 0 : rc;
	}
	return t->taker->func(t->taker->ctx, &(struct seam_cfi_func){
						     .start = fde->start,
						     .end = fde->end,
						     .signal = fde->cie->signal,
						     .key_b = fde->cie->key_b,
						     .rows = t->rows,
						     .num_rows = t->num_rows,
					     });
}

int seam_cfi_take(struct seam_cfi *cfi, const struct seam_cfi_taker *taker)
{
	struct seam_cfi_take t = {.cfi = cfi, .taker = taker};
	int rc = -ENOMEM;

	t.states = seam_cfi_states_new(cfi->arch, taker);
	if (t.states && !seam_grow(&t.rows, SEAM_CFI_SHORT_ROWS, &t.max_rows,
				   sizeof(*t.rows))) {
		seam_cfi_short_init(&t);
		rc = seam_cfi_walk_all(cfi, &(struct seam_cfi_visitor){
						    .fde = take_fde,
						    .bad = take_bad,
						    .ctx = &t,
					    });
	}
	free(t.rows);
	free(t.states);
	return rc;
}
