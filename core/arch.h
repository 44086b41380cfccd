/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the SFrame ABIs differ in. Numbers are DWARF register numbers. */
#ifndef SEAM_CORE_ARCH_H
#define SEAM_CORE_ARCH_H

#include "core/env.h"
#include "core/sframe-format.h"

#define SEAM_AMD64_REG_FP 6
#define SEAM_AMD64_REG_SP 7
#define SEAM_AMD64_REG_IP 16
#define SEAM_AMD64_REGS 17

/* x86-64: the return address of a called function lies just below its CFA */
#define SEAM_AMD64_RA_OFF (-8)
#define SEAM_AMD64_RED_ZONE 128

/*
 * x86-64: the page of the old system calls. Nothing runs there: the kernel does
 * at the fault what was called, and returns to the caller. So a frame in it is
 * always at a function's first instruction.
 */
#define SEAM_AMD64_VSYSCALL 0xffffffffff600000ULL

/*
 * x86-64: the page that Linux has a probed function call in place of a nop, by
 * its name as perf's records cut it. It pushes rcx, r11 and rax, enters the
 * kernel, where the probe is handled, pops them and returns. On Linux 6.18 that
 * is a nop of five bytes; on 7.2, of ten: the call has an instruction before it
 * that leaves the red zone alone, and the page returns to above that.
 */
#define SEAM_AMD64_PROBE_PAGE "[uprobes-trampo"
/* Its first eight bytes and its last. */
#define SEAM_AMD64_PROBE_PAGE_WORD 0x7365626f7270755bULL
#define SEAM_AMD64_PROBE_PAGE_LAST 0x6f706d6172742d73ULL

#define SEAM_AARCH64_REG_FP 29
#define SEAM_AARCH64_REG_RA 30
#define SEAM_AARCH64_REG_SP 31

#define SEAM_S390X_REG_FP 11
#define SEAM_S390X_REG_RA 14
#define SEAM_S390X_REG_SP 15

/* s390x: the CFA is behind the area that a caller reserves for its callee's
 * registers. */
#define SEAM_S390X_CFA_BIAS 160

/*
 * aarch64: the bits of a code pointer that a signature (PAC) may occupy, where
 * addresses have so many bits. Bit 55 is none of them: it tells kernel from
 * user addresses. Of a live process, ptrace's NT_ARM_PAC_MASK has its own.
 */
#define SEAM_AARCH64_PAC_MASK(va_bits) (~0ULL << (va_bits) & ~(1ULL << 55))

/* An instruction set with its calling convention, whatever its byte order. */
enum seam_arch {
	SEAM_ARCH_NONE = 0,
	SEAM_ARCH_AMD64 = 1,
	SEAM_ARCH_AARCH64 = 2,
	SEAM_ARCH_S390X = 3,
};

SEAM_INLINE bool seam_amd64_is_vsyscall(uint64_t pc)
{
	return pc >> 12 == SEAM_AMD64_VSYSCALL >> 12;
}

/* Whether the call before a return address was in place of such a longer nop:
 * by the eight bytes before it, as they are or as the file has them. */
SEAM_INLINE bool seam_amd64_probe_spares(uint64_t before)
{
	/* lea -128(%rsp), %rsp; call */
	return (before & 0xffffffff) == 0xe8802464 ||
	       before == 0x0000000000841f0fULL;
}

/* Whether ip is between the two instructions of such a call, where SP is below
 * the red zone already: by the eight bytes from five before it on. */
SEAM_INLINE bool seam_amd64_probe_is_between(uint64_t around)
{
	return (around & 0xffffffffffff) == 0xe88024648d48 ||
	       ((around & 0xff) == 0x66 && around >> 16 == 0x841f0f);
}

/* How far in that page the return address is behind SP, and 8, at an
 * instruction or within. 0: this is behind all of them. */
SEAM_INLINE int32_t seam_amd64_probe_page_ra(uint64_t off)
{
	if (off < 1) /* push %rcx */
		return 8;
	if (off < 3) /* push %r11 */
		return 16;
	if (off < 4) /* push %rax */
		return 24;
	if (off < 14) /* mov, syscall, pop %rax */
		return 32;
	if (off < 16) /* pop %r11 */
		return 24;
	if (off < 17) /* pop %rcx */
		return 16;
	return off == 17 ? 8 : 0; /* ret */
}

/* Of one of SEAM_SFRAME_ABI_*. Return: SEAM_ARCH_NONE if there is no such. */
SEAM_INLINE enum seam_arch seam_abi_arch(uint8_t abi)
{
	switch (abi) {
	case SEAM_SFRAME_ABI_AMD64:
		return SEAM_ARCH_AMD64;
	case SEAM_SFRAME_ABI_AARCH64_BE:
	case SEAM_SFRAME_ABI_AARCH64_LE:
		return SEAM_ARCH_AARCH64;
	case SEAM_SFRAME_ABI_S390X:
		return SEAM_ARCH_S390X;
	default:
		return SEAM_ARCH_NONE;
	}
}

SEAM_INLINE bool seam_abi_is_big(uint8_t abi)
{
	return abi == SEAM_SFRAME_ABI_AARCH64_BE ||
	       abi == SEAM_SFRAME_ABI_S390X;
}

SEAM_INLINE uint8_t seam_arch_sp(enum seam_arch arch)
{
	return arch == SEAM_ARCH_AMD64	   ? SEAM_AMD64_REG_SP
	       : arch == SEAM_ARCH_AARCH64 ? SEAM_AARCH64_REG_SP
					   : SEAM_S390X_REG_SP;
}

SEAM_INLINE uint8_t seam_arch_fp(enum seam_arch arch)
{
	return arch == SEAM_ARCH_AMD64	   ? SEAM_AMD64_REG_FP
	       : arch == SEAM_ARCH_AARCH64 ? SEAM_AARCH64_REG_FP
					   : SEAM_S390X_REG_FP;
}

/* The column of the return address: a register, but on amd64. */
SEAM_INLINE uint8_t seam_arch_ra(enum seam_arch arch)
{
	return arch == SEAM_ARCH_AMD64	   ? SEAM_AMD64_REG_IP
	       : arch == SEAM_ARCH_AARCH64 ? SEAM_AARCH64_REG_RA
					   : SEAM_S390X_REG_RA;
}

/* Where a call puts the return address, from the CFA; 0: in a register. */
SEAM_INLINE int8_t seam_arch_ra_off(enum seam_arch arch)
{
	return arch == SEAM_ARCH_AMD64 ? SEAM_AMD64_RA_OFF : 0;
}

/* The caller's SP is the CFA less this. */
SEAM_INLINE uint32_t seam_arch_cfa_bias(enum seam_arch arch)
{
	return arch == SEAM_ARCH_S390X ? SEAM_S390X_CFA_BIAS : 0;
}

/*
 * Whether a row may name the register: those that a value can be found from.
 * amd64: the 16 old ones, the return address's column, and APX's r16 to r31.
 * aarch64: x0 to x30 and SP. s390x: r0 to r15 and f0 to f15.
 */
SEAM_INLINE bool seam_arch_has_reg(enum seam_arch arch, uint32_t regnum)
{
	if (arch == SEAM_ARCH_AMD64)
		return regnum < SEAM_AMD64_REGS ||
		       (regnum >= 130 && regnum <= 145);
	return regnum < 32;
}

#endif
