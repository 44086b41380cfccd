// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* One instruction, by what it does to the registers that a stack is unwound
 * by. What capstone does not know of yet (APX) is read here, as far as it
 * moves rsp in ordinary code. */
#include <string.h>

#include "unwind/skid-insn.h"

#define BIT(reg) SEAM_SKID_BIT(reg)
#define SP_BIT BIT(SEAM_AMD64_REG_SP)
#define FP_BIT BIT(SEAM_AMD64_REG_FP)
#define PREFIX_REX2 0xd5
#define PREFIX_EVEX 0x62

static uint8_t reg_of(const cs_x86 *x, unsigned int i)
{
	int reg = i < x->op_count && x->operands[i].type == X86_OP_REG
			  ? seam_decoder_dwarf(x->operands[i].reg)
			  : -1;

	return reg < 0 ? SEAM_SKID_NO_REG : (uint8_t)reg;
}

/* A word, or 16 bits of one. */
static int32_t word_size(const cs_x86 *x)
{
	return seam_decoder_is_short(x) ? 2 : 8;
}

static void decode_push(const cs_x86 *x, struct seam_skid_insn *ret)
{
	ret->op = SEAM_SKID_PUSHES;
	ret->by = -word_size(x);
	if (ret->by != -8)
		return;
	ret->reg = reg_of(x, 0);
	if (seam_decoder_is_imm(x, 0)) {
		ret->has_value = true;
		ret->value = (uint64_t)x->operands[0].imm;
	}
}

static void pops(uint8_t reg, int32_t size, struct seam_skid_insn *ret)
{
	ret->op = SEAM_SKID_POPS;
	ret->by = size;
	if (reg == SEAM_SKID_NO_REG)
		return;
	ret->lost = BIT(reg);
	ret->switches = reg == SEAM_AMD64_REG_SP;
	if (size == 8)
		ret->reg = reg;
}

static void decode_flow(const cs_insn *in, struct seam_skid_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;

	ret->is_direct = seam_decoder_is_imm(x, 0);
	if (ret->is_direct)
		ret->target = (uint64_t)x->operands[0].imm;
	if (in->id == X86_INS_CALL) {
		ret->flow = SEAM_SKID_CALL;
		ret->op = SEAM_SKID_PUSHES;
		ret->by = -8;
		ret->has_value = true;
		ret->value = in->address + in->size;
	} else if (in->id == X86_INS_RET) {
		ret->flow = SEAM_SKID_RET;
		ret->by = 8;
		if (ret->is_direct)
			ret->by += (int32_t)(x->operands[0].imm & 0xffff);
	} else {
		ret->flow = in->id == X86_INS_JMP ? SEAM_SKID_JUMP
						  : SEAM_SKID_BRANCH;
	}
	/* Processors differ in what the prefix does to a branch. */
	if (seam_decoder_is_short(x))
		ret->flow = SEAM_SKID_BAD;
}

/* rsp = rsp + by, or what cannot be taken back. */
static void decode_sp(const cs_insn *in, struct seam_skid_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;
	bool whole = seam_decoder_is_reg(x, 0, X86_REG_RSP) && x->op_count == 2;
	bool imm = whole && seam_decoder_is_imm(x, 1);
	int64_t by = 0;
	bool moves = true;

	if (imm && in->id == X86_INS_ADD)
		by = x->operands[1].imm;
	else if (imm && in->id == X86_INS_SUB)
		by = -x->operands[1].imm;
	else
		moves = whole && in->id == X86_INS_LEA &&
			seam_decoder_disp(x, 1, X86_REG_RSP, &by);
	if (moves && by >= INT32_MIN && by <= INT32_MAX) {
		ret->by = (int32_t)by;
		ret->lost &= ~SP_BIT;
		return;
	}
	/* To the same stack: an alignment, a variable's length, rbp. */
	ret->switches = !(
		whole &&
		(in->id == X86_INS_AND || in->id == X86_INS_ADD ||
		 in->id == X86_INS_SUB ||
		 (in->id == X86_INS_MOV && reg_of(x, 1) == SEAM_AMD64_REG_FP) ||
		 (in->id == X86_INS_LEA &&
		  seam_decoder_disp(x, 1, X86_REG_RBP, &by))));
}

