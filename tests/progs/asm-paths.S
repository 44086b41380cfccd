/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Hand-written functions, each with one kind of CFI that compilers do not
 * emit or emit rarely. All call leaf() or spin themselves, so every
 * instruction between counts.
 */
	.text

#define FUNC(name) \
	.globl name; .type name, @function; .p2align 4; name: .cfi_startproc
#define END(name) .cfi_endproc; .size name, .-name

/* Spins path_spin / 4 rounds; clobbers rcx. */
#define SPIN \
	movq path_spin(%rip), %rcx; shrq $2, %rcx; incq %rcx; \
	9: decq %rcx; jnz 9b

/* push and pop, the CFA follows rsp step by step */
FUNC(asm_push)
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq $17
	.cfi_adjust_cfa_offset 8
	pushq $18
	.cfi_adjust_cfa_offset 8
	call leaf
	popq %rax
	.cfi_adjust_cfa_offset -8
	popq %rax
	.cfi_adjust_cfa_offset -8
	SPIN
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
END(asm_push)

/* the CFA in rbp; rsp wanders without a word about it */
FUNC(asm_rbp)
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq %rax
	pushq %rcx
	subq $200, %rsp
	andq $-64, %rsp
	call leaf
	SPIN
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
END(asm_rbp)

/* the CFA in rbx, and rbp used for something else entirely */
FUNC(asm_rbx)
	pushq %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movq %rsp, %rbx
	.cfi_def_cfa_register %rbx
	pushq %rbp
	.cfi_offset %rbp, -24
	xorl %ebp, %ebp
	subq $72, %rsp
	andq $-32, %rsp
	call leaf
	SPIN
	movq -8(%rbx), %rbp
	.cfi_restore %rbp
	movq %rbx, %rsp
	.cfi_def_cfa_register %rsp
	popq %rbx
	.cfi_def_cfa_offset 8
	.cfi_restore %rbx
	ret
END(asm_rbx)

/* the CFA in a register that no call keeps: only while it calls nothing */
FUNC(asm_r10)
	leaq 8(%rsp), %r10
	.cfi_def_cfa %r10, 0
	subq $128, %rsp
	andq $-64, %rsp
	SPIN
	leaq -8(%r10), %rsp
	.cfi_def_cfa %rsp, 8
	ret
END(asm_r10)

/*
 * Two ends, the state between remembered. Offsets are absolute: after
 * .cfi_restore_state clang 14's assembler counts relative ones from the
 * state that was left, and writes wrong rows.
 */
FUNC(asm_remember)
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_rel_offset %rbp, 0
	subq $32, %rsp
	.cfi_def_cfa_offset 48
	testq $1, %rdi
	jnz 1f
	call leaf
	.cfi_remember_state
	addq $32, %rsp
	.cfi_def_cfa_offset 16
	popq %rbp
	.cfi_def_cfa_offset 8
	.cfi_restore %rbp
	ret
1:
	.cfi_restore_state
	call leaf
	SPIN
	addq $32, %rsp
	.cfi_def_cfa_offset 16
	popq %rbp
	.cfi_def_cfa_offset 8
	.cfi_restore %rbp
	ret
END(asm_remember)

/*
 * CFA = *(rsp + 152) + 8, as in OpenSSL's block functions: the old rsp is
 * kept in the realigned frame. DW_CFA_def_cfa_expression, six bytes:
 * breg7 152, deref, plus_uconst 8.
 */
FUNC(asm_expression)
	movq %rsp, %rax
	.cfi_def_cfa_register %rax
	pushq %rbx
	.cfi_offset %rbx, -16
	pushq %rbp
	.cfi_offset %rbp, -24
	subq $200, %rsp
	andq $-64, %rsp
	movq %rax, 152(%rsp)
	.cfi_escape 0x0f, 0x06, 0x77, 0x98, 0x01, 0x06, 0x23, 0x08
	call leaf
	SPIN
	movq 152(%rsp), %rsi
	.cfi_def_cfa %rsi, 8
	movq -16(%rsi), %rbp
	.cfi_restore %rbp
	movq -8(%rsi), %rbx
	.cfi_restore %rbx
	leaq (%rsi), %rsp
	.cfi_def_cfa_register %rsp
	ret
