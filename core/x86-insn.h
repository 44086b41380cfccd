/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * One x86 instruction: how long it is, and its parts. Of code that has no
 * rules and may have no file: in the kernel there is no room for a
 * disassembler. What it does to the stack is code-way.h's to say.
 *
 * Source: Intel SDM volume 2, chapter 2 and appendix A.
 */
#ifndef SEAM_CORE_X86_INSN_H
#define SEAM_CORE_X86_INSN_H

#include "core/env.h"

#define SEAM_X86_MAX_LEN 15

/* Code as two words, byte 0 in the low bits: registers to the verifier, so
 * that reading a byte needs no bounds. */
struct seam_x86_bytes {
	uint64_t lo, hi;
};

enum seam_x86_map { /* of opcodes */
		    SEAM_X86_ONE = 0,
		    SEAM_X86_0F = 1,
		    SEAM_X86_0F38 = 2,
		    SEAM_X86_0F3A = 3,
};

struct seam_x86 {
	uint8_t len; /* 0: no instruction that we know */
	uint8_t map; /* enum seam_x86_map */
	uint8_t op;
	uint8_t rex; /* 0: none */
	uint8_t modrm; /* if has_modrm */
	uint8_t sib; /* if modrm asks for one */
	bool has_modrm;
	bool is_vector; /* VEX or EVEX: rsp is not written; what is in rbp is
			 * no frame pointer where it is (andn, shlx) */
	bool is_16; /* the operand-size prefix */
	bool is_short; /* the address-size prefix */
	int32_t disp;
	int32_t imm; /* the low 32 bits, with their sign */
};

/* What is there from byte i on. */
SEAM_INLINE uint64_t seam_x86_from(const struct seam_x86_bytes *b, uint32_t i)
{
	uint64_t upper = seam_mask(i >> 3 & 1);
	uint32_t shift = 8 * (i & 7);
	uint64_t first = (b->lo & ~upper) | (b->hi & upper);

	return first >> shift | (b->hi & ~upper) << 1 << (63 - shift);
}

SEAM_INLINE uint8_t seam_x86_byte(const struct seam_x86_bytes *b, uint32_t i)
{
	return (uint8_t)seam_x86_from(b, i);
}

/* size bytes, 0 to 4, with their sign. */
SEAM_INLINE int32_t seam_x86_signed(const struct seam_x86_bytes *b, uint32_t i,
				    uint32_t size)
{
	uint32_t unused = 32 - 8 * size;
	int64_t v = (int64_t)(seam_x86_from(b, i) << 32 << unused);

	return (int32_t)(v >> 32 >> unused);
}

#define SEAM_X86_BIT(op) (1ULL << ((op)&63))

/* Sets of opcodes, 64 to a word. */
SEAM_INLINE bool seam_x86_in(uint8_t op, uint64_t a, uint64_t b, uint64_t c,
			     uint64_t d)
{
	uint64_t odd = seam_mask(op >> 6 & 1), upper = seam_mask(op >> 7);
	uint64_t ab = a ^ ((a ^ b) & odd), cd = c ^ ((c ^ d) & odd);

	return (ab ^ ((ab ^ cd) & upper)) >> (op & 63) & 1;
}

SEAM_INLINE bool seam_x86_one_modrm(uint8_t op)
{
	return seam_x86_in(op, 0x0f0f0f0f0f0f0f0f,
			   SEAM_X86_BIT(0x62) | SEAM_X86_BIT(0x63) |
				   SEAM_X86_BIT(0x69) | SEAM_X86_BIT(0x6b),
			   0xffff,
			   0xf3 | 0xfULL << 16 | 0xffULL << 24 |
				   SEAM_X86_BIT(0xf6) | SEAM_X86_BIT(0xf7) |
				   SEAM_X86_BIT(0xfe) | SEAM_X86_BIT(0xff));
}

