/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Call frame instructions. Sources: DWARF 5, section 6.4.2; the x86-64
 * psABI, 3.7; DWARF for the Arm 64-bit Architecture, 4.1 and 4.4; the GNU
 * operations as binutils' readelf prints them.
 *
 * One machine, no allocation: a row is changed in place, and handed out each
 * time that the location moves on.
 */
#include "cfi/private.h"
#include "cfi/run.h"
#include "core/err.h"
#include "core/sframe-format.h"

/* By their DWARF numbers. */
#define APX_FIRST 130
#define APX_LAST 145

static bool move_to(struct run *r, uint64_t loc)
{
	if (r->m->in_cie)
		return bad_op(r, "a CIE moves the location");
	if (loc < r->m->loc)
		return bad_op(r, "the location moves backwards");
	if (!emit(r, loc))
		return false;
	r->m->loc = loc;
	return true;
}

static bool advance(struct run *r, uint64_t delta)
{
	uint64_t loc;

	if (__builtin_mul_overflow(delta, r->m->cie->code_align, &loc) ||
	    __builtin_add_overflow(loc, r->m->loc, &loc))
		return bad_op(r, "the location overflows");
	return move_to(r, loc);
}

static bool advance_sized(struct run *r, size_t size)
{
	uint64_t delta;

	if (!seam_bytes_uint(&r->b, size, &delta))
		return cut(r);
	return advance(r, delta);
}

static bool set_loc(struct run *r)
{
	uint64_t loc;

	if (!seam_cfi_encoded(&r->b, r->m->cie->fde_enc, r->cfi, r->m->cie,
			      r->m->row.func_start, &loc, r->fault))
		return false;
	return move_to(r, loc);
}

static bool is_ra_state(const struct run *r, uint64_t reg)
{
	return reg == SEAM_CFI_REG_RA_STATE &&
	       r->cfi->arch->machine == EM_AARCH64;
}

/* Rules for registers that are not followed (vector registers, mostly) are
 * parsed and forgotten. */
static bool set_reg(struct run *r, uint64_t reg, struct seam_cfi_reg rule)
{
	if (reg < r->cfi->arch->regs)
		r->m->row.regs[reg] = rule;
	else if (is_ra_state(r, reg))
		r->m->row.ra_state |= SEAM_CFI_RA_STATE_RULE;
	return true;
}

/* Toggles bits of enum seam_cfi_ra_state. */
static bool negate_ra_state(struct run *r, uint8_t bits)
{
	if (r->cfi->arch->machine != EM_AARCH64)
		return bad_op(r, "an operation of another architecture");
	r->m->row.ra_state ^= bits;
	return true;
}

/* The state, and where the signing is from here, which only who checks a
 * signature needs to know. */
static bool set_ra_state(struct run *r)
{
	static const uint8_t states[] = {0, SEAM_CFI_RA_SIGNED,
					 SEAM_CFI_RA_SIGNED |
						 SEAM_CFI_RA_SIGNED_PC};
	uint64_t state;
	int64_t signing;

	if (r->cfi->arch->machine != EM_AARCH64)
		return bad_op(r, "an operation of another architecture");
	if (!seam_bytes_uleb(&r->b, &state) ||
	    !seam_bytes_sleb(&r->b, &signing))
		return cut(r);
	if (state >= sizeof(states))
		return bad_op(r, "an unknown way to sign return addresses");
	r->m->row.ra_state = states[state];
	return true;
}

static bool set_offset(struct run *r, uint64_t reg, int64_t factored,
		       enum seam_cfi_how how)
{
	int64_t off;

	if (__builtin_mul_overflow(factored, r->m->cie->data_align, &off))
		return bad_op(r, "an offset overflows");
	return set_reg(r, reg, (struct seam_cfi_reg){.how = how, .off = off});
}

static bool offset_op(struct run *r, enum seam_cfi_how how)
{
	uint64_t reg, factored;

	if (!seam_bytes_uleb(&r->b, &reg) || !seam_bytes_uleb(&r->b, &factored))
		return cut(r);
	if (factored > INT64_MAX)
		return bad_op(r, "an offset overflows");
	return set_offset(r, reg, (int64_t)factored, how);
}