static void decode_fp(const cs_insn *in, struct seam_skid_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;
	int64_t by = 0;

	if (!seam_decoder_is_reg(x, 0, X86_REG_RBP) || x->op_count != 2)
		return;
	if ((in->id != X86_INS_MOV ||
	     !seam_decoder_is_reg(x, 1, X86_REG_RSP)) &&
	    (in->id != X86_INS_LEA ||
	     !seam_decoder_disp(x, 1, X86_REG_RSP, &by)))
		return;
	ret->op = SEAM_SKID_FP_SET;
	ret->value = (uint64_t)by;
}

/* Not a string's, or that of a base by segment or rip, which is no stack. */
static void decode_store(const cs_insn *in, struct seam_skid_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;

	if (seam_decoder_is_read_only(in->id) || in->id == X86_INS_LEA)
		return;
	for (unsigned int i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];
		int base = seam_decoder_dwarf(op->mem.base);
		int index = seam_decoder_dwarf(op->mem.index);

		if (op->type != X86_OP_MEM || base < 0 ||
		    op->mem.segment != X86_REG_INVALID ||
		    (i && !(op->access & CS_AC_WRITE)))
			continue;
		ret->store_size = op->size;
		ret->store_base = (uint8_t)base;
		ret->store_index =
			index < 0 ? SEAM_SKID_NO_REG : (uint8_t)index;
		ret->store_scale = (uint8_t)op->mem.scale;
		ret->store_disp = op->mem.disp;
	}
}

static void decode_rest(struct seam_decoder *d, const cs_insn *in,
			struct seam_skid_insn *ret)
{
	ret->lost = seam_decoder_written(d, in);
	decode_store(in, ret);
	/* capstone does not say all of these. */
	ret->is_syscall = in->id == X86_INS_SYSCALL;
	if (ret->is_syscall)
		ret->lost |= BIT(0) | BIT(2) | BIT(11);
	if (in->id == X86_INS_CPUID)
		ret->lost |= BIT(0) | BIT(1) | BIT(2) | BIT(3);
	if (ret->lost & SP_BIT)
		decode_sp(in, ret);
	else if (ret->lost & FP_BIT)
		decode_fp(in, ret);
}

/* What goes elsewhere in ways of its own. */
static bool is_refused(const cs_insn *in)
{
	switch (in->id) {
	case X86_INS_LCALL:
	case X86_INS_LJMP:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_SYSENTER:
	case X86_INS_SYSEXIT:
	case X86_INS_SYSRET:
	case X86_INS_XBEGIN:
	case X86_INS_XABORT:
		return true;
	case X86_INS_SYSCALL: /* comes back, unless it is rt_sigreturn */
		return false;
	default:
		return seam_decoder_in_group(in, CS_GRP_INT) ||
		       seam_decoder_in_group(in, CS_GRP_IRET);
	}
}

static void classify(struct seam_decoder *d, const cs_insn *in,
		     struct seam_skid_insn *ret)
{
	const cs_x86 *x = &in->detail->x86;

	ret->flow = SEAM_SKID_NEXT;
	switch (in->id) {
	case X86_INS_PUSH:
		decode_push(x, ret);
		return;
	case X86_INS_PUSHF:
	case X86_INS_PUSHFQ:
		ret->by = -word_size(x);
		return;
	case X86_INS_POP:
		decode_store(in, ret);
		pops(reg_of(x, 0), word_size(x), ret);
		return;
	case X86_INS_POPF:
	case X86_INS_POPFQ:
		ret->by = word_size(x);
		return;
	case X86_INS_ENTER:
	case X86_INS_LEAVE:
		ret->op = in->id == X86_INS_ENTER ? SEAM_SKID_ENTER
						  : SEAM_SKID_LEAVE;
		if (seam_decoder_is_short(x))
			ret->flow = SEAM_SKID_BAD;
		return;
	}
	if (is_refused(in))
		ret->flow = SEAM_SKID_BAD;
	else if (seam_decoder_in_group(in, CS_GRP_JUMP) ||
		 seam_decoder_in_group(in, CS_GRP_CALL) ||
		 seam_decoder_in_group(in, CS_GRP_RET) ||
		 seam_decoder_in_group(in, CS_GRP_BRANCH_RELATIVE))
		decode_flow(in, ret);
	else
		decode_rest(d, in, ret);
	if (in->id == X86_INS_LOOP || in->id == X86_INS_LOOPE ||
	    in->id == X86_INS_LOOPNE)
		ret->lost = BIT(2); /* rcx counts */
}

