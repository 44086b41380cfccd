# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# A leaf, frames with RA and FP on the stack, with FP alone, offsets that
# take one, two and four bytes, the outermost frame, a signal frame.
	.text
	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined r14
	nopr
	brasl	%r14, leaf
	.cfi_endproc
	.size	_start, .-_start

	.type	leaf, @function
leaf:
	.cfi_startproc
	br	%r14
	.cfi_endproc
	.size	leaf, .-leaf

	.type	both, @function
both:
	.cfi_startproc
	stmg	%r11, %r15, 88(%r15)
	.cfi_rel_offset r11, 88
	.cfi_rel_offset r14, 112
	.cfi_rel_offset r15, 120
	lay	%r15, -160(%r15)
	.cfi_adjust_cfa_offset 160
	lgr	%r11, %r15
	.cfi_def_cfa_register r11
	lmg	%r11, %r15, 248(%r15)
	.cfi_restore r15
	.cfi_restore r14
	.cfi_restore r11
	.cfi_def_cfa r15, 160
	br	%r14
	.cfi_endproc
	.size	both, .-both

	.type	fp_only, @function
fp_only:
	.cfi_startproc
	stg	%r11, 88(%r15)
	.cfi_rel_offset r11, 88
	lgr	%r0, %r0
	lg	%r11, 88(%r15)
	.cfi_restore r11
	br	%r14
	.cfi_endproc
	.size	fp_only, .-fp_only

	.type	deep, @function
deep:
	.cfi_startproc
	stmg	%r14, %r15, 112(%r15)
	.cfi_rel_offset r14, 112
	.cfi_rel_offset r15, 120
	lay	%r15, -8192(%r15)
	.cfi_adjust_cfa_offset 8192
	agfi	%r15, -400000
	.cfi_adjust_cfa_offset 400000
	agfi	%r15, 400000
	.cfi_adjust_cfa_offset -400000
	lmg	%r14, %r15, 8304(%r15)
	.cfi_restore r15
	.cfi_restore r14
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	deep, .-deep

	.type	signal, @function
signal:
	.cfi_startproc
	.cfi_signal_frame
	nopr
	.cfi_def_cfa_offset 320
	nopr
	.cfi_endproc
	.size	signal, .-signal