SEAM_INLINE bool seam_x86_one_imm8(uint8_t op)
{
	return seam_x86_in(
		op, 0x1010101010101010,
		SEAM_X86_BIT(0x6a) | SEAM_X86_BIT(0x6b) | 0xffffULL << 48,
		SEAM_X86_BIT(0x80) | SEAM_X86_BIT(0x82) | SEAM_X86_BIT(0x83) |
			SEAM_X86_BIT(0xa8) | 0xffULL << 48,
		SEAM_X86_BIT(0xc0) | SEAM_X86_BIT(0xc1) | SEAM_X86_BIT(0xc6) |
			SEAM_X86_BIT(0xcd) | SEAM_X86_BIT(0xd4) |
			SEAM_X86_BIT(0xd5) | 0xffULL << 32 |
			SEAM_X86_BIT(0xeb));
}

/* An immediate of the operand's size, at most 4 bytes. */
SEAM_INLINE bool seam_x86_one_immz(uint8_t op)
{
	return seam_x86_in(
		op, 0x2020202020202020, SEAM_X86_BIT(0x68) | SEAM_X86_BIT(0x69),
		SEAM_X86_BIT(0x81) | SEAM_X86_BIT(0xa9) | 0xffULL << 56,
		SEAM_X86_BIT(0xc7) | SEAM_X86_BIT(0xe8) | SEAM_X86_BIT(0xe9));
}

SEAM_INLINE bool seam_x86_0f_modrm(uint8_t op)
{
	return !seam_x86_in(
		op,
		SEAM_X86_BIT(0x05) | SEAM_X86_BIT(0x06) | SEAM_X86_BIT(0x07) |
			SEAM_X86_BIT(0x08) | SEAM_X86_BIT(0x09) |
			SEAM_X86_BIT(0x0b) | SEAM_X86_BIT(0x0e) | 0xffULL << 48,
		SEAM_X86_BIT(0x77), 0xffff | 7ULL << 32 | 7ULL << 40, 0xff00);
}

SEAM_INLINE bool seam_x86_0f_imm8(uint8_t op)
{
	return seam_x86_in(op, SEAM_X86_BIT(0x0f), 0xfULL << 48,
			   SEAM_X86_BIT(0xa4) | SEAM_X86_BIT(0xac) |
				   SEAM_X86_BIT(0xba),
			   SEAM_X86_BIT(0xc2) | SEAM_X86_BIT(0xc4) |
				   SEAM_X86_BIT(0xc5) | SEAM_X86_BIT(0xc6));
}

/* Prefixes before the opcode: up to 7, which the longest nops have. */
SEAM_INLINE void seam_x86_prefixes(const struct seam_x86_bytes *b,
				   struct seam_x86 *x)
{
	uint32_t i;

	for (i = 0; i < 7; i++) {
		uint8_t c = seam_x86_byte(b, i);

		if (c == 0x66)
			x->is_16 = true;
		else if (c == 0x67)
			x->is_short = true;
		else if (c != 0xf2 && c != 0xf3 && c != 0xf0 &&
			 (c & 0xe7) != 0x26 && c != 0x64 && c != 0x65)
			break;
	}
	x->len = (uint8_t)i;
}

/* A VEX or EVEX prefix. Return: whether there is one. */
SEAM_INLINE bool seam_x86_vector(const struct seam_x86_bytes *b, bool is_32,
				 struct seam_x86 *x)
{
	uint32_t i = x->len & 7;
	uint8_t c = seam_x86_byte(b, i), next = seam_x86_byte(b, i + 1);

	if ((c != 0xc4 && c != 0xc5 && c != 0x62) || (is_32 && next < 0xc0))
		return false;
	x->is_vector = true;
	x->map = c == 0xc5 ? SEAM_X86_0F : c == 0xc4 ? next & 0x1f : next & 7;
	/* EVEX's 5 and 6 have the form of 0F38's. */
	if (c == 0x62 && (x->map == 5 || x->map == 6))
		x->map = SEAM_X86_0F38;
	x->len = (uint8_t)(i + (c == 0xc5 ? 2 : c == 0xc4 ? 3 : 4));
	return true;
}