static bool offset_op_sf(struct run *r, enum seam_cfi_how how)
{
	uint64_t reg;
	int64_t factored;

	if (!seam_bytes_uleb(&r->b, &reg) || !seam_bytes_sleb(&r->b, &factored))
		return cut(r);
	return set_offset(r, reg, factored, how);
}

static bool negative_offset(struct run *r)
{
	uint64_t reg, factored;

	if (!seam_bytes_uleb(&r->b, &reg) || !seam_bytes_uleb(&r->b, &factored))
		return cut(r);
	if (factored > INT64_MAX)
		return bad_op(r, "an offset overflows");
	return set_offset(r, reg, -(int64_t)factored, SEAM_CFI_OFFSET);
}

static bool simple_rule(struct run *r, enum seam_cfi_how how)
{
	uint64_t reg;

	if (!seam_bytes_uleb(&r->b, &reg))
		return cut(r);
	return set_reg(r, reg, (struct seam_cfi_reg){.how = how});
}

static bool register_op(struct run *r)
{
	uint64_t reg, from;

	if (!seam_bytes_uleb(&r->b, &reg) || !seam_bytes_uleb(&r->b, &from))
		return cut(r);
	return set_reg(r, reg,
		       (struct seam_cfi_reg){
			       .how = SEAM_CFI_REGISTER,
			       .reg = from < r->cfi->arch->regs
					      ? (uint8_t)from
					      : SEAM_CFI_OTHER_REG,
		       });
}

static bool restore(struct run *r, uint64_t reg)
{
	if (r->m->in_cie)
		return bad_op(r, "a CIE restores a register");
	if (reg < SEAM_CFI_ROW_REGS)
		return set_reg(r, reg, r->m->cie->initial.regs[reg]);
	if (is_ra_state(r, reg))
		r->m->row.ra_state = r->m->cie->initial.ra_state;
	return true;
}

static bool take_block(struct run *r, const uint8_t **ret, uint32_t *ret_len)
{
	uint64_t len;

	if (!seam_bytes_uleb(&r->b, &len) || len > seam_bytes_left(&r->b) ||
	    len > UINT32_MAX)
		return cut(r);
	*ret = r->b.p;
	*ret_len = (uint32_t)len;
	r->b.p += len;
	return true;
}

static bool expression_op(struct run *r, enum seam_cfi_how how)
{
	struct seam_cfi_reg rule = {.how = how};
	uint64_t reg;

	if (!seam_bytes_uleb(&r->b, &reg))
		return cut(r);
	return take_block(r, &rule.expr, &rule.expr_len) &&
	       set_reg(r, reg, rule);
}

/* r16 to r31 of APX, which a compiler may use as any other. Nobody has their
 * values, so a row with one is a row, but gives no rule. */
static bool is_apx(const struct run *r, uint64_t reg)
{
	return r->cfi->arch->abi == SEAM_SFRAME_ABI_AMD64 && reg >= APX_FIRST &&
	       reg <= APX_LAST;
}

static bool set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	struct seam_cfi_row *row = &r->m->row;

	if (reg >= r->cfi->arch->regs && !is_apx(r, reg))
		return bad_op(r, "the CFA is based on an unknown register");
	row->cfa_is_expr = false;
	row->cfa_reg = (uint8_t)reg;
	row->cfa_off = off;
	row->cfa_expr = NULL;
	row->cfa_expr_len = 0;
	return true;
}

/*
 * DWARF wants a register and an offset here. But libgcrypt's assembly sets a
 * register after an expression and counts on the offset from before it, as
 * libgcc, gdb and binutils keep it; so the offset outlives an expression.
 */
static bool cfa_is_defined(struct run *r)
{
	if (r->m->row.cfa_reg == SEAM_CFI_NO_CFA && !r->m->row.cfa_is_expr)
		return bad_op(r, "half a CFA rule is set where there is none");
	return true;
}

static bool def_cfa(struct run *r)
{
	uint64_t reg, off;

	if (!seam_bytes_uleb(&r->b, &reg) || !seam_bytes_uleb(&r->b, &off))
		return cut(r);
	if (off > INT64_MAX)
		return bad_op(r, "an offset overflows");
	return set_cfa(r, reg, (int64_t)off);
}

