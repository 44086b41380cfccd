// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cfi/decoder.h"

#include <errno.h>
#include <stdlib.h>

#define PREFIX_OPSIZE 0x66
#define REX_W 0x08

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

const cs_insn *seam_decoder_read(struct seam_decoder *d, const uint8_t *bytes,
				 size_t size, uint64_t addr)
{
	return cs_disasm_iter(d->handle, &bytes, &size, &addr, d->insn)
		       ? d->insn
		       : NULL;
}

bool seam_decoder_is_reg(const cs_x86 *x, unsigned int i, unsigned int reg)
{
	return i < x->op_count && x->operands[i].type == X86_OP_REG &&
	       x->operands[i].reg == reg;
}

bool seam_decoder_is_imm(const cs_x86 *x, unsigned int i)
{
	return i < x->op_count && x->operands[i].type == X86_OP_IMM;
}

bool seam_decoder_is_plain(unsigned int id)
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

bool seam_decoder_is_read_only(unsigned int id)
{
	return id == X86_INS_CMP || id == X86_INS_TEST || id == X86_INS_NOP ||
	       id == X86_INS_BT || id == X86_INS_PUSH || id == X86_INS_CALL ||
	       id == X86_INS_JMP;
}

bool seam_decoder_in_group(const cs_insn *in, uint8_t group)
{
	const cs_detail *detail = in->detail;

	for (unsigned int i = 0; i < detail->groups_count; i++)
		if (detail->groups[i] == group)
			return true;
	return false;
}

bool seam_decoder_is_short(const cs_x86 *x)
{
	return x->prefix[2] == PREFIX_OPSIZE && !(x->rex & REX_W);
}

bool seam_decoder_disp(const cs_x86 *x, unsigned int i, unsigned int reg,
		       int64_t *ret)
{
	const cs_x86_op *op = &x->operands[i];

	if (i >= x->op_count || op->type != X86_OP_MEM || op->mem.base != reg ||
	    op->mem.index != X86_REG_INVALID)
		return false;
	*ret = op->mem.disp;
	return true;
}

/* By DWARF's numbers, with all that they are parts of. */
static const uint16_t gprs[SEAM_DECODER_GPRS][5] = {
	{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
	{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
	{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
	{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
	{X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
	{X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
	{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
	{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
	{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
	{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
};

int seam_decoder_dwarf(unsigned int reg)
{
	if (reg == X86_REG_INVALID)
		return -1;
	for (int i = 0; i < SEAM_DECODER_GPRS; i++)
		for (size_t j = 0; j < 5; j++)
			if (gprs[i][j] == reg)
				return i;
	return -1;
}

static uint32_t bit_of(unsigned int reg)
{
	int dwarf = seam_decoder_dwarf(reg);

	return dwarf < 0 ? 0 : 1u << dwarf;
}

uint32_t seam_decoder_written(struct seam_decoder *d, const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;
	cs_regs read, written;
	uint8_t n_read, n_written;
	uint32_t all = 0;

	for (unsigned int i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type != X86_OP_REG || seam_decoder_is_read_only(in->id))
			continue;
		if (!i || !seam_decoder_is_plain(in->id) ||
		    (op->access & CS_AC_WRITE))
			all |= bit_of(op->reg);
	}
	if (cs_regs_access(d->handle, in, read, &n_read, written, &n_written))
		return (1u << SEAM_DECODER_GPRS) - 1;
	for (unsigned int i = 0; i < n_written; i++)
		all |= bit_of(written[i]);
	return all;
}