/* DWARF's number of one of the processor's, of r16 and up none. */
static uint8_t dwarf_of(unsigned int reg)
{
	static const uint8_t low[8] = {0, 2, 1, 3, 7, 6, 4, 5};

	return reg < 8			 ? low[reg]
	       : reg < SEAM_DECODER_GPRS ? (uint8_t)reg
					 : SEAM_SKID_NO_REG;
}

/* push and pop with a REX2 prefix, which reaches r16 to r31, and whose W is a
 * hint that they pair: M0 R4 X4 B4 W R3 X3 B3. */
static bool decode_rex2(const uint8_t *b, size_t size,
			struct seam_skid_insn *ret)
{
	unsigned int reg;

	if (size < 3 || b[0] != PREFIX_REX2 || b[1] & 0x80 || b[2] < 0x50 ||
	    b[2] > 0x5f)
		return false;
	reg = (b[2] & 7u) | (b[1] & 1u) << 3 | (b[1] & 0x10u);
	ret->flow = SEAM_SKID_NEXT;
	ret->kind = b[2] >= 0x58 ? SEAM_SKID_KIND_POP : SEAM_SKID_KIND_PUSH;
	ret->len = 3;
	if (b[2] >= 0x58) {
		pops(dwarf_of(reg), 8, ret);
		return true;
	}
	ret->op = SEAM_SKID_PUSHES;
	ret->by = -8;
	ret->reg = dwarf_of(reg);
	return true;
}

/*
 * push2 and pop2: EVEX of map 4 with ND set, FF /6 and 8F /0 of a register.
 * 62, R3 X3 B3 R4 B4 100, W V3-V0 X4 pp, 0001 V4 000, opcode, ModRM; R3, X3,
 * B3, R4 and the Vs are inverted, B4 is not.
 */
static bool decode_evex(const uint8_t *b, size_t size,
			struct seam_skid_insn *ret)
{
	unsigned int first, second;
	bool is_push, is_pop;

	if (size < 6 || b[0] != PREFIX_EVEX || (b[1] & 7) != 4 ||
	    (b[2] & 7) != 4 || (b[3] & ~8u) != 0x10 || b[5] < 0xc0)
		return false;
	is_push = b[4] == 0xff && (b[5] & 0x38) == 0x30;
	is_pop = b[4] == 0x8f && (b[5] & 0x38) == 0;
	if (!is_push && !is_pop)
		return false;
	first = (b[5] & 7u) | (b[1] & 0x20 ? 0 : 8u) | (b[1] & 8 ? 16u : 0);
	second = (~(unsigned)b[2] >> 3 & 15) | (b[3] & 8 ? 0 : 16u);
	ret->flow = SEAM_SKID_NEXT;
	ret->len = 6;
	ret->kind = is_push ? SEAM_SKID_KIND_PUSH : SEAM_SKID_KIND_POP;
	ret->by = is_push ? -16 : 16;
	if (is_push)
		return true;
	if (first < SEAM_DECODER_GPRS)
		ret->lost |= BIT(dwarf_of(first));
	if (second < SEAM_DECODER_GPRS)
		ret->lost |= BIT(dwarf_of(second));
	/* Into rsp, they fault. */
	return !(ret->lost & SP_BIT);
}

/*
 * What capstone is too old for, most of all AVX-512's masks. With these
 * prefixes nothing moves rsp or jumps, but in map 4, that of APX. Its length is
 * not known. What may be a general register is lost.
 */
static bool decode_vector(const uint8_t *b, size_t size,
			  struct seam_skid_insn *ret)
{
	size_t at = 0;
	uint8_t mod;

