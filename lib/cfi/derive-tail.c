// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A system call right behind an FDE's last instruction. The C library's
 * clone and clone3 end their CFI there, for the child returns from the call
 * on a stack of its own; in the parent nothing has changed, and much of the
 * time that starting a thread takes is spent in that call.
 *
 * The rule holds on the instruction itself and not behind it. A stack taken
 * in a system call is looked up at the instruction, though its ip is the one
 * behind; a child that has not run yet is known by its registers, so that
 * this rule is not asked (ELEMENT_CLONED). On the few instructions from there
 * to the child's own FDE nothing tells parent and child apart, and with the
 * parent's rule the child's stack would give a caller that is none: these
 * have no rule.
 */
#include <string.h>

#include "base/grow.h"
#include "cfi/derive-private.h"
#include "cfi/private.h"
#include "core/arch.h"

#define SYSCALL_LEN 2
/* Real files have two. */
#define MAX_TAILS 64
#define MAX_FUNC_BYTES 4096

static bool is_syscall(const struct seam_derive *d, uint64_t svma)
{
	const uint8_t *p = seam_derive_bytes(d, svma, SYSCALL_LEN);

	return p && !memcmp(p, "\x0f\x05", SYSCALL_LEN);
}

/* The instruction that ends where its FDE does, when all of those before it
 * are read one after another. */
static bool last_insn(struct seam_derive *d, const struct seam_cfi_range *range,
		      struct seam_insn *ret)
{
	uint64_t at = range->start, size = range->end - at;
	const uint8_t *p;

	if (size > MAX_FUNC_BYTES)
		return false;
	p = seam_derive_bytes(d, at, size);
	while (p && at < range->end) {
		if (!seam_decode(d->decoder, p + (at - range->start),
				 range->end - at, at, ret))
			return false;
		at += ret->len;
	}
	return p && at == range->end;
}

/* Nothing is done to the stack; rows may not say so at the very end. */
static bool is_harmless(const struct seam_insn *in)
{
	return in->flow == SEAM_FLOW_NEXT && in->op == SEAM_OP_NONE &&
	       !in->store_sp && !in->store_fp;
}

bool seam_derive_height(const struct seam_cfi_row *row, struct seam_height *ret)
{
	const struct seam_cfi_reg *fp = &row->regs[SEAM_AMD64_REG_FP];
	const struct seam_cfi_reg *ra = &row->regs[SEAM_CFI_REGS - 1];

	*ret = (struct seam_height){.fp = SEAM_FP_CALLERS};
	if (row->signal || row->cfa_is_expr ||
	    row->cfa_reg != SEAM_AMD64_REG_SP || row->cfa_off < 8 ||
	    row->cfa_off > SEAM_DERIVE_MAX_HEIGHT ||
	    ra->how != SEAM_CFI_OFFSET || ra->off != -8)
		return false;
	ret->height = (int32_t)row->cfa_off;
	if (fp->how == SEAM_CFI_SAME)
		return true;
	/* Where it is saved, what it holds now does not matter. */
	if (fp->how != SEAM_CFI_OFFSET || fp->off > -16 ||
	    fp->off < -row->cfa_off)
		return false;
	ret->saved = (int32_t)-fp->off;
	ret->fp = SEAM_FP_OTHER;
	return true;
}

static int add_tail(struct seam_derive *d, uint64_t svma,
		    const struct seam_height *height)
{
	size_t before = d->num_funcs;
	int err = seam_derive_add(d, svma, 0);

	/* Else it is a function's beginning as well, which has its own. */
	if (err || d->num_funcs == before)
		return err;
	d->funcs[before].is_tail = true;
	d->funcs[before].height = *height;
	return 0;
}

int seam_derive_tails(struct seam_derive *d)
{
	unsigned int left = MAX_TAILS;
	int err = 0;

	for (size_t i = 0; d->cfi && !err && i < d->cfi->num_ranges; i++) {
		const struct seam_cfi_range *range = &d->cfi->ranges[i];
		uint64_t end = range->end;
		struct seam_cfi_row row;
		struct seam_height height;
		struct seam_insn in;

		if (range->start >= end || seam_derive_has_fde(d, end) ||
		    !is_syscall(d, end))
			continue;
		if (!left--)
			break;
		if (last_insn(d, range, &in) && is_harmless(&in) &&
		    !seam_cfi_find(d->cfi, end - 1, &row, NULL) &&
		    row.func_end == end && seam_derive_height(&row, &height))
			err = add_tail(d, end, &height);
	}
	return err;
}

int seam_derive_visit_tail(struct seam_derive *d, uint32_t func)
{
	const struct seam_derive_func *f = &d->funcs[func];
	int err = seam_grow(&d->visits, d->num_visits + 1, &d->max_visits,
			    sizeof(*d->visits));

	if (err)
		return err;
	d->visits[d->num_visits++] = (struct seam_visit){
		.svma = f->entry,
		.height = f->height,
		.func = func,
		.len = SYSCALL_LEN,
	};
	return 0;
}
