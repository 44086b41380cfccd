// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: when memory runs out in any call of seam_tables_* or in
 * seam_unwind, wherever that is, it says so, what was there before is as it
 * was, and the same call goes through later; the builds with sanitizers see
 * that nothing leaks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sframe/encode.h"
#include "unwind/tables.h"

#include "tests/unit/oom-wrap.h"

#define MAX 64
#define CODE_START 0x1000
#define CODE_END 0x1040
#define SECTION 0x2000
#define CAT "/bin/cat"

static uint8_t *section;
static size_t section_size;

/* 64 bytes of code, CFA = SP + 8. */
static void build_section(void)
{
	const struct seam_sframe_builder_func func = {.start = CODE_START};
	const struct seam_rule rule = {
		.cfa = {.kind = SEAM_REG_OFF, .reg = 7, .off = 8}};
	struct seam_sframe_builder *b;

	assert_int_equal(seam_sframe_builder_new(0, &b), 0);
	assert_int_equal(seam_sframe_builder_begin(b, &func), 0);
	assert_int_equal(seam_sframe_builder_row(b, 0, &rule), 0);
	assert_int_equal(seam_sframe_builder_end(b, CODE_END - CODE_START), 0);
	assert_int_equal(seam_sframe_builder_finish(b, SECTION, &section,
						    &section_size, NULL),
			 0);
	seam_sframe_builder_free(b);
}

/* Words from 0x7000 on, each as large as its address. */
static int read_words(void *ctx, uint64_t addr, void *to, size_t size)
{
	(void)ctx;
	if (addr < 0x7000 || addr > 0x7fff || size != 8)
		return -EFAULT;
	memcpy(to, &addr, 8);
	return 0;
}

/* The section that was added first still answers. */
static void check_good(struct seam_tables *t)
{
	struct seam_unwind_state state = {
		.sz = sizeof(state),
		.machine = SEAM_MACHINE_AMD64,
		.pc = CODE_START + 7,
		.regs = {[7] = 0x7000},
		.valid = 1 << 7,
	};

	assert_int_equal(seam_unwind(&state, t, read_words, NULL), 0);
	assert_int_equal(state.pc, 0x7000);
	assert_int_equal(state.regs[7], 0x7008);
}

static struct seam_tables *new_tables(void)
{
	struct seam_tables *t;

	assert_int_equal(seam_tables_new(&t), 0);
	assert_int_equal(seam_tables_add_sframe(t, CODE_START, CODE_END,
						SECTION, section, section_size,
						NULL),
			 0);
	return t;
}

static void tables_new(void **state)
{
	struct seam_tables *t = (void *)&section;

	(void)state;
	left = 0;
	assert_int_equal(seam_tables_new(&t), -ENOMEM);
	left = -1;
	assert_ptr_equal(t, &section);
	assert_null(seam_tables_free(NULL));
}

typedef int add_fn(struct seam_tables *t);

static int add_section(struct seam_tables *t)
{
	return seam_tables_add_sframe(t, 0x5000, 0x5040, 0x6000, section,
				      section_size, NULL);
}

