// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One instruction, by what it does to rsp, rbp and the words of the frame.
 * Doubt means SEAM_FLOW_BAD.
 */
#include <string.h>

#include "cfi/decoder.h"
#include "cfi/derive-private.h"
#include "core/arch.h"

/* More than any instruction writes that is not refused. */
#define STORE_UNKNOWN 4096

static bool is_sp(unsigned int reg)
{
	return seam_decoder_dwarf(reg) == SEAM_AMD64_REG_SP;
}

static bool is_fp(unsigned int reg)
{
	return seam_decoder_dwarf(reg) == SEAM_AMD64_REG_FP;
}

/* What takes more than looking at the operands, or leaves the program. */
static bool is_refused(unsigned int id)
{
	switch (id) {
	case X86_INS_ENTER:
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_SYSEXIT:
	case X86_INS_SYSRET:
	case X86_INS_LCALL:
	case X86_INS_LJMP:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_BTS: /* with a register they reach anywhere */
	case X86_INS_BTR:
	case X86_INS_BTC:
	case X86_INS_XBEGIN:
	case X86_INS_XABORT:
	case X86_INS_XSAVE:
	case X86_INS_XSAVE64:
	case X86_INS_XSAVEC:
	case X86_INS_XSAVEC64:
	case X86_INS_XSAVES:
	case X86_INS_XSAVES64:
	case X86_INS_XSAVEOPT:
	case X86_INS_XSAVEOPT64:
	case X86_INS_FXSAVE:
	case X86_INS_FXSAVE64:
	case X86_INS_FNSAVE:
	case X86_INS_FNSTENV:
		return true;
	default:
		return false;
	}
}

static void bad(struct seam_insn *ret)
{
	ret->flow = SEAM_FLOW_BAD;
}

static void decode_flow(const cs_insn *in, struct seam_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;
	bool direct = seam_decoder_is_imm(x, 0);

	if (in->id == X86_INS_RET)
		ret->flow = x->op_count ? SEAM_FLOW_BAD : SEAM_FLOW_RET;
	else if (in->id == X86_INS_CALL)
		ret->flow = direct ? SEAM_FLOW_CALL : SEAM_FLOW_CALL_INDIRECT;
	else if (in->id == X86_INS_JMP)
		ret->flow = direct ? SEAM_FLOW_JUMP : SEAM_FLOW_JUMP_INDIRECT;
	else
		ret->flow = direct ? SEAM_FLOW_BRANCH : SEAM_FLOW_BAD;
	if (direct)
		ret->target = (uint64_t)x->operands[0].imm;
	/* Processors differ in what the prefix does to a branch. */
	if (seam_decoder_is_short(x))
		bad(ret);
	/* An index means a table of the function's own. */
	if (!direct && x->op_count && x->operands[0].type == X86_OP_MEM &&
	    x->operands[0].mem.index != X86_REG_INVALID)
		ret->flow = ret->flow == SEAM_FLOW_JUMP_INDIRECT ? SEAM_FLOW_BAD
								 : ret->flow;
	/* A call through rsp, or of it: nothing that a compiler makes. */
	if (!direct && seam_decoder_is_reg(x, 0, X86_REG_RSP))
		bad(ret);
}

static void decode_push(const cs_x86 *x, struct seam_insn *ret)
{
	ret->op = SEAM_OP_PUSH;
	ret->imm = 8;
	if (seam_decoder_is_short(x) || x->op_count != 1)
		bad(ret);
	else if (seam_decoder_is_reg(x, 0, X86_REG_RBP))
		ret->op = SEAM_OP_PUSH_FP;
}

static void decode_pop(const cs_x86 *x, struct seam_insn *ret)
{
	ret->op = SEAM_OP_POP;
	ret->imm = 8;
	if (seam_decoder_is_short(x) || x->op_count != 1 ||
	    x->operands[0].type != X86_OP_REG || is_sp(x->operands[0].reg))
		bad(ret);
	else if (seam_decoder_is_reg(x, 0, X86_REG_RBP))
		ret->op = SEAM_OP_POP_FP;
}

static void decode_sp(const cs_insn *in, struct seam_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;

	if (!seam_decoder_is_reg(x, 0, X86_REG_RSP) || x->op_count != 2) {
		bad(ret);
	} else if (in->id == X86_INS_ADD && seam_decoder_is_imm(x, 1)) {
		ret->op = SEAM_OP_SP_ADD;
		ret->imm = x->operands[1].imm;
	} else if (in->id == X86_INS_SUB && seam_decoder_is_imm(x, 1)) {
		ret->op = SEAM_OP_SP_ADD;
		ret->imm = -x->operands[1].imm;
	} else if (in->id == X86_INS_MOV &&
		   seam_decoder_is_reg(x, 1, X86_REG_RBP)) {
		ret->op = SEAM_OP_SP_FROM_FP;
	} else if (in->id == X86_INS_LEA &&
		   seam_decoder_disp(x, 1, X86_REG_RSP, &ret->imm)) {
		ret->op = SEAM_OP_SP_ADD;
	} else if (in->id == X86_INS_LEA &&
		   seam_decoder_disp(x, 1, X86_REG_RBP, &ret->imm)) {
		ret->op = SEAM_OP_SP_FROM_FP;
	} else {
		bad(ret);
	}
}

