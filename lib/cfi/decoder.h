/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * x86-64 instructions, one at a time, by capstone: what all have in common who
 * read code. What capstone says of registers written is taken together with
 * the operands themselves, since either alone has been wrong for rare
 * instructions.
 */
#ifndef SEAM_LIB_CFI_DECODER_H
#define SEAM_LIB_CFI_DECODER_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAM_DECODER_GPRS 16

/* Of one thread. */
struct seam_decoder {
	csh handle;
	cs_insn *insn; /* the last one */
};

/* Return: 0 or -ENOMEM. */
int seam_decoder_new(struct seam_decoder **ret);
/* NULL is fine. Return: NULL. */
struct seam_decoder *seam_decoder_free(struct seam_decoder *d);
/* Return: NULL if the bytes are no instruction; it holds until the next. */
const cs_insn *seam_decoder_read(struct seam_decoder *d, const uint8_t *bytes,
				 size_t size, uint64_t addr);

/* Operand i is this register; is an immediate. */
bool seam_decoder_is_reg(const cs_x86 *x, unsigned int i, unsigned int reg);
bool seam_decoder_is_imm(const cs_x86 *x, unsigned int i);
/* The operand-size prefix, where REX.W does not overrule it. */
bool seam_decoder_is_short(const cs_x86 *x);
/* disp of operand i, [reg + disp] and nothing else. */
bool seam_decoder_disp(const cs_x86 *x, unsigned int i, unsigned int reg,
		       int64_t *ret);
bool seam_decoder_in_group(const cs_insn *in, uint8_t group);
/* Operand 0 is the only one that it may write. */
bool seam_decoder_is_plain(unsigned int id);
/* It writes no operand at all. */
bool seam_decoder_is_read_only(unsigned int id);
/* The general register that it is, or is a part of, by DWARF's number. Return:
 * -1 if it is none. */
int seam_decoder_dwarf(unsigned int reg);
/* What it may write of these, one bit for each. */
uint32_t seam_decoder_written(struct seam_decoder *d, const cs_insn *in);

#endif
