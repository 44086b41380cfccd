// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A system call right behind an FDE's last instruction. The C library's
 * clone and clone3 end their CFI there, for the child returns from the call
 * on a stack of its own; in the parent nothing has changed, and much of the
 * time that starting a thread takes is spent in that call.
 *
 * The rule holds on the instruction itself. A stack taken in a system call is
 * looked up there, though its ip is the one behind; a child that has not run
 * yet is known by its registers, so that this rule is not asked
 * (REGS_CLONED). On the few instructions from there to the child's own FDE
 * the parent's rule would give the child a caller that is none. Only rax tells
 * them apart, which no table can say: rows for these are kept aside, where all
 * that is done there is to send whoever has a 0 to code whose FDE says that it
 * has no caller.
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

/* Code without a caller, as its FDE says. */
static bool is_outermost(const struct seam_derive *d, uint64_t svma)
{
	struct seam_cfi_row row;

	return !seam_cfi_find(d->cfi, svma, &row, NULL) &&
	       row.regs[SEAM_CFI_REGS - 1].how == SEAM_CFI_UNDEFINED;
}

#define TEST_RAX "\x48\x85\xc0"
#define MAX_FORK 4 /* instructions behind the system call */

enum condition { COND_E = 4, COND_S = 8, COND_L = 12 };

/* A conditional jump's condition, as it is encoded, or -1. */
static int condition_of(const uint8_t *p, const struct seam_insn *in)
{
	if (in->flow != SEAM_FLOW_BRANCH)
		return -1;
	if (in->len == 2 && (p[0] & 0xf0) == 0x70)
		return p[0] & 0xf;
	return in->len == 6 && p[0] == 0x0f ? p[1] & 0xf : -1;
}

/*
 * Reads "test %rax, %rax; jl error; je child; ret", the jump to error or not,
 * and the return or not.
 * Return: the number of instructions; 0: something else is there.
 */
static size_t read_fork(struct seam_derive *d, uint64_t at,
			uint8_t lens[static MAX_FORK])
{
	struct seam_hole hole;
	const uint8_t *p;
	struct seam_insn in;
	bool forked = false;
	uint64_t off = 0;
	size_t n;

	if (!seam_derive_hole(d, at, &hole))
		return 0;
	p = hole.bytes;
	for (n = 0; n < MAX_FORK && off < hole.end - at; n++, off += in.len) {
		int condition;

		if (!seam_decode(d->decoder, p + off, hole.end - at - off,
				 at + off, &in))
			break;
		condition = condition_of(p + off, &in);
		if (n == 0   ? in.len != 3 || memcmp(p, TEST_RAX, 3)
		    : forked ? in.flow != SEAM_FLOW_RET
			     : condition != COND_L && condition != COND_S &&
				       condition != COND_E)
			break;
		if (condition == COND_E) {
			if (!is_outermost(d, in.target))
				return 0;
			forked = true;
		}
		lens[n] = in.len;
	}
	return forked ? n : 0;
}

static int add_visit(struct seam_derive *d, uint32_t func, uint64_t svma,
		     uint8_t len, bool forked)
{
	int err = seam_grow(&d->visits, d->num_visits + 1, &d->max_visits,
			    sizeof(*d->visits));

	if (err)
		return err;
	d->visits[d->num_visits++] = (struct seam_visit){
		.svma = svma,
		.height = d->funcs[func].height,
		.func = func,
		.len = len,
		.is_forked = forked,
	};
	return 0;
}

int seam_derive_visit_tail(struct seam_derive *d, uint32_t func)
{
	uint64_t at = d->funcs[func].entry;
	uint8_t lens[MAX_FORK];
	int err = add_visit(d, func, at, SYSCALL_LEN, false);
	size_t n = read_fork(d, at + SYSCALL_LEN, lens);

	at += SYSCALL_LEN;
	for (size_t i = 0; !err && i < n; at += lens[i], i++)
		err = add_visit(d, func, at, lens[i], true);
	return err;
}