static int add_file(struct seam_tables *t)
{
	int fd, r;

	fd = open(CAT, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	r = seam_tables_add_file(t, 0x10000, 0x20000, 0, fd, NULL);
	close(fd);
	return r;
}

static pid_t target;

static int add_process(struct seam_tables *t)
{
	return seam_tables_add_process(t, target, NULL);
}

/* With one allocation more each time, until all goes well: on tables that are
 * new each time, or on the same, of which most have to grow. Return: how often
 * it failed. */
static long try_adding(add_fn *fn, int want)
{
	struct seam_tables *grown = new_tables();
	long n;
	int r = -ENOMEM;

	for (n = 0; r == -ENOMEM; n++) {
		struct seam_tables *t = new_tables();

		left = n;
		r = fn(t);
		left = -1;
		check_good(t);
		if (r == -ENOMEM)
			assert_int_equal(fn(t), want);
		check_good(t);
		seam_tables_free(t);
		left = n;
		fn(grown);
		left = -1;
		check_good(grown);
	}
	assert_int_equal(r, want);
	seam_tables_free(grown);
	return n - 1;
}

static void adding(void **state)
{
	struct seam_tables *t = new_tables();
	int want = add_process(t);
	long places;

	(void)state;
	seam_tables_free(t);
	assert_true(want >= 3); /* cat, libc and the loader */
	try_adding(add_section, 0);
	places = try_adding(add_file, 0);
	assert_true(places >= 3);
	places = try_adding(add_process, want);
	printf("# a process: %ld places\n", places);
	assert_true(places > 3 * want);
}

static void init_state(struct seam_unwind_state *state)
{
	struct user_regs_struct regs;

	assert_int_equal(ptrace(PTRACE_GETREGS, target, 0, &regs), 0);
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

/* One step, with one allocation more each time. Return: its end. */
static int step(struct seam_unwind_state *state, struct seam_tables *t,
		long *places)
{
	const struct seam_unwind_state was = *state;
	long n;

	for (n = 0;; n++) {
		int r;

		left = n;
		r = seam_unwind(state, t, seam_read_process, &target);
		left = -1;
		check_good(t);
		if (r != -ENOMEM) {
			*places += n;
			return r;
		}
		assert_memory_equal(state, &was, sizeof(was));
	}
}

static int unwind(uint64_t *pcs, bool fails, long *places)
{
	struct seam_tables *t = new_tables();
	struct seam_unwind_state state;
	int n = 0, end;

	assert_true(add_process(t) > 0);
	init_state(&state);
	do {
		assert_true(n < MAX);
		pcs[n++] = state.pc;
		end = fails ? step(&state, t, places)
			    : seam_unwind(&state, t, seam_read_process,
					  &target);
	} while (!end);
	assert_int_equal(end, SEAM_END_OUTERMOST);
	seam_tables_free(t);
	return n;
}

static void unwinding(void **state)
{
	uint64_t want[MAX], got[MAX];
	long places = 0;
	int n = unwind(want, false, NULL);

	(void)state;
	assert_true(n >= 4); /* read, main's loop, main, what calls main */
	assert_int_equal(unwind(got, true, &places), n);
	assert_memory_equal(got, want, sizeof(*got) * (size_t)n);
	printf("# a stack of %d: %ld places\n", n, places);
	assert_true(places > 50);
}

/* The way of full CFI, on tables that were asked nothing before. */
static void rows(void **state)
{
	struct seam_tables *t = new_tables();
	uint64_t pcs[MAX], bias;
	struct seam_cfi_row row;
	int n = unwind(pcs, false, NULL), r;
	long places = 0;

	(void)state;
	assert_true(add_process(t) > 0);
	for (int i = 1; i < n; i++) {
		r = -ENOMEM;
		for (long k = 0; r == -ENOMEM; k++, places++) {
			left = k;
			r = seam_tables_row(t, pcs[i] - 1, &row, &bias);
			left = -1;
			check_good(t);
		}
		assert_int_equal(r, 0);
		assert_in_range(pcs[i] - 1 - bias, row.start, row.end - 1);
	}
	printf("# rows: %ld places\n", places);
	assert_true(places > 50);
	seam_tables_free(t);
}

/* A process that maps little, and sits in read. */
static int start_target(void **state)
{
	int in[2], out[2], status;
	char c = 'x';

	(void)state;
	build_section();
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -1;
	target = fork();
	if (!target) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(CAT, CAT, (char *)NULL);
		_exit(127);
	}
	/* What it gives back it has read, and is loaded. */
	if (write(in[1], &c, 1) != 1 || read(out[0], &c, 1) != 1 ||
	    ptrace(PTRACE_SEIZE, target, 0, 0) ||
	    ptrace(PTRACE_INTERRUPT, target, 0, 0) ||
	    waitpid(target, &status, __WALL) != target)
		return -1;
	return 0;
}

static int end_target(void **state)
{
	(void)state;
	free(section);
	kill(target, SIGKILL);
	return waitpid(target, NULL, 0) != target;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_new),
		cmocka_unit_test(adding),
		cmocka_unit_test(unwinding),
		cmocka_unit_test(rows),
	};

	return cmocka_run_group_tests(tests, start_target, end_target);
}
