// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "truth/insn.h"

static bool is_sp(const cs_x86_op *op)
{
	return op->type == X86_OP_REG && op->reg == X86_REG_RSP;
}

/* `mov X,%rsp`, and what else may write all of it from elsewhere. */
static enum seam_insn_kind kind_of_write(unsigned int id, const cs_x86 *x)
{
	const cs_x86_op *from = &x->operands[1];

	if (id == X86_INS_XCHG && x->op_count == 2 &&
	    (is_sp(&x->operands[0]) || is_sp(from)))
		return x->operands[0].type == X86_OP_MEM ||
				       from->type == X86_OP_MEM
			       ? SEAM_INSN_SWITCH_MEM
			       : SEAM_INSN_SWITCH;
	if (id != X86_INS_MOV || !is_sp(&x->operands[0]))
		return SEAM_INSN_OTHER;
	if (from->type == X86_OP_MEM)
		return SEAM_INSN_SWITCH_MEM;
	/* A frame pointer leads to the same stack. */
	if (from->type == X86_OP_REG && from->reg == X86_REG_RBP)
		return SEAM_INSN_OTHER;
	return SEAM_INSN_SWITCH;
}

static enum seam_insn_kind kind_of(const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;

	switch (in->id) {
	case X86_INS_CALL:
		return SEAM_INSN_CALL;
	case X86_INS_RET:
		return SEAM_INSN_RET;
	case X86_INS_JMP:
		return SEAM_INSN_JUMP;
	case X86_INS_PUSH:
		return SEAM_INSN_PUSH;
	case X86_INS_POP:
		return is_sp(&x->operands[0]) ? SEAM_INSN_SWITCH_MEM
					      : SEAM_INSN_POP;
	case X86_INS_SYSCALL:
		return SEAM_INSN_SYSCALL;
	default:
		return kind_of_write(in->id, x);
	}
}

void seam_insn_read(struct seam_decoder *d, const uint8_t *bytes, size_t size,
		    uint64_t addr, struct seam_insn_about *ret)
{
	const cs_insn *in = seam_decoder_read(d, bytes, size, addr);

	*ret = (struct seam_insn_about){.kind = SEAM_INSN_BAD};
	if (!in)
		return;
	ret->kind = (uint8_t)kind_of(in);
	ret->len = (uint8_t)in->size;
}
