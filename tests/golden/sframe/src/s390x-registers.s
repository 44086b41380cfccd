# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Leaf functions that keep RA and FP in floating-point registers, one and
# both, and a CFA on a register that is neither SP nor FP.
	.text
	.type	ra_in_f0, @function
ra_in_f0:
	.cfi_startproc
	ldgr	%f0, %r14
	.cfi_register r14, f0
	nopr
	lgdr	%r14, %f0
	.cfi_restore r14
	br	%r14
	.cfi_endproc
	.size	ra_in_f0, .-ra_in_f0

	.type	both_in_fprs, @function
both_in_fprs:
	.cfi_startproc
	ldgr	%f2, %r11
	.cfi_register r11, f2
	ldgr	%f0, %r14
	.cfi_register r14, f0
	nopr
	lgdr	%r14, %f0
	.cfi_restore r14
	lgdr	%r11, %f2
	.cfi_restore r11
	br	%r14
	.cfi_endproc
	.size	both_in_fprs, .-both_in_fprs

	.type	fp_in_f4, @function
fp_in_f4:
	.cfi_startproc
	ldgr	%f4, %r11
	.cfi_register r11, f4
	lgdr	%r11, %f4
	.cfi_restore r11
	br	%r14
	.cfi_endproc
	.size	fp_in_f4, .-fp_in_f4

	.type	cfa_in_r10, @function
cfa_in_r10:
	.cfi_startproc
	stmg	%r10, %r15, 80(%r15)
	.cfi_rel_offset r10, 80
	.cfi_rel_offset r11, 88
	.cfi_rel_offset r14, 112
	.cfi_rel_offset r15, 120
	lgr	%r10, %r15
	.cfi_def_cfa_register r10
	nopr
	lmg	%r10, %r15, 80(%r10)
	.cfi_restore r10
	.cfi_restore r11
	.cfi_restore r14
	.cfi_restore r15
	.cfi_def_cfa_register r15
	br	%r14
	.cfi_endproc
	.size	cfa_in_r10, .-cfa_in_r10
