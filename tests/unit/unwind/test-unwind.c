// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: seam_unwind steps another process, stopped in a signal handler
 * and in plain code, along the path that the C library's backtrace gave in
 * it; steps an array that plays memory; and refuses states that are none. And
 * an SFrame section read by the public calls says the same by function, row
 * and pc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seam/sframe.h"
#include "seam/unwind.h"
#include "sframe/encode.h"
#include "theirs.h"

#define MAX 64

static int pipe_fd[2];
static volatile int sum;

/* In the child: says where it is, and stops. */
static __attribute__((noinline)) void stop_here(void)
{
	void *v[MAX] = {0};
	int n = take_theirs(v, MAX, __builtin_return_address(0));

	if (write(pipe_fd[1], &n, sizeof(n)) != sizeof(n) ||
	    write(pipe_fd[1], v, sizeof(v)) != sizeof(v))
		_exit(1);
	raise(SIGSTOP);
	sum++;
}

static void on_signal(int sig)
{
	sum += sig;
	stop_here();
	sum++;
}

static __attribute__((noinline)) void child(int in_handler)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	if (in_handler) {
		signal(SIGUSR1, on_signal);
		/* The tracer passes it on. */
		raise(SIGUSR1);
	} else {
		stop_here();
	}
	_exit(sum < 0);
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

static int unwind(pid_t pid, void **v)
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
	} while (!end);
	assert_int_equal(end, SEAM_END_OUTERMOST);
	seam_tables_free(tables);
	return n;
}

static void remote(int in_handler)
{
	void *ours[MAX], *theirs[MAX];
	int n, m, status;
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (!pid)
		child(in_handler);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (in_handler) {
		assert_int_equal(WSTOPSIG(status), SIGUSR1);
		ptrace(PTRACE_CONT, pid, 0, SIGUSR1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	assert_int_equal(read(pipe_fd[0], &m, sizeof(m)), sizeof(m));
	assert_int_equal(read(pipe_fd[0], theirs, sizeof(theirs)),
			 sizeof(theirs));
	n = unwind(pid, ours);
	/* raise's own frames, stop_here in another place, and the same. */
	assert_true(m > (in_handler ? 8 : 5) && n > m);
	for (int i = 1; i < m; i++)
		assert_ptr_equal(ours[n - i], theirs[m - i]);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

static void plain(void **state)
{
	(void)state;
	remote(0);
}

static void in_handler(void **state)
{
	(void)state;
	remote(1);
}

/* Memory from 0x7000 on. */
static int read_array(void *ctx, uint64_t addr, void *to, size_t size)
{
	if (addr < 0x7000 || addr - 0x7000 > 256 - size)
		return -EFAULT;
	memcpy(to, (char *)ctx + (addr - 0x7000), size);
	return 0;
}

/* At 0x1000 64 bytes of code, CFA = SP + 8, then SP + 24 with FP saved. */
static uint8_t *build_section(size_t *ret_size)
{
	const struct seam_sframe_builder_func func = {.start = 0x1000};
	struct seam_rule rule = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 8}};
	struct seam_sframe_builder *b;
	uint8_t *bytes;

	assert_int_equal(seam_sframe_builder_new(0, &b), 0);
	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, &rule), 0);
	rule.cfa.off = 24;
	rule.fp = (struct seam_value){.kind = SEAM_CFA_DEREF, .off = -16};
	assert_int_equal(seam_sframe_builder_row(b, 4, &rule), 0);
	assert_int_equal(seam_sframe_builder_end(b, 64), 0);
	assert_int_equal(
		seam_sframe_builder_finish(b, 0x2000, &bytes, ret_size, NULL),
		0);
	seam_sframe_builder_free(b);
	return bytes;
}

