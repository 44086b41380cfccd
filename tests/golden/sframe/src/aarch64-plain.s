// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A leaf, frames that keep both LR and FP, or LR alone, a gap, offsets of
// one, two and four bytes.
	.text
	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	bl	leaf
	bl	both
	mov	x8, 93
	svc	0
	.cfi_endproc
	.size	_start, .-_start

	.type	leaf, %function
leaf:
	.cfi_startproc
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.type	nocfi, %function
nocfi:
	ret
	.size	nocfi, .-nocfi

	.type	both, %function
both:
	.cfi_startproc
	stp	x29, x30, [sp, -48]!
	.cfi_def_cfa_offset 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	mov	x29, sp
	.cfi_def_cfa_register 29
	bl	leaf
	.cfi_def_cfa_register 31
	ldp	x29, x30, [sp], 48
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	both, .-both

	.type	lr_only, %function
lr_only:
	.cfi_startproc
	str	x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -16
	bl	leaf
	ldr	x30, [sp], 16
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	lr_only, .-lr_only

	.type	deep, %function
deep:
	.cfi_startproc
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	sub	sp, sp, 496
	.cfi_def_cfa_offset 512
	sub	sp, sp, 65536
	.cfi_def_cfa_offset 66048
	add	sp, sp, 65536
	.cfi_def_cfa_offset 512
	add	sp, sp, 496
	.cfi_def_cfa_offset 16
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	deep, .-deep
