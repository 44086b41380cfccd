# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Rules that only version 3 can hold: the stack realigned by gcc's DRAP, a
# return address in a register, a CFA on another register.
	.text
	.type	drap, @function
drap:
	.cfi_startproc
	leaq	8(%rsp), %r10
	.cfi_def_cfa r10, 0
	andq	$-32, %rsp
	pushq	-8(%r10)
	pushq	%rbp
	movq	%rsp, %rbp
	.cfi_escape 0x10,0x6,0x2,0x76,0
	pushq	%r10
	.cfi_escape 0xf,0x3,0x76,0x78,0x6
	subq	$40, %rsp
	movq	-8(%rbp), %r10
	.cfi_def_cfa r10, 0
	leave
	leaq	-8(%r10), %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	drap, .-drap

	.type	ra_in_rcx, @function
ra_in_rcx:
	.cfi_startproc
	popq	%rcx
	.cfi_def_cfa_offset 0
	.cfi_register rip, rcx
	nop
	jmp	*%rcx
	.cfi_endproc
	.size	ra_in_rcx, .-ra_in_rcx

	.type	ra_elsewhere, @function
ra_elsewhere:
	.cfi_startproc
	pushq	(%rsp)
	.cfi_def_cfa_offset 16
	.cfi_offset rip, -16
	nop
	subq	$200, %rsp
	.cfi_def_cfa_offset 216
	addq	$208, %rsp
	.cfi_def_cfa_offset 8
	.cfi_offset rip, -8
	ret
	.cfi_endproc
	.size	ra_elsewhere, .-ra_elsewhere

	.type	cfa_in_rbx, @function
cfa_in_rbx:
	.cfi_startproc
	movq	%rsp, %rbx
	.cfi_def_cfa rbx, 8
	andq	$-64, %rsp
	movq	%rbx, %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	cfa_in_rbx, .-cfa_in_rbx
	.section .note.GNU-stack,"",@progbits
