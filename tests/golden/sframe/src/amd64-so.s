# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# What a library calls of others: its linkage tables get functions.
	.text
	.macro	caller name, callee
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	call	\callee@PLT
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	\name, .-\name
	.endm

	caller	first, outside_one
	caller	second, outside_two
	caller	third, outside_three

	.globl	pointer
	.type	pointer, @function
pointer:
	.cfi_startproc
	movq	outside_four@GOTPCREL(%rip), %rax
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	call	outside_four@PLT
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	pointer, .-pointer
	.section .note.GNU-stack,"",@progbits