END(asm_expression)

/* the same with an index: CFA = *(rsp + 8) + 24, rbp by expression */
FUNC(asm_expression2)
	leaq 8(%rsp), %rax
	.cfi_def_cfa %rax, 0
	subq $256, %rsp
	andq $-128, %rsp
	movq %rbp, 16(%rsp)
	/* DW_CFA_expression rbp: breg7 16 */
	.cfi_escape 0x10, 0x06, 0x02, 0x77, 0x10
	subq $24, %rax
	.cfi_def_cfa_offset 24
	movq %rax, 8(%rsp)
	/* DW_CFA_def_cfa_expression: breg7 8, deref, lit24, plus */
	.cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x06, 0x48, 0x22
	movl $1, %ebp
	call leaf
	SPIN
	movq 16(%rsp), %rbp
	.cfi_same_value %rbp
	movq 8(%rsp), %rax
	.cfi_def_cfa %rax, 24
	leaq 16(%rax), %rsp
	.cfi_def_cfa %rsp, 8
	ret
END(asm_expression2)

/* the return address moves to a register and back */
FUNC(asm_ra_in_rdx)
	popq %rdx
	.cfi_def_cfa_offset 0
	.cfi_register %rip, %rdx
	SPIN
	pushq %rdx
	.cfi_def_cfa_offset 8
	.cfi_rel_offset %rip, 0
	ret
END(asm_ra_in_rdx)

/* call to the next instruction, to learn the own address */
FUNC(asm_call_pop)
	call 1f
1:
	.cfi_adjust_cfa_offset 8
	popq %rax
	.cfi_adjust_cfa_offset -8
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call leaf
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
END(asm_call_pop)

/* rbp kept in another register, which leaf() does not touch */
FUNC(asm_rbp_in_r12)
	pushq %r12
	.cfi_def_cfa_offset 16
	.cfi_offset %r12, -16
	movq %rbp, %r12
	.cfi_register %rbp, %r12
	xorl %ebp, %ebp
	call leaf
	SPIN
	movq %r12, %rbp
	.cfi_restore %rbp
	popq %r12
	.cfi_def_cfa_offset 8
	.cfi_restore %r12
	ret
END(asm_rbp_in_r12)

/*
 * A leaf whose CFA is found by words in the red zone, on the page before that
 * of rsp. CFA = *(rsp - 16) + *(rsp - 24): no table holds that, so the stack is
 * copied, and what lies below rsp has to be in the copy. breg7 -16, deref,
 * breg7 -24, deref, plus.
 */
FUNC(asm_red_zone)
	movq %rsp, %rax
	.cfi_def_cfa_register %rax
	subq $8192, %rsp
	andq $-4096, %rsp
	movq %rax, -16(%rsp)
	movq $8, -24(%rsp)
	.cfi_escape 0x0f, 0x07, 0x77, 0x70, 0x06, 0x77, 0x68, 0x06, 0x22
	SPIN
	movq -16(%rsp), %rsp
	.cfi_def_cfa %rsp, 8
	ret
END(asm_red_zone)

/* one symbol, rows far apart: an advance of more than 16 bits */
FUNC(asm_far)
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	jmp 2f
	.skip 70000, 0x90
2:
	subq $64, %rsp
	.cfi_def_cfa_offset 80
	call leaf
	addq $64, %rsp
	.cfi_def_cfa_offset 16
	popq %rbp
	.cfi_def_cfa_offset 8
	.cfi_restore %rbp
	ret
END(asm_far)

	.section .note.GNU-stack, "", @progbits
