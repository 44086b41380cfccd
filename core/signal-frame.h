/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where Linux puts the registers of code that a signal interrupted, for
 * rt_sigreturn: in the ucontext of the frame that SP points to while the
 * trampoline runs. Part of the kernel's ABI.
 * Source: struct rt_sigframe and struct ucontext, arch/x86, arm64, s390.
 */
#ifndef SEAM_CORE_SIGNAL_FRAME_H
#define SEAM_CORE_SIGNAL_FRAME_H

#include "core/arch.h"
#include "core/env.h"
#include "core/rule.h"

/* In place of a register's number: the interrupted code's ip. */
#define SEAM_SIGNAL_IP 0xff

/*
 * amd64: SP is at the ucontext; gregs begins 40 bytes into it: r8 to r15, rdi,
 * rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
 */
SEAM_INLINE int32_t seam_signal_amd64(uint8_t reg)
{
	switch (reg) {
	case 0:
		return 40 + 8 * 13;
	case 1:
		return 40 + 8 * 12;
	case 2:
		return 40 + 8 * 14;
	case 3:
		return 40 + 8 * 11;
	case 4:
		return 40 + 8 * 9;
	case 5:
		return 40 + 8 * 8;
	case SEAM_AMD64_REG_FP:
		return 40 + 8 * 10;
	case SEAM_AMD64_REG_SP:
		return 40 + 8 * 15;
	case SEAM_AMD64_REG_IP:
	case SEAM_SIGNAL_IP:
		return 40 + 8 * 16;
	default:
		return reg < 16 ? 40 + 8 * (reg - 8) : -1;
	}
}

/* aarch64: 128 bytes of siginfo, 176 of ucontext, the fault's address; then
 * x0 to x30, SP, pc. */
SEAM_INLINE int32_t seam_signal_aarch64(uint8_t reg)
{
	if (reg == SEAM_SIGNAL_IP)
		return 312 + 8 * 32;
	return reg < 32 ? 312 + 8 * reg : -1;
}

/* s390x: the caller's 160 bytes, 8 of code, 128 of siginfo, 40 of ucontext,
 * the PSW's mask and address; r0 to r15; 72 bytes; f0 to f15, which DWARF
 * numbers in another order. */
SEAM_INLINE int32_t seam_signal_s390x(uint8_t reg)
{
	uint32_t in_eight = reg & 7u, fpr;

	if (reg == SEAM_SIGNAL_IP)
		return 344;
	if (reg < 16)
		return 352 + 8 * reg;
	if (reg >= 32)
		return -1;
	/* 0 2 4 6 1 3 5 7, and the same of the upper eight. */
	fpr = in_eight < 4 ? 2 * in_eight : 2 * (in_eight - 4) + 1;
	return 552 + 8 * (int32_t)(fpr + (reg >= 24 ? 8 : 0));
}

/* Return: the offset from SP of a register's word, or -1. */
SEAM_INLINE int32_t seam_signal_reg_off(enum seam_arch arch, uint8_t reg)
{
	return arch == SEAM_ARCH_AMD64	   ? seam_signal_amd64(reg)
	       : arch == SEAM_ARCH_AARCH64 ? seam_signal_aarch64(reg)
	       : arch == SEAM_ARCH_S390X   ? seam_signal_s390x(reg)
					   : -1;
}

SEAM_INLINE struct seam_value seam_signal_value(enum seam_arch arch,
						uint8_t reg)
{
	struct seam_value v = {0};

	v.kind = SEAM_REG_DEREF;
	v.reg = seam_arch_sp(arch);
	v.off = seam_signal_reg_off(arch, reg);
	return v;
}

/* The rule of such a trampoline, where no row tells it. */
SEAM_INLINE void seam_signal_frame_rule(enum seam_arch arch,
					struct seam_rule *ret)
{
	*ret = (struct seam_rule){0};
	ret->cfa = seam_signal_value(arch, seam_arch_sp(arch));
	ret->cfa_add = (int32_t)seam_arch_cfa_bias(arch);
	ret->ra = seam_signal_value(arch, SEAM_SIGNAL_IP);
	ret->fp = seam_signal_value(arch, seam_arch_fp(arch));
	ret->flags = SEAM_RULE_SIGNAL;
}

#endif
