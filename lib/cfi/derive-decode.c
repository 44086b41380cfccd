// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One instruction, by what it does to rsp, rbp and the words of the frame.
 * Decoding x86 is capstone's work; what it says of registers written is
 * taken together with the operands themselves, since either alone has been
 * wrong for rare instructions. Doubt means SEAM_FLOW_BAD.
 */
#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/derive-private.h"

#define PREFIX_OPSIZE 0x66
#define REX_W 0x08
/* More than any instruction writes that is not refused. */
#define STORE_UNKNOWN 4096

struct seam_decoder {
	csh handle;
	cs_insn *insn;
};

int seam_decoder_new(struct seam_decoder **ret)
{
	struct seam_decoder *d = calloc(1, sizeof(*d));

	if (!d || cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle)) {
		free(d);
		return -ENOMEM;
	}
	if (cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON) ||
	    !(d->insn = cs_malloc(d->handle))) {
		seam_decoder_free(d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}

struct seam_decoder *seam_decoder_free(struct seam_decoder *d)
{
	if (!d)
		return NULL;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->handle);
	free(d);
	return NULL;
}

static bool is_sp(unsigned int reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP ||
	       reg == X86_REG_SPL;
}

static bool is_fp(unsigned int reg)
{
	return reg == X86_REG_RBP || reg == X86_REG_EBP || reg == X86_REG_BP ||
	       reg == X86_REG_BPL;
}

static bool is_reg(const cs_x86 *x, unsigned int i, unsigned int reg)
{
	return i < x->op_count && x->operands[i].type == X86_OP_REG &&
	       x->operands[i].reg == reg;
}

static bool is_imm(const cs_x86 *x, unsigned int i)
{
	return i < x->op_count && x->operands[i].type == X86_OP_IMM;
}

/* Their first operand is the only one written. */
static bool is_plain(unsigned int id)
{
	switch (id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVSXD:
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_LEA:
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_AND:
	case X86_INS_OR:
	case X86_INS_XOR:
	case X86_INS_SHL:
	case X86_INS_SHR:
	case X86_INS_SAR:
		return true;
	default:
		return false;
	}
}

