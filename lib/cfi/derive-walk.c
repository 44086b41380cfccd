// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Follows every path of one function. What holds before an instruction is
 * the same on all paths that lead to it, or the function is given up.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "cfi/derive-private.h"

#define SLOTS (2 * SEAM_DERIVE_MAX_INSNS) /* a power of two */

struct path {
	uint64_t svma;
	struct seam_height height;
};

struct seam_walk {
	struct seam_derive *d;
	uint32_t func;
	uint64_t entry, limit;
	size_t first; /* of this function's visits */
	struct seam_hole hole; /* the last one looked up */
	uint32_t slots[SLOTS]; /* index of a visit from first, + 1 */
	uint32_t used[SEAM_DERIVE_MAX_INSNS]; /* of these, the visits' */
	size_t num_used;
	struct path paths[SEAM_DERIVE_MAX_INSNS];
	size_t num_paths;
	bool failed;
	int err;
};

static const struct seam_height at_entry = {.height = 8};

static bool same(const struct seam_height *a, const struct seam_height *b)
{
	return a->height == b->height && a->saved == b->saved &&
	       a->fp == b->fp && a->frame == b->frame;
}

/* As a caller left it, or wants it back. */
static bool is_clean(const struct seam_height *h)
{
	return same(h, &at_entry);
}

static uint32_t *find_slot(struct seam_walk *w, uint64_t svma)
{
	size_t i = (svma * 0x9e3779b97f4a7c15) >> 32;

	for (;; i++) {
		uint32_t *slot = &w->slots[i & (SLOTS - 1)];

		if (!*slot || w->d->visits[w->first + *slot - 1].svma == svma)
			return slot;
	}
}

static bool in_hole(struct seam_walk *w, uint64_t svma)
{
	if (svma >= w->hole.start && svma < w->hole.end)
		return true;
	return seam_derive_hole(w->d, svma, &w->hole);
}

/* Below the stack pointer a signal may write over what was saved. */
static bool set_height(struct seam_height *h, int64_t height)
{
	if (height < 8 || height > SEAM_DERIVE_MAX_HEIGHT)
		return false;
	h->height = (int32_t)height;
	if (h->saved > h->height) {
		if (h->fp != SEAM_FP_CALLERS)
			return false;
		h->saved = 0;
	}
	return true;
}

/* The return address and the saved rbp stay what they are. */
static bool store_is_fine(const struct seam_height *h,
			  const struct seam_insn *in)
{
	int64_t at, end;

	if (in->store_sp)
		at = in->store_disp - h->height;
	else if (in->store_fp && h->fp == SEAM_FP_FRAME)
		at = in->store_disp - h->frame;
	else
		return true;
	end = at + in->store_size;
	if (at < 0 && end > -8)
		return false;
	return !h->saved || at >= 8 - h->saved || end <= -h->saved;
}

static bool lose_fp(struct seam_height *h, uint8_t fp, int32_t frame)
{
	if (!h->saved)
		return false;
	h->fp = fp;
	h->frame = frame;
	return true;
}

static bool pop(struct seam_height *h, bool is_fp)
{
	bool restores = h->saved && h->saved == h->height;

	if (is_fp) {
		if (!restores && !h->saved)
			return false;
		h->fp = restores ? SEAM_FP_CALLERS : SEAM_FP_OTHER;
		h->frame = 0;
	}
	return set_height(h, (int64_t)h->height - 8);
}

static bool sp_from_fp(struct seam_height *h, int64_t off)
{
	return h->fp == SEAM_FP_FRAME && set_height(h, h->frame - off);
}

/* What holds after an instruction. Return: false if that is not known. */
static bool apply(struct seam_height *h, const struct seam_insn *in)
{
	int64_t frame = (int64_t)h->height - in->imm;

	if (!store_is_fine(h, in))
		return false;
	switch ((enum seam_insn_op)in->op) {
	case SEAM_OP_NONE:
		return true;
	case SEAM_OP_SP_ADD:
		return set_height(h, frame);
	case SEAM_OP_PUSH:
		return set_height(h, (int64_t)h->height + in->imm);
	case SEAM_OP_PUSH_FP:
		if (!set_height(h, (int64_t)h->height + 8))
			return false;
		if (h->fp == SEAM_FP_CALLERS && !h->saved)
			h->saved = h->height;
		return true;
	case SEAM_OP_POP:
	case SEAM_OP_POP_FP:
		return pop(h, in->op == SEAM_OP_POP_FP);
	case SEAM_OP_FP_FROM_SP:
		return frame >= INT32_MIN && frame <= INT32_MAX &&
		       lose_fp(h, SEAM_FP_FRAME, (int32_t)frame);
	case SEAM_OP_SP_FROM_FP:
		return sp_from_fp(h, in->imm);
	case SEAM_OP_LEAVE:
		return sp_from_fp(h, 0) && pop(h, true);
	case SEAM_OP_FP_LOST:
		return lose_fp(h, SEAM_FP_OTHER, 0);
	}
	return false;
}

static void add_path(struct seam_walk *w, uint64_t svma,
		     const struct seam_height *height)
{
	if (w->num_paths == SEAM_DERIVE_MAX_INSNS) {
		w->failed = true;
		return;
	}
	w->paths[w->num_paths++] = (struct path){svma, *height};
}

