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

SEAM_INLINE bool seam_abi_known(uint8_t abi)
{
	return abi == SEAM_SFRAME_ABI_AMD64;
}

#endif