static void decode_fp(const cs_insn *in, struct seam_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;

	ret->op = SEAM_OP_FP_LOST;
	if (!seam_decoder_is_reg(x, 0, X86_REG_RBP) || x->op_count != 2)
		return;
	if (in->id == X86_INS_MOV && seam_decoder_is_reg(x, 1, X86_REG_RSP))
		ret->op = SEAM_OP_FP_FROM_SP;
	else if (in->id == X86_INS_LEA &&
		 seam_decoder_disp(x, 1, X86_REG_RSP, &ret->imm))
		ret->op = SEAM_OP_FP_FROM_SP;
}

static uint32_t store_size(uint8_t size)
{
	return size && size <= 64 && !(size & (size - 1)) ? size
							  : STORE_UNKNOWN;
}

/* An operand that may be a place on the stack which is written to. */
static void decode_store(const cs_x86_op *op, struct seam_insn *ret)
{
	bool sp = is_sp(op->mem.base), fp = is_fp(op->mem.base);

	if (is_sp(op->mem.index) || is_fp(op->mem.index))
		bad(ret);
	if (!sp && !fp)
		return;
	/* An index may lead anywhere; a segment as well. */
	if (op->mem.index != X86_REG_INVALID ||
	    (op->mem.base != X86_REG_RSP && op->mem.base != X86_REG_RBP) ||
	    op->mem.segment != X86_REG_INVALID)
		bad(ret);
	ret->store_sp = sp;
	ret->store_fp = fp;
	ret->store_disp = op->mem.disp;
	ret->store_size = store_size(op->size);
}

static void decode_stores(const cs_insn *in, struct seam_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;

	if (seam_decoder_is_read_only(in->id) || in->id == X86_INS_LEA)
		return;
	for (unsigned int i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type == X86_OP_MEM &&
		    (!i || !seam_decoder_is_plain(in->id) ||
		     (op->access & CS_AC_WRITE)))
			decode_store(op, ret);
	}
}

static void classify(struct seam_decoder *d, struct seam_insn *ret)
{
	const cs_insn *in = d->insn;
	const cs_x86 *x = &in->detail->x86;
	uint32_t written = seam_decoder_written(d, in);

	decode_stores(in, ret);
	if (in->id == X86_INS_HLT || in->id == X86_INS_UD2)
		ret->flow = SEAM_FLOW_STOP;
	else if (is_refused(in->id) || seam_decoder_in_group(in, CS_GRP_INT) ||
		 seam_decoder_in_group(in, CS_GRP_IRET) ||
		 seam_decoder_in_group(in, CS_GRP_PRIVILEGE))
		bad(ret);
	else if (seam_decoder_in_group(in, CS_GRP_JUMP) ||
		 seam_decoder_in_group(in, CS_GRP_CALL) ||
		 seam_decoder_in_group(in, CS_GRP_RET) ||
		 seam_decoder_in_group(in, CS_GRP_BRANCH_RELATIVE))
		decode_flow(in, ret);
	else if (in->id == X86_INS_PUSH)
		decode_push(x, ret);
	else if (in->id == X86_INS_POP)
		decode_pop(x, ret);
	else if (in->id == X86_INS_PUSHFQ || in->id == X86_INS_POPFQ) {
		ret->op = in->id == X86_INS_PUSHFQ ? SEAM_OP_PUSH : SEAM_OP_POP;
		ret->imm = 8;
	} else if (in->id == X86_INS_LEAVE) {
		ret->op = SEAM_OP_LEAVE;
		if (seam_decoder_is_short(x))
			bad(ret);
	} else if (written & 1u << SEAM_AMD64_REG_SP)
		decode_sp(in, ret);
	else if (written & 1u << SEAM_AMD64_REG_FP)
		decode_fp(in, ret);
}

bool seam_decode(struct seam_decoder *d, const uint8_t *bytes, size_t size,
		 uint64_t svma, struct seam_insn *ret)
{
	if (!seam_decoder_read(d, bytes, size, svma))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->len = (uint8_t)d->insn->size;
	classify(d, ret);
	return true;
}