static bool is_read_only(unsigned int id)
{
	return id == X86_INS_CMP || id == X86_INS_TEST || id == X86_INS_NOP ||
	       id == X86_INS_BT || id == X86_INS_PUSH || id == X86_INS_CALL ||
	       id == X86_INS_JMP;
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

static bool in_group(const cs_insn *in, uint8_t group)
{
	const cs_detail *detail = in->detail;

	for (unsigned int i = 0; i < detail->groups_count; i++)
		if (detail->groups[i] == group)
			return true;
	return false;
}

/* The operand-size prefix, where REX.W does not overrule it. */
static bool is_short(const cs_x86 *x)
{
	return x->prefix[2] == PREFIX_OPSIZE && !(x->rex & REX_W);
}

static void bad(struct seam_insn *ret)
{
	ret->flow = SEAM_FLOW_BAD;
}

static void decode_flow(const cs_insn *in, struct seam_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;
	bool direct = is_imm(x, 0);

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
	if (is_short(x))
		bad(ret);
	/* An index means a table of the function's own. */
	if (!direct && x->op_count && x->operands[0].type == X86_OP_MEM &&
	    x->operands[0].mem.index != X86_REG_INVALID)
		ret->flow = ret->flow == SEAM_FLOW_JUMP_INDIRECT ? SEAM_FLOW_BAD
								 : ret->flow;
	/* A call through rsp, or of it: nothing that a compiler makes. */
	if (!direct && is_reg(x, 0, X86_REG_RSP))
		bad(ret);
}

static void decode_push(const cs_x86 *x, struct seam_insn *ret)
{
	ret->op = SEAM_OP_PUSH;
	ret->imm = 8;
	if (is_short(x) || x->op_count != 1)
		bad(ret);
	else if (is_reg(x, 0, X86_REG_RBP))
		ret->op = SEAM_OP_PUSH_FP;
}

static void decode_pop(const cs_x86 *x, struct seam_insn *ret)
{
	ret->op = SEAM_OP_POP;
	ret->imm = 8;
	if (is_short(x) || x->op_count != 1 ||
	    x->operands[0].type != X86_OP_REG || is_sp(x->operands[0].reg))
		bad(ret);
	else if (is_reg(x, 0, X86_REG_RBP))
		ret->op = SEAM_OP_POP_FP;
}

/* disp of [reg + disp], nothing else. */
static bool plain_mem(const cs_x86 *x, unsigned int i, unsigned int reg,
		      int64_t *ret)
{
	const cs_x86_op *op = &x->operands[i];

	if (i >= x->op_count || op->type != X86_OP_MEM || op->mem.base != reg ||
	    op->mem.index != X86_REG_INVALID)
		return false;
	*ret = op->mem.disp;
	return true;
}

static void decode_sp(const cs_insn *in, struct seam_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;

	if (!is_reg(x, 0, X86_REG_RSP) || x->op_count != 2) {
		bad(ret);
	} else if (in->id == X86_INS_ADD && is_imm(x, 1)) {
		ret->op = SEAM_OP_SP_ADD;
		ret->imm = x->operands[1].imm;
	} else if (in->id == X86_INS_SUB && is_imm(x, 1)) {
		ret->op = SEAM_OP_SP_ADD;
		ret->imm = -x->operands[1].imm;
	} else if (in->id == X86_INS_MOV && is_reg(x, 1, X86_REG_RBP)) {
		ret->op = SEAM_OP_SP_FROM_FP;
	} else if (in->id == X86_INS_LEA &&
		   plain_mem(x, 1, X86_REG_RSP, &ret->imm)) {
		ret->op = SEAM_OP_SP_ADD;
	} else if (in->id == X86_INS_LEA &&
		   plain_mem(x, 1, X86_REG_RBP, &ret->imm)) {
		ret->op = SEAM_OP_SP_FROM_FP;
	} else {
		bad(ret);
	}
}

static void decode_fp(const cs_insn *in, struct seam_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;

	ret->op = SEAM_OP_FP_LOST;
	if (!is_reg(x, 0, X86_REG_RBP) || x->op_count != 2)
		return;
	if (in->id == X86_INS_MOV && is_reg(x, 1, X86_REG_RSP))
		ret->op = SEAM_OP_FP_FROM_SP;
	else if (in->id == X86_INS_LEA &&
		 plain_mem(x, 1, X86_REG_RSP, &ret->imm))
		ret->op = SEAM_OP_FP_FROM_SP;
}

/* Whether it may write to a register of a family. */
static bool may_write(struct seam_decoder *d, const cs_insn *in,
		      bool (*family)(unsigned int))
{
	const cs_x86 *x = &in->detail->x86;
	cs_regs read, written;
	uint8_t n_read, n_written;

	for (unsigned int i = 0; i < x->op_count; i++) {
		if (x->operands[i].type != X86_OP_REG ||
		    !family(x->operands[i].reg) || is_read_only(in->id))
			continue;
		if (!i || !is_plain(in->id) ||
		    (x->operands[i].access & CS_AC_WRITE))
			return true;
	}
	if (cs_regs_access(d->handle, in, read, &n_read, written, &n_written))
		return true;
	for (unsigned int i = 0; i < n_written; i++)
		if (family(written[i]))
			return true;
	return false;
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

	if (is_read_only(in->id) || in->id == X86_INS_LEA)
		return;
	for (unsigned int i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type == X86_OP_MEM &&
		    (!i || !is_plain(in->id) || (op->access & CS_AC_WRITE)))
			decode_store(op, ret);
	}
}

static void classify(struct seam_decoder *d, struct seam_insn *ret)
{
	const cs_insn *in = d->insn;
	const cs_x86 *x = &in->detail->x86;

	decode_stores(in, ret);
	if (in->id == X86_INS_HLT || in->id == X86_INS_UD2)
		ret->flow = SEAM_FLOW_STOP;
	else if (is_refused(in->id) || in_group(in, CS_GRP_INT) ||
		 in_group(in, CS_GRP_IRET) || in_group(in, CS_GRP_PRIVILEGE))
		bad(ret);
	else if (in_group(in, CS_GRP_JUMP) || in_group(in, CS_GRP_CALL) ||
		 in_group(in, CS_GRP_RET) ||
		 in_group(in, CS_GRP_BRANCH_RELATIVE))
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
		if (is_short(x))
			bad(ret);
	} else if (may_write(d, in, is_sp))
		decode_sp(in, ret);
	else if (may_write(d, in, is_fp))
		decode_fp(in, ret);
}

bool seam_decode(struct seam_decoder *d, const uint8_t *bytes, size_t size,
		 uint64_t svma, struct seam_insn *ret)
{
	const uint8_t *p = bytes;
	uint64_t at = svma;

	if (!cs_disasm_iter(d->handle, &p, &size, &at, d->insn))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->len = (uint8_t)d->insn->size;
	classify(d, ret);
	return true;
}