	if (size && b[0] == 0xc5)
		at = 3;
	else if (size && b[0] == 0xc4)
		at = 4;
	else if (size > 1 && b[0] == PREFIX_EVEX && (b[1] & 7) != 4)
		at = 5;
	if (!at || size <= at)
		return false;
	mod = b[at];
	ret->flow = SEAM_SKID_NEXT;
	ret->lost = BIT(dwarf_of((mod >> 3 & 7u) | (b[1] & 0x80 ? 0 : 8u)));
	if (mod >= 0xc0)
		ret->lost |= BIT(dwarf_of(mod & 7u)) |
			     BIT(dwarf_of((mod & 7u) | 8u));
	ret->lost &= ~SP_BIT;
	return true;
}

/* How rsp was written, that is not by a number. */
static enum seam_skid_kind kind_of_sp(const cs_insn *in)
{
	switch (in->id) {
	case X86_INS_ADD:
	case X86_INS_SUB:
		return SEAM_SKID_KIND_SUB_SP;
	case X86_INS_AND:
		return SEAM_SKID_KIND_AND_SP;
	case X86_INS_MOV:
	case X86_INS_LEA:
		return SEAM_SKID_KIND_MOV_SP;
	case X86_INS_XCHG:
		return SEAM_SKID_KIND_XCHG_SP;
	default:
		return SEAM_SKID_KIND_SET_SP;
	}
}

/* Of one that is no flow, and no push, pop, enter or leave. */
static enum seam_skid_kind kind_of_rest(const cs_insn *in,
					const struct seam_skid_insn *insn)
{
	if (insn->is_syscall)
		return SEAM_SKID_KIND_SYSCALL;
	if (insn->lost & SP_BIT)
		return kind_of_sp(in);
	if (insn->by)
		return SEAM_SKID_KIND_ADD_SP;
	if (insn->op == SEAM_SKID_FP_SET)
		return SEAM_SKID_KIND_SET_FP;
	return insn->store_size ? SEAM_SKID_KIND_STORE : SEAM_SKID_KIND_OTHER;
}

static enum seam_skid_kind kind_of(const cs_insn *in,
				   const struct seam_skid_insn *insn)
{
	switch (in->id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHF:
	case X86_INS_PUSHFQ:
		return SEAM_SKID_KIND_PUSH;
	case X86_INS_POP:
	case X86_INS_POPF:
	case X86_INS_POPFQ:
		return SEAM_SKID_KIND_POP;
	case X86_INS_ENTER:
		return SEAM_SKID_KIND_ENTER;
	case X86_INS_LEAVE:
		return SEAM_SKID_KIND_LEAVE;
	}
	switch ((enum seam_skid_flow)insn->flow) {
	case SEAM_SKID_BAD:
		return SEAM_SKID_KIND_UNKNOWN;
	case SEAM_SKID_CALL:
		return SEAM_SKID_KIND_CALL;
	case SEAM_SKID_RET:
		return SEAM_SKID_KIND_RET;
	case SEAM_SKID_JUMP:
	case SEAM_SKID_BRANCH:
		return SEAM_SKID_KIND_JUMP;
	case SEAM_SKID_NEXT:
		break;
	}
	return kind_of_rest(in, insn);
}

bool seam_skid_decode(struct seam_decoder *d, const uint8_t *bytes, size_t size,
		      uint64_t ip, struct seam_skid_insn *ret)
{
	const cs_insn *in;

	*ret = (struct seam_skid_insn){.reg = SEAM_SKID_NO_REG};
	if (decode_rex2(bytes, size, ret) || decode_evex(bytes, size, ret))
		return true;
	*ret = (struct seam_skid_insn){.reg = SEAM_SKID_NO_REG};
	in = seam_decoder_read(d, bytes, size, ip);
	if (!in)
		return decode_vector(bytes, size, ret);
	ret->len = (uint8_t)in->size;
	classify(d, in, ret);
	ret->kind = (uint8_t)kind_of(in, ret);
	return ret->flow != SEAM_SKID_BAD;
}
