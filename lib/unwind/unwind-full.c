// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "unwind/unwind-full.h"

#include <errno.h>
#include <string.h>

#include "cfi/private.h"
#include "core/err.h"
#include "unwind/tables.h"

#define REG_SP 7
#define REG_IP 16
#define GENERAL 0xffffu /* the registers below the ip */
#define FRAMES_MAX (1 << 16) /* between the base and the frame */

struct walk {
	struct seam_tables *tables;
	seam_read_memory read;
	void *ctx;
	struct seam_regs regs;
	bool exact; /* the ip is about to run */
	struct seam_cfi_row row;
};

/* seam_read_fn */
static int read_target(void *ctx, uint64_t avma, size_t size, uint64_t *ret)
{
	struct walk *w = ctx;
	uint8_t bytes[8];

	if (w->read(w->ctx, avma, bytes, size))
		return -EFAULT;
	*ret = seam_bytes_load(bytes, size, false);
	return 0;
}

/* Return: SEAM_OK, an end code, or -ENOMEM. */
static int step(struct walk *w)
{
	uint64_t bias;
	int end = SEAM_NO_RULE, err;

	err = seam_tables_row(w->tables, w->regs.r[REG_IP] - !w->exact, &w->row,
			      &bias);
	if (err)
		return err;
	if (seam_cfi_step_why(&w->row, &w->regs, bias, read_target, w, &end) !=
	    1)
		return end;
	w->exact = w->row.signal;
	return w->regs.r[REG_IP] ? SEAM_OK : SEAM_OUTERMOST;
}

static void begin(struct walk *w, const uint64_t *regs, uint32_t valid,
		  uint64_t pc, bool is_return)
{
	memcpy(w->regs.r, regs, REG_IP * sizeof(*regs));
	w->regs.r[REG_IP] = pc;
	w->regs.valid = (valid & GENERAL) | 1u << REG_IP;
	w->exact = !is_return;
}

static void begin_here(struct walk *w, const struct seam_unwind_state *state)
{
	begin(w, state->regs, state->valid, state->pc, state->is_return);
}

/* From the base to the frame. Return: 1: there; 0: it leads elsewhere;
 * -ENOMEM. */
static int begin_at_base(struct walk *w, const struct seam_unwind_state *state)
{
	const struct seam_unwind_base *base = &state->base;
	int err = SEAM_OK;

	if (!(base->valid >> REG_SP & 1))
		return 0;
	begin(w, base->regs, base->valid, base->pc, base->is_return);
	for (int i = 0; i < FRAMES_MAX && !err; i++) {
		if (w->regs.r[REG_IP] == state->pc &&
		    w->regs.r[REG_SP] == state->regs[REG_SP] &&
		    w->exact == !state->is_return)
			return 1;
		err = step(w);
	}
	return err == -ENOMEM ? err : 0;
}

static void store(const struct walk *w, struct seam_unwind_state *state)
{
	state->pc = w->regs.r[REG_IP];
	memcpy(state->regs, w->regs.r, REG_IP * sizeof(*state->regs));
	state->valid = w->regs.valid & GENERAL;
	state->is_caller = !w->exact;
	state->is_return = !w->exact;
	state->base = seam_unwind_base_of(state);
}

int seam_unwind_full(struct seam_unwind_state *state,
		     struct seam_tables *tables, seam_read_memory read,
		     void *ctx)
{
	struct walk w = {.tables = tables, .read = read, .ctx = ctx};
	int r = state->is_caller ? begin_at_base(&w, state) : 0;

	if (r < 0)
		return r;
	if (!r)
		begin_here(&w, state);
	r = step(&w);
	if (!r)
		store(&w, state);
	return r;
}
