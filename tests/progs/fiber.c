// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a coroutine on a stack of its own; the stack ends where the
 * coroutine began, with a row that says so. (The C library's makecontext
 * leaves a return address to an instruction without CFI; no unwinder that
 * looks up the call before it gets past that.)
 */
#include "path.h"

void fiber_switch(void **save, void *load);
void fiber_begin(void);

/* The registers a call must keep go onto the stack that is left. */
__asm__(".text\n"
	".globl fiber_switch, fiber_begin\n"
	".type fiber_switch, @function\n"
	"fiber_switch:\n"
	".cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	pushq %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	pushq %r12\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %r12, 0\n"
	"	pushq %r13\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %r13, 0\n"
	"	pushq %r14\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %r14, 0\n"
	"	pushq %r15\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %r15, 0\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r14\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r13\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r12\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size fiber_switch, .-fiber_switch\n"
	/* The first switch to a fiber returns behind the first call. */
	".type fiber_begin, @function\n"
	"fiber_begin:\n"
	".cfi_startproc\n"
	".cfi_undefined %rip\n"
	"	call fiber_switch\n"
	"	call fiber\n"
	"	ud2\n"
	".cfi_endproc\n"
	".size fiber_begin, .-fiber_begin\n");

static void *home, *other;
static void *stack[8192] __attribute__((aligned(16)));

KEEP void in_fiber(void)
{
	leaf();
	STAY();
}

void fiber(void);

KEEP void fiber(void)
{
	for (;;) {
		in_fiber();
		fiber_switch(&other, home);
	}
}

KEEP void at_home(void)
{
	leaf();
	STAY();
}

KEEP void run(void)
{
	at_home();
	fiber_switch(&home, other);
	STAY();
}

int main(int argc, char **argv)
{
	/* Six registers, the address to return to, and rsp is 16n below. */
	other = &stack[8192 - 8];
	stack[8192 - 8 + 6] = (char *)(void *)fiber_begin + 5;
	path_begin(argc, argv);
	while (path_more())
		for (unsigned long r = 0, n = path_reps; r < n; r += 4)
			run();
	return 0;
}
