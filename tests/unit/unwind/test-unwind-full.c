// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: seam_unwind steps another process through frames that need
 * registers which rules do not follow, lazy binding among them, along the path
 * that the C library's backtrace gave in it; also one that was interrupted by
 * a signal there; and a state without a base is stepped with what it has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seam/unwind.h"
#include "tests/unit/skip.h"
#include "theirs.h"
#include "through.h"

#define MAX 128
#define DEPTH 12

static int pipe_fd[2];
static volatile int depth, after;

/* In the child: says where it is, and stops. */
static __attribute__((noinline)) void stop_here(void)
{
	void *v[MAX] = {0};
	int n = take_theirs(v, MAX, __builtin_return_address(0));

	CLOBBER;
	if (write(pipe_fd[1], &n, sizeof(n)) != sizeof(n) ||
	    write(pipe_fd[1], v, sizeof(v)) != sizeof(v))
		_exit(1);
	raise(SIGSTOP);
	after++;
}

static void on_signal(int sig)
{
	after += sig;
	stop_here();
	after++;
}

static __attribute__((noinline)) void interrupted(void)
{
	CLOBBER;
	raise(SIGUSR1);
	after++;
}

static void (*at_bottom)(void);

static __attribute__((noinline)) void down(void)
{
	CLOBBER;
	if (depth-- > 0)
		throughs[(size_t)depth % THROUGHS](down);
	else
		at_bottom();
	after++;
}

static void resolving(void)
{
	lazy_resolving = NULL;
	depth = DEPTH;
	down();
}

/* How the child goes down. */
enum way { PLAIN, SIGNAL, LAZY };

static void child(enum way way)
{
	void *v[4];

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	/* So that libgcc_s is there before the linker is busy. */
	take_theirs(v, 4, NULL);
	signal(SIGUSR1, on_signal);
	at_bottom = way == SIGNAL ? interrupted : stop_here;
	lazy_resolving = resolving;
	depth = DEPTH;
	if (way == LAZY)
		after += lazy_function(3) != 4;
	else
		down();
	_exit(after < 0);
}

static void init_state(pid_t pid, struct seam_unwind_state *state)
{
	struct user_regs_struct regs;

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	*state = (struct seam_unwind_state){
		.sz = sizeof(*state),
		.machine = SEAM_MACHINE_AMD64,
		.pc = regs.rip,
		.regs = {regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi,
			 regs.rdi, regs.rbp, regs.rsp, regs.r8, regs.r9,
			 regs.r10, regs.r11, regs.r12, regs.r13, regs.r14,
			 regs.r15},
		.valid = 0xffff,
	};
}

/* forget: frame by frame by rules, with no frame to begin anew from. */
static int unwind(pid_t pid, void **v, bool forget, int *ret_end)
{
	struct seam_unwind_state state;
	struct seam_tables *tables;
	int n = 0, end;

	assert_int_equal(seam_tables_new(&tables), 0);
	assert_true(seam_tables_add_process(tables, pid, NULL) > 3);
	init_state(pid, &state);
	do {
		assert_true(n < MAX);
		v[n++] = (void *)(uintptr_t)state.pc;
		end = seam_unwind(&state, tables, seam_read_process, &pid);
		if (forget) {
			state.base = (struct seam_unwind_base){0};
			state.valid &= 1u << 6 | 1u << 7;
			state.is_caller = 1;
		}
	} while (!end);
	seam_tables_free(tables);
	*ret_end = end;
	return n;
}

static pid_t start(enum way way)
{
	int status, stops = way == SIGNAL ? 2 : 1;
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (!pid)
		child(way);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (--stops) {
		assert_int_equal(WSTOPSIG(status), SIGUSR1);
		ptrace(PTRACE_CONT, pid, 0, SIGUSR1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	return pid;
}

static void finish(pid_t pid)
{
	int status;

	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

static void remote(enum way way)
{
	void *ours[MAX], *theirs[MAX];
	pid_t pid = start(way);
	int n, m, end;

	assert_int_equal(read(pipe_fd[0], &m, sizeof(m)), sizeof(m));
	assert_int_equal(read(pipe_fd[0], theirs, sizeof(theirs)),
			 sizeof(theirs));
	n = unwind(pid, ours, false, &end);
	assert_int_equal(end, SEAM_END_OUTERMOST);
	/* raise's own frames, stop_here in another place, and the same. */
	assert_true(m > 2 * DEPTH && n > m);
	for (int i = 1; i < m; i++)
		assert_ptr_equal(ours[n - i], theirs[m - i]);
	/* So it was this that they needed. */
	assert_true(unwind(pid, ours, true, &end) < n);
	assert_int_equal(end, SEAM_END_NO_RULE);
	finish(pid);
}

static void plain(void **state)
{
	(void)state;
	remote(PLAIN);
}

static void in_handler(void **state)
{
	(void)state;
	remote(SIGNAL);
}

static void lazy_binding(void **state)
{
	(void)state;
	if (getenv("LD_BIND_NOW"))
		skip_since("LD_BIND_NOW is set: nothing is bound lazily");
	remote(LAZY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(in_handler),
		cmocka_unit_test(lazy_binding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
