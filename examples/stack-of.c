// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Prints the stack of another process, which stops for it.
 *
 *	cc -O2 stack-of.c -lseam && ./a.out PID
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "seam/unwind.h"

/* By DWARF's numbers of x86-64. */
static void state_from(const struct user_regs_struct *r,
		       struct seam_unwind_state *ret)
{
	*ret = (struct seam_unwind_state){
		.sz = sizeof(*ret),
		.machine = SEAM_MACHINE_AMD64,
		.pc = r->rip,
		.regs = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp,
			 r->rsp, r->r8, r->r9, r->r10, r->r11, r->r12, r->r13,
			 r->r14, r->r15},
		.valid = 0xffff,
	};
}

static int print_stack(pid_t pid)
{
	struct seam_unwind_state state;
	struct seam_tables *tables;
	struct user_regs_struct regs;
	int end, frames = 0;

	if (ptrace(PTRACE_GETREGS, pid, 0, &regs) || seam_tables_new(&tables))
		return 1;
	seam_tables_add_process(tables, pid, NULL);
	state_from(&regs, &state);
	do {
		printf("%#llx\n", (unsigned long long)state.pc);
		end = seam_unwind(&state, tables, seam_read_process, &pid);
	} while (!end && ++frames < 4096);
	printf("%s\n", end > 0 ? seam_err_name(end) : "failed");
	seam_tables_free(tables);
	return end != SEAM_END_OUTERMOST;
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	int status, r;

	if (pid <= 0) {
		fprintf(stderr, "usage: %s PID\n", argv[0]);
		return 2;
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, &status, __WALL) != pid) {
		perror("ptrace");
		return 1;
	}
	r = print_stack(pid);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return r;
}