/* The function relies on another one to return as it should. */
static void rely(struct seam_walk *w, uint64_t target)
{
	struct seam_derive *d = w->d;
	struct seam_derive_func *f = seam_derive_func_at(d, target);

	/* Code with an FDE, and what linkers make, keeps to the ABI. */
	if (seam_derive_is_plt(d, target) || seam_derive_has_fde(d, target))
		return;
	if (!in_hole(w, target) || (f && f->is_tail)) {
		w->failed = true;
		/* Then more than one way leads there. */
		if (f)
			f->failed = true;
		return;
	}
	w->err = seam_grow(&d->calls, d->num_calls + 1, &d->max_calls,
			   sizeof(*d->calls));
	if (w->err)
		return;
	d->calls[d->num_calls++] = (struct seam_derive_call){target, w->func};
	w->err = seam_derive_add(d, target, 0);
}

/*
 * A jump out of the function leaves the frame as it was at the entry, and
 * what it leads to is a function of its own. So is, for all that its rules
 * are concerned, any code which is jumped to like that.
 */
static void jump(struct seam_walk *w, uint64_t target,
		 const struct seam_height *h, bool is_branch)
{
	bool outside = !in_hole(w, target) ||
		       (w->limit && (target < w->entry || target >= w->limit));

	if (!outside && (is_branch || w->limit || !is_clean(h)))
		add_path(w, target, h);
	else if (is_clean(h))
		rely(w, target);
	else
		w->failed = true;
}

/* What a linkage table has pushed for it, the dynamic linker takes off. */
static bool may_leave(const struct seam_walk *w, uint64_t svma,
		      const struct seam_height *h)
{
	return is_clean(h) || (seam_derive_is_plt(w->d, svma) && !h->saved);
}

/* Return: whether the instruction after it may run, with h. */
static bool follow(struct seam_walk *w, uint64_t svma,
		   const struct seam_insn *in, struct seam_height *h)
{
	if (in->flow == SEAM_FLOW_BAD || !apply(h, in)) {
		w->failed = true;
		return false;
	}
	switch ((enum seam_insn_flow)in->flow) {
	case SEAM_FLOW_NEXT:
	case SEAM_FLOW_CALL_INDIRECT:
		return true;
	case SEAM_FLOW_JUMP:
		jump(w, in->target, h, false);
		return false;
	case SEAM_FLOW_BRANCH:
		jump(w, in->target, h, true);
		return true;
	case SEAM_FLOW_CALL:
		rely(w, in->target);
		return true;
	case SEAM_FLOW_JUMP_INDIRECT:
		w->failed |= !may_leave(w, svma, h);
		return false;
	case SEAM_FLOW_RET:
		w->failed |= !is_clean(h);
		return false;
	default:
		return false;
	}
}

static void add_visit(struct seam_walk *w, uint32_t *slot,
		      const struct path *at, const struct seam_insn *in)
{
	struct seam_derive *d = w->d;

	if (d->num_visits - w->first == SEAM_DERIVE_MAX_INSNS) {
		w->failed = true;
		return;
	}
	w->err = seam_grow(&d->visits, d->num_visits + 1, &d->max_visits,
			   sizeof(*d->visits));
	if (w->err)
		return;
	d->visits[d->num_visits++] = (struct seam_visit){
		.svma = at->svma,
		.height = at->height,
		.func = w->func,
		.len = in->len,
		.is_call = in->flow == SEAM_FLOW_CALL ||
			   in->flow == SEAM_FLOW_CALL_INDIRECT,
	};
	*slot = (uint32_t)(d->num_visits - w->first);
	w->used[w->num_used++] = (uint32_t)(slot - w->slots);
}

/* Most functions are much smaller than all the slots. */
static void clear_slots(struct seam_walk *w)
{
	while (w->num_used)
		w->slots[w->used[--w->num_used]] = 0;
}

/* Where code ends: fine behind a call, which then does not return. */
static bool ends_here(struct seam_walk *w, uint64_t svma, bool after_call)
{
	if (in_hole(w, svma) && !(w->limit && svma >= w->limit))
		return false;
	if (!after_call)
		w->failed = true;
	return true;
}

static void walk_path(struct seam_walk *w, struct path at)
{
	struct seam_derive *d = w->d;
	bool after_call = false, goes_on = true;
	struct seam_insn in;

	while (goes_on && !w->err && !w->failed) {
		uint32_t *slot;

		if (ends_here(w, at.svma, after_call))
			return;
		slot = find_slot(w, at.svma);
		if (*slot) {
			w->failed |=
				!same(&at.height,
				      &d->visits[w->first + *slot - 1].height);
			return;
		}
		if (!seam_decode(d->decoder,
				 w->hole.bytes + (at.svma - w->hole.start),
				 w->hole.end - at.svma, at.svma, &in) ||
		    (d->start >= at.svma && d->start - at.svma < in.len)) {
			w->failed = true;
			return;
		}
		add_visit(w, slot, &at, &in);
		if (w->err || w->failed)
			return;
		after_call = d->visits[d->num_visits - 1].is_call;
		goes_on = follow(w, at.svma, &in, &at.height);
		at.svma += in.len;
	}
}

int seam_derive_walk(struct seam_derive *d, uint32_t func)
{
	struct seam_walk *w = d->walk;

	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			return -ENOMEM;
		d->walk = w;
	}
	clear_slots(w);
	w->d = d;
	w->func = func;
	w->entry = d->funcs[func].entry;
	w->limit = d->funcs[func].limit;
	w->first = d->num_visits;
	w->num_paths = 0;
	w->failed = false;
	add_path(w, w->entry, &at_entry);
	while (w->num_paths && !w->err && !w->failed)
		walk_path(w, w->paths[--w->num_paths]);
	d->funcs[func].failed = w->failed;
	return w->err;
}
