// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: signal handlers on the normal and on an alternate stack, and
 * one handler inside another. The signals come from the ud2 instruction, so
 * that it is known which function each interrupts.
 */
#include "path.h"
#include <signal.h>
#include <sys/ucontext.h>

#define UD2() __asm__ volatile("ud2" : : : "memory")

static inline __attribute__((always_inline)) void step_over(void *uc)
{
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] += 2;
}

KEEP void trap_in_handler(void)
{
	__asm__ volatile("int3" : : : "memory");
}

KEEP void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	leaf();
	trap_in_handler();
	step_over(uc);
	STAY();
}

KEEP void trap_handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	(void)uc;
	leaf();
	STAY();
}

/* A frame with something in it, interrupted in the middle. */
KEEP void interrupted(unsigned long n)
{
	volatile char room[100];

	room[n % 100] = 1;
	UD2();
	STAY();
}

/* The very first instruction traps: the function has no frame yet. */
void trap_first(void);
__asm__(".text\n"
	".globl trap_first\n"
	".type trap_first, @function\n"
	"trap_first:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".size trap_first, .-trap_first\n");

KEEP void bad_load(void)
{
	__asm__ volatile("movl 0, %%eax\n\t" : : : "eax", "memory");
	STAY();
}

KEEP void segv_handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	leaf();
	trap_in_handler();
	/* movl 0, %eax by its absolute address: seven bytes */
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] += 7;
	STAY();
}

KEEP void run(unsigned long n)
{
	interrupted(n);
	trap_first();
	bad_load();
	STAY();
}

static void on(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = {.sa_flags = SA_SIGINFO | flags};

	sa.sa_sigaction = fn;
	sigaction(sig, &sa, NULL);
}

KEEP void set_up(void)
{
	static char stack[64 << 10];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&ss, NULL);
	on(SIGILL, handler, 0);
	on(SIGTRAP, trap_handler, 0);
	on(SIGSEGV, segv_handler, SA_ONSTACK);
}

int main(int argc, char **argv)
{
	path_begin(argc, argv);
	set_up();
	while (path_more())
		for (unsigned long r = 0, n = path_reps; r < n; r += 20)
			run(r);
	return 0;
}