/* REX and escapes. */
SEAM_INLINE void seam_x86_escape(const struct seam_x86_bytes *b, bool is_32,
				 struct seam_x86 *x)
{
	uint32_t i = x->len & 7;

	if (!is_32 && (seam_x86_byte(b, i) & 0xf0) == 0x40)
		x->rex = seam_x86_byte(b, i++);
	if (seam_x86_byte(b, i) == 0x0f) {
		uint8_t next = seam_x86_byte(b, ++i);

		x->map = next == 0x38	? SEAM_X86_0F38
			 : next == 0x3a ? SEAM_X86_0F3A
					: SEAM_X86_0F;
		i += x->map != SEAM_X86_0F;
	}
	x->len = (uint8_t)i;
}

SEAM_INLINE void seam_x86_opcode(const struct seam_x86_bytes *b,
				 struct seam_x86 *x)
{
	x->op = seam_x86_byte(b, x->len & 15);
	x->len++;
	x->has_modrm = x->map == SEAM_X86_ONE  ? seam_x86_one_modrm(x->op)
		       : x->map == SEAM_X86_0F ? seam_x86_0f_modrm(x->op)
					       : true;
	if (x->has_modrm)
		x->modrm = seam_x86_byte(b, x->len++ & 15);
}

/* SIB and displacement. */
SEAM_INLINE void seam_x86_memory(const struct seam_x86_bytes *b,
				 struct seam_x86 *x)
{
	uint8_t mod = x->modrm >> 6, rm = x->modrm & 7;
	uint32_t i = x->len & 15, size;

	if (!x->has_modrm || mod == 3)
		return;
	size = mod == 1 ? 1 : mod == 2 || (!mod && rm == 5) ? 4 : 0;
	if (rm == 4) {
		x->sib = seam_x86_byte(b, i++);
		if (!mod && (x->sib & 7) == 5)
			size = 4;
	}
	x->disp = seam_x86_signed(b, i, size);
	x->len = (uint8_t)(i + size);
}

/* Bytes of the immediate operand; only up to 4 of them are of interest. */
SEAM_INLINE uint32_t seam_x86_imm_size(const struct seam_x86 *x, bool is_32)
{
	bool is_test = !(x->modrm & 0x30); /* F6 and F7, /0 and /1 */
	uint32_t z = x->is_16 && !(x->rex & 8) ? 2 : 4;

	if (x->map == SEAM_X86_0F3A)
		return 1;
	if (x->map == SEAM_X86_0F)
		return seam_x86_0f_imm8(x->op)	? 1
		       : (x->op & 0xf0) == 0x80 ? 4
						: 0;
	if (x->map != SEAM_X86_ONE)
		return 0;
	if ((x->op & 0xf8) == 0xb8 && x->rex & 8)
		return 8;
	if ((x->op & 0xfc) == 0xa0)
		return is_32 ? 4 : 8;
	if (x->op == 0xe8 || x->op == 0xe9)
		return is_32 ? z : 4;
	if (x->op == 0xc2 || x->op == 0xca)
		return 2;
	if (x->op == 0xc8)
		return 3;
	if (seam_x86_one_imm8(x->op) || (x->op == 0xf6 && is_test))
		return 1;
	return seam_x86_one_immz(x->op) || (x->op == 0xf7 && is_test) ? z : 0;
}

/* What has another form in each mode, or none. */
SEAM_INLINE bool seam_x86_is_known(const struct seam_x86 *x, bool is_32)
{
	if (is_32 && x->is_short)
		return false; /* ModRM has another form then */
	if (x->is_vector)
		return x->map >= SEAM_X86_0F && x->map <= SEAM_X86_0F3A;
	if (x->map != SEAM_X86_ONE)
		return true;
	if (x->op == 0x8f && x->has_modrm && x->modrm & 0x38)
		return false; /* AMD's XOP */
	if (x->op == 0x9a || x->op == 0xea ||
	    (x->is_short && (x->op & 0xfc) == 0xa0))
		return false;
	return is_32 || ((x->op & 0xe7) != 0x06 && (x->op & 0xe7) != 0x07 &&
			 x->op != 0x60 && x->op != 0x61 && x->op != 0x82);
}

