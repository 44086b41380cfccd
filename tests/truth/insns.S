/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Each kind of instruction that moves the stack pointer, with CFI that is true
 * at every one: those that compilers seldom emit, above all. */
	.text

	.type	leaf, @function
leaf:
	.cfi_startproc
	pushq	$7
	.cfi_adjust_cfa_offset 8
	pushfq
	.cfi_adjust_cfa_offset 8
	popfq
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.type	by_enter, @function
by_enter:
	.cfi_startproc
	enter	$32, $0
	.cfi_def_cfa rbp, 16
	.cfi_offset rbp, -16
	call	leaf
	leave
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	by_enter, .-by_enter

/* An alignment, an alloca, and rsp from elsewhere, in a frame of rbp. */
	.type	by_fp, @function
by_fp:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	pushq	%rbx
	.cfi_offset rbx, -24
	andq	$-32, %rsp
	movl	$64, %eax
	subq	%rax, %rsp
	call	leaf
	leaq	-32(%rsp), %rax
	xchgq	%rax, %rsp
	call	leaf
	xchgq	%rax, %rsp
	leaq	-8(%rbp), %rsp
	popq	%rbx
	.cfi_restore rbx
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	by_fp, .-by_fp

/* Numbers alone; it takes its argument with it. */
	.type	by_sp, @function
by_sp:
	.cfi_startproc
	subq	$40, %rsp
	.cfi_adjust_cfa_offset 40
	call	leaf
	leaq	-16(%rsp), %rsp
	.cfi_adjust_cfa_offset 16
	call	leaf
	leaq	16(%rsp), %rsp
	.cfi_adjust_cfa_offset -16
	addq	$40, %rsp
	.cfi_adjust_cfa_offset -40
	ret	$8
	.cfi_endproc
	.size	by_sp, .-by_sp

/* Where the rule is by rsp, and rsp is gone: without the registers' ip that
 * cannot be taken back, and has to be named. */
	.type	by_other, @function
by_other:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	movq	%rsp, %rbx
	andq	$-64, %rsp
	.cfi_def_cfa_register rbx
	call	leaf
	movq	%rbx, %rsp
	.cfi_def_cfa_register rsp
	popq	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	by_other, .-by_other

	.globl	main
	.type	main, @function
main:
	.cfi_startproc
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset r12, -16
	movl	$400, %r12d
1:	call	by_enter
	call	by_fp
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	call	by_sp
	.cfi_adjust_cfa_offset -8
	testb	$31, %r12b
	jnz	2f
	call	by_other
2:	decl	%r12d
	jnz	1b
	popq	%r12
	.cfi_def_cfa_offset 8
	.cfi_restore r12
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	main, .-main

	.section .note.GNU-stack, "", @progbits