static bool def_cfa_sf(struct run *r)
{
	uint64_t reg;
	int64_t off;

	if (!seam_bytes_uleb(&r->b, &reg) || !seam_bytes_sleb(&r->b, &off))
		return cut(r);
	if (__builtin_mul_overflow(off, r->m->cie->data_align, &off))
		return bad_op(r, "an offset overflows");
	return set_cfa(r, reg, off);
}

static bool def_cfa_register(struct run *r)
{
	uint64_t reg;

	if (!seam_bytes_uleb(&r->b, &reg))
		return cut(r);
	return cfa_is_defined(r) && set_cfa(r, reg, r->m->row.cfa_off);
}

static bool def_cfa_offset(struct run *r)
{
	uint64_t off;

	if (!seam_bytes_uleb(&r->b, &off))
		return cut(r);
	if (off > INT64_MAX)
		return bad_op(r, "an offset overflows");
	if (!cfa_is_defined(r))
		return false;
	r->m->row.cfa_off = (int64_t)off;
	return true;
}

static bool def_cfa_offset_sf(struct run *r)
{
	int64_t off;

	if (!seam_bytes_sleb(&r->b, &off))
		return cut(r);
	if (__builtin_mul_overflow(off, r->m->cie->data_align, &off))
		return bad_op(r, "an offset overflows");
	if (!cfa_is_defined(r))
		return false;
	r->m->row.cfa_off = off;
	return true;
}

static bool def_cfa_expression(struct run *r)
{
	struct seam_cfi_row *row = &r->m->row;
	const uint8_t *expr;
	uint32_t len;

	if (!take_block(r, &expr, &len))
		return false;
	row->cfa_expr = expr;
	row->cfa_expr_len = len;
	row->cfa_is_expr = true;
	row->cfa_reg = SEAM_CFI_NO_CFA;
	return true;
}

/* Of the registers those that there are. */
static void copy_row(const struct seam_cfi_arch *arch, struct seam_cfi_row *to,
		     const struct seam_cfi_row *from)
{
	memcpy(to, from, offsetof(struct seam_cfi_row, regs));
	memcpy(to->regs, from->regs, arch->regs * sizeof(*to->regs));
}

static bool remember(struct run *r)
{
	struct seam_cfi_machine *m = r->m;

	if (m->depth == m->max_depth)
		return seam_cfi_fault_at(r->fault, SEAM_CFI_STATE, r->op_at,
					 "too many states are remembered");
	copy_row(r->cfi->arch, &m->saved[m->depth++], &m->row);
	return true;
}

/* Everything comes back, the CFA too, as compilers expect. */
static bool restore_state(struct run *r)
{
	struct seam_cfi_machine *m = r->m;
	uint64_t start;

	if (!m->depth)
		return seam_cfi_fault_at(r->fault, SEAM_CFI_STATE, r->op_at,
					 "a state is restored that was not "
					 "remembered");
	start = m->row.start;
	copy_row(r->cfi->arch, &m->row, &m->saved[--m->depth]);
	m->row.start = start;
	return true;
}

static bool args_size(struct run *r)
{
	uint64_t size;

	return seam_bytes_uleb(&r->b, &size) || cut(r);
}

static bool restore_extended(struct run *r)
{
	uint64_t reg;

	if (!seam_bytes_uleb(&r->b, &reg))
		return cut(r);
	return restore(r, reg);
}

