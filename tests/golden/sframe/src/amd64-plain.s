# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Several functions, a gap between two, a frame pointer, early returns with
# remember and restore, and two text sections.
	.text
	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	call	leaf
	call	framed
	call	early
	call	apart
	movl	$60, %eax
	xorl	%edi, %edi
	syscall
	.cfi_endproc
	.size	_start, .-_start

	.type	leaf, @function
leaf:
	.cfi_startproc
	movl	$1, %eax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.type	nocfi, @function
nocfi:
	ret
	.size	nocfi, .-nocfi

	.type	framed, @function
framed:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	pushq	%rbx
	.cfi_offset rbx, -24
	subq	$24, %rsp
	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	framed, .-framed

	.type	early, @function
early:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	subq	$32, %rsp
	.cfi_def_cfa_offset 48
	testl	%eax, %eax
	je	1f
	.cfi_remember_state
	addq	$32, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
1:
	.cfi_restore_state
	nop
	addq	$32, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	early, .-early

	.section .text.apart,"ax",@progbits
	.type	apart, @function
apart:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	nop
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	apart, .-apart
	.section .note.GNU-stack,"",@progbits