/* The three parts of decoding, by what they leave in x. Apart, so that the
 * verifier can walk each once, and not for each way through those before. */
SEAM_INLINE void seam_x86_head(const struct seam_x86_bytes *b, bool is_32,
			       struct seam_x86 *x)
{
	*x = (struct seam_x86){0};
	seam_x86_prefixes(b, x);
	SEAM_FORGET;
	if (!seam_x86_vector(b, is_32, x))
		seam_x86_escape(b, is_32, x);
}

SEAM_INLINE void seam_x86_body(const struct seam_x86_bytes *b, bool is_32,
			       struct seam_x86 *x)
{
	seam_x86_opcode(b, x);
	SEAM_FORGET;
	seam_x86_memory(b, x);
	SEAM_FORGET;
	x->imm = (int32_t)seam_x86_imm_size(x, is_32);
}

SEAM_INLINE void seam_x86_tail(const struct seam_x86_bytes *b, bool is_32,
			       struct seam_x86 *x)
{
	uint32_t imm = (uint32_t)x->imm & 15;

	x->imm = seam_x86_signed(b, x->len & 15, imm > 4 ? 4 : imm);
	x->len = (uint8_t)(x->len + imm);
	SEAM_FORGET;
	if (!seam_x86_is_known(x, is_32) || x->len > SEAM_X86_MAX_LEN)
		x->len = 0;
}

/* bytes: 16 from the instruction's first on; ret->len is 0 if it is none. */
SEAM_INLINE void seam_x86_decode(const struct seam_x86_bytes *b, bool is_32,
				 struct seam_x86 *ret)
{
	seam_x86_head(b, is_32, ret);
	SEAM_FORGET;
	seam_x86_body(b, is_32, ret);
	SEAM_FORGET;
	seam_x86_tail(b, is_32, ret);
}

/* How long FF with this ModRM is, by mod and rm, without what a SIB byte adds:
 * half a byte for each. */
SEAM_INLINE uint64_t seam_x86_indirect_len(uint64_t modrm)
{
	/* mod 0: 2 bytes, but of rm 4 (SIB) 3 and of 5 (rip) 6; 1: 3 and 4; 2:
	 * 6 and 7; 3: 2. */
	uint64_t upper = seam_mask(modrm >> 7);
	uint64_t first = 0x3334333322632222, second = 0x2222222266676666;
	uint64_t lens = first ^ ((first ^ second) & upper);

	return lens >> (modrm >> 6 & 1) * 32 >> (modrm & 7) * 4 & 15;
}

/* All ones if it is 0, else 0; of a number below 2^63. */
SEAM_INLINE uint64_t seam_x86_is_0(uint64_t v)
{
	return seam_mask((v - 1) >> 63);
}

/*
 * Whether an address is behind a call: before is the 8 bytes that end there.
 * Without branches: the verifier walked each way through them for each length.
 */
SEAM_INLINE bool seam_x86_is_behind_call(uint64_t before)
{
	/* E8 and four bytes. */
	uint64_t found = seam_x86_is_0((before >> 24 & 0xff) ^ 0xe8);
	uint32_t k;

	/* FF /2, of 2, 3, 4, 6 or 7 bytes. */
	for (k = 2; k <= 7; k++) {
		uint64_t insn = before >> (8 - k) * 8, modrm = insn >> 8 & 0xff;
		/* Of SIB without displacement, where its base is rbp's. */
		uint64_t with_sib = seam_x86_is_0(((modrm & 0xc7) ^ 4) |
						  ((insn >> 16 & 7) ^ 5));
		uint64_t len = seam_x86_indirect_len(modrm) + (with_sib & 4);

		found |= seam_x86_is_0(((insn & 0xff) ^ 0xff) |
				       ((modrm & 0x38) ^ 0x10) | (len ^ k));
	}
	return found;
}

#endif