static void array(void **unused)
{
	uint64_t memory[32] = {[1] = 0x5555, [2] = 0x1002, [3] = 0x9999};
	struct seam_unwind_state state = {
		.sz = sizeof(state),
		.machine = SEAM_MACHINE_AMD64,
		.pc = 0x1004,
		.regs = {[6] = 42, [7] = 0x7000},
		.valid = 1 << 6 | 1 << 7,
	};
	struct seam_unwind_state was;
	struct seam_tables *tables;
	struct seam_errinfo why;
	uint8_t *bytes;
	size_t size;

	(void)unused;
	bytes = build_section(&size);
	assert_int_equal(seam_tables_new(&tables), 0);
	assert_int_equal(seam_tables_add_sframe(tables, 0x1000, 0x1040, 0x2000,
						bytes, size, NULL),
			 0);
	assert_int_equal(seam_unwind(&state, tables, read_array, memory), 0);
	assert_int_equal(state.pc, 0x1002);
	assert_int_equal(state.regs[7], 0x7018);
	assert_int_equal(state.regs[6], 0x5555);
	assert_true(state.is_caller && state.is_return);
	assert_int_equal(seam_unwind(&state, tables, read_array, memory), 0);
	assert_int_equal(state.pc, 0x9999);
	was = state;
	assert_int_equal(seam_unwind(&state, tables, read_array, memory),
			 SEAM_END_NO_TABLE);
	assert_memory_equal(&state, &was, sizeof(state));
	state.pc = 0x1004;
	state.regs[7] = was.regs[7] = 0x7100;
	assert_int_equal(seam_unwind(&state, tables, read_array, memory),
			 SEAM_END_UNREADABLE);
	state.sz--;
	assert_int_equal(seam_unwind(&state, tables, read_array, memory),
			 -EINVAL);
	state = was;
	state.machine = 9;
	assert_int_equal(seam_unwind(&state, tables, read_array, memory),
			 -EINVAL);
	/* Another machine's table is none. */
	state = was;
	state.pc = 0x1004;
	state.is_caller = state.is_return = 0;
	state.valid = ~0u;
	state.machine = SEAM_MACHINE_AARCH64;
	assert_int_equal(seam_unwind(&state, tables, read_array, memory),
			 SEAM_END_NO_TABLE);
	state = was;
	state.valid = 0;
	assert_int_equal(seam_unwind(&state, tables, read_array, memory),
			 -EINVAL);
	bytes[0] ^= 1;
	assert_int_equal(
		seam_tables_add_sframe(tables, 0, 8, 0, bytes, size, &why),
		-EINVAL);
	assert_string_not_equal(why.reason, "");
	seam_tables_free(tables);
	free(bytes);
}

static void section(void **state)
{
	struct seam_section_info info;
	struct seam_function func;
	struct seam_section s;
	struct seam_row row;
	uint64_t at = 0;
	size_t size;
	uint8_t *bytes = build_section(&size);

	(void)state;
	assert_int_equal(seam_section_verify(bytes, size, NULL), 0);
	assert_int_equal(seam_section_open(&s, bytes, size, 0x2000, NULL), 0);
	seam_section_info(&s, &info);
	assert_int_equal(info.version, 3);
	assert_int_equal(info.num_functions, 1);
	assert_int_equal(info.num_rows, 2);
	assert_int_equal(seam_section_function(&s, 0, &func), 0);
	assert_int_equal(func.start, 0x1000);
	assert_int_equal(func.size, 64);
	assert_int_equal(seam_section_function(&s, 1, &func), -ENOENT);
	assert_int_equal(seam_section_next_row(&s, 0, &at, &row), 1);
	assert_int_equal(row.start, 0);
	assert_int_equal(row.cfa.off, 8);
	assert_int_equal(row.fp.how, SEAM_ROW_SAME);
	assert_int_equal(seam_section_next_row(&s, 0, &at, &row), 1);
	assert_int_equal(row.start, 4);
	assert_int_equal(row.cfa.off, 24);
	assert_int_equal(row.fp.how, SEAM_ROW_CFA_DEREF);
	assert_int_equal(seam_section_next_row(&s, 0, &at, &row), 0);
	for (uint64_t pc = 0xff0; pc < 0x1050; pc++) {
		int r = seam_section_find(&s, pc, &row);

		assert_int_equal(r, pc < 0x1000 || pc >= 0x1040 ? -ENOENT : 0);
		if (!r)
			assert_int_equal(row.cfa.off, pc < 0x1004 ? 8 : 24);
	}
	for (size_t n = 0; n < size; n++)
		assert_int_equal(seam_section_open(&s, bytes, n, 0, NULL),
				 -EINVAL);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(in_handler),
		cmocka_unit_test(array),
		cmocka_unit_test(section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
