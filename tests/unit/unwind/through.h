/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Ways to call a function whose frames rules cannot step: their CFA hangs on a
 * register that is lost in what they call, or on an expression.
 */
#ifndef SEAM_TESTS_UNIT_UNWIND_THROUGH_H
#define SEAM_TESTS_UNIT_UNWIND_THROUGH_H

#include <stddef.h>
#include <stdint.h>

/* backtrace-lazy.c: called by the dynamic linker in the first lazy_function. */
extern void (*lazy_resolving)(void);
int lazy_function(int x);

/* Each calls what it is given. */
void by_rbx(void (*fn)(void));
void by_r12(void (*fn)(void));
void by_sum(void (*fn)(void));

__asm__(".text\n"
	".type by_rbx, @function\n"
	"by_rbx:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset %rbx, -16\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	sub $200, %rsp\n"
	"	and $-256, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size by_rbx, . - by_rbx\n");

/* The CFA is *(r12 + 8) + 24: an expression, and of a register that is lost. */
__asm__(".type by_r12, @function\n"
	"by_r12:\n"
	"	.cfi_startproc\n"
	"	push %r12\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset %r12, -16\n"
	"	lea -8(%rsp), %rax\n"
	"	sub $96, %rsp\n"
	"	.cfi_adjust_cfa_offset 96\n"
	"	mov %rax, 40(%rsp)\n"
	"	lea 32(%rsp), %r12\n"
	"	.cfi_escape 0x0f, 5, 0x7c, 8, 0x06, 0x23, 24\n"
	"	call *%rdi\n"
	"	.cfi_def_cfa %rsp, 112\n"
	"	add $96, %rsp\n"
	"	.cfi_adjust_cfa_offset -96\n"
	"	pop %r12\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %r12\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size by_r12, . - by_r12\n");

/* rsp + 8 + (rip != 0) * 8, of which no rule can be made. */
__asm__(".type by_sum, @function\n"
	"by_sum:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_escape 0x0f, 9, 0x77, 8, 0x80, 0, 0x30, 0x2e, 0x38, "
	"0x1e, 0x22\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size by_sum, . - by_sum\n");

/* Whatever a caller had in them is on the stack alone. */
#define CLOBBER __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15")

/* As compilers realign: the CFA is *(rbp + N) while it runs. */
static __attribute__((noinline)) void by_drap(void (*fn)(void))
{
	_Alignas(64) volatile char room[64];
	volatile char *more = __builtin_alloca((uintptr_t)fn % 50 + 16);

	room[0] = more[0] = 1;
	fn();
	room[1] = more[1] = room[0];
}

typedef void through_fn(void (*fn)(void));
static through_fn *const throughs[] = {by_rbx, by_r12, by_sum, by_drap};
#define THROUGHS (sizeof(throughs) / sizeof(throughs[0]))

#endif