static bool run_extended(struct run *r, uint8_t op)
{
	switch (op) {
	case OP_NOP:
		return true;
	case OP_SET_LOC:
		return set_loc(r);
	case OP_ADVANCE_LOC1:
		return advance_sized(r, 1);
	case OP_ADVANCE_LOC2:
		return advance_sized(r, 2);
	case OP_ADVANCE_LOC4:
		return advance_sized(r, 4);
	case OP_MIPS_ADVANCE_LOC8:
		return advance_sized(r, 8);
	case OP_OFFSET_EXTENDED:
		return offset_op(r, SEAM_CFI_OFFSET);
	case OP_OFFSET_EXTENDED_SF:
		return offset_op_sf(r, SEAM_CFI_OFFSET);
	case OP_VAL_OFFSET:
		return offset_op(r, SEAM_CFI_VAL_OFFSET);
	case OP_VAL_OFFSET_SF:
		return offset_op_sf(r, SEAM_CFI_VAL_OFFSET);
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
		return negative_offset(r);
	case OP_RESTORE_EXTENDED:
		return restore_extended(r);
	case OP_UNDEFINED:
		return simple_rule(r, SEAM_CFI_UNDEFINED);
	case OP_SAME_VALUE:
		return simple_rule(r, SEAM_CFI_SAME);
	case OP_REGISTER:
		return register_op(r);
	case OP_EXPRESSION:
		return expression_op(r, SEAM_CFI_EXPRESSION);
	case OP_VAL_EXPRESSION:
		return expression_op(r, SEAM_CFI_VAL_EXPRESSION);
	case OP_REMEMBER_STATE:
		return remember(r);
	case OP_RESTORE_STATE:
		return restore_state(r);
	case OP_DEF_CFA:
		return def_cfa(r);
	case OP_DEF_CFA_SF:
		return def_cfa_sf(r);
	case OP_DEF_CFA_REGISTER:
		return def_cfa_register(r);
	case OP_DEF_CFA_OFFSET:
		return def_cfa_offset(r);
	case OP_DEF_CFA_OFFSET_SF:
		return def_cfa_offset_sf(r);
	case OP_DEF_CFA_EXPRESSION:
		return def_cfa_expression(r);
	case OP_GNU_ARGS_SIZE:
		return args_size(r);
	case OP_AARCH64_SET_RA_STATE:
		return set_ra_state(r);
	case OP_AARCH64_NEGATE_RA_STATE:
		return negate_ra_state(r, SEAM_CFI_RA_SIGNED);
	case OP_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return negate_ra_state(r, SEAM_CFI_RA_SIGNED |
						  SEAM_CFI_RA_SIGNED_PC);
	}
	return bad_op(r, "an unknown CFI operation");
}

static bool run(struct run *r)
{
	uint64_t factored;
	uint8_t op;

	while (r->b.p < r->b.end) {
		r->op_at = r->b.p;
		op = *r->b.p++;
		switch (op & 0xc0) {
		case OP_ADVANCE_LOC:
			if (!advance(r, op & 0x3f))
				return false;
			break;
		case OP_OFFSET:
			if (!seam_bytes_uleb(&r->b, &factored))
				return cut(r);
			if (factored > INT64_MAX)
				return bad_op(r, "an offset overflows");
			if (!set_offset(r, op & 0x3f, (int64_t)factored,
					SEAM_CFI_OFFSET))
				return false;
			break;
		case OP_RESTORE:
			if (!restore(r, op & 0x3f))
				return false;
			break;
		default:
			if (!run_extended(r, op))
				return false;
		}
	}
	return true;
}

void seam_cie_run(struct seam_cfi *cfi, struct seam_cie *cie)
{
	struct seam_cfi_machine *m = &cfi->work->machine;
	struct run r = {
		.cfi = cfi,
		.m = m,
		.b = cie->program,
		.fault = &cie->program_fault,
	};

	m->row = (struct seam_cfi_row){
		.cfa_reg = SEAM_CFI_NO_CFA,
		.abi = cfi->arch->abi,
		.signal = cie->signal,
		.key_b = cie->key_b,
		.odd_column = cie->odd_column,
	};
	m->cie = cie;
	m->depth = 0;
	m->in_cie = true;
	run(&r);
	cie->initial = m->row;
}

int seam_fde_run(struct seam_cfi *cfi, const struct seam_fde *fde,
		 seam_cfi_row_fn *fn, void *ctx, struct seam_cfi_fault *fault)
{
	const struct seam_cfi_arch *arch = cfi->arch;
	struct seam_cfi_machine *m = &cfi->work->machine;
	struct run r = {
		.cfi = cfi,
		.m = m,
		.b = fde->program,
		.op_at = fde->program.p,
		.fault = fault,
		.fn = fn,
		.ctx = ctx,
	};

	*fault = fde->cie->program_fault;
	if (fault->code)
		return -EINVAL;
	copy_row(arch, &m->row, &fde->cie->initial);
	m->row.start = fde->start;
	m->row.func_start = fde->start;
	m->row.func_end = fde->end;
	m->loc = fde->start;
	m->cie = fde->cie;
	m->depth = 0;
	m->in_cie = false;
	if (run(&r))
		emit(&r, fde->end);
	if (fault->code)
		return -EINVAL;
	return r.rc;
}
