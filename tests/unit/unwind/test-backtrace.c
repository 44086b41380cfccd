// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: seam_backtrace gives what glibc's backtrace gives, at the same
 * places: in plain code, under qsort, in a thread, in signal handlers on the
 * stack and on another one, and from the registers that a handler is given;
 * and registers that lead nowhere, as a call of a null pointer's, end there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "seam/backtrace.h"
#include "theirs.h"

#define MAX 512

static void *ours[MAX], *theirs[MAX];
static int num_ours, num_theirs, end;

/* Both, one after the other: the first address differs by one call. */
static __attribute__((noinline)) void take(void)
{
	num_ours = seam_backtrace(ours, MAX);
	end = seam_backtrace_end();
	num_theirs = take_theirs(theirs, MAX, __builtin_return_address(0));
}

static void check_same(int least)
{
	assert_int_equal(end, SEAM_END_OUTERMOST);
	assert_int_equal(num_ours, num_theirs);
	assert_true(num_ours >= least);
	for (int i = 1; i < num_ours; i++)
		assert_ptr_equal(ours[i], theirs[i]);
}

static void plain(void **state)
{
	(void)state;
	take();
	check_same(5);
}

static volatile int depth_sum;

/* Frames of different sizes, and one whose CFA is from FP. */
static __attribute__((noinline)) void down(int n)
{
	char *room = alloca((size_t)(n % 7) * 16 + 1);

	memset(room, n, (size_t)(n % 7) * 16 + 1);
	if (n)
		down(n - 1);
	else
		take();
	depth_sum += room[0];
}

static void deep(void **state)
{
	(void)state;
	for (int n = 0; n < 400; n += 13) {
		down(n);
		check_same(n + 5);
	}
}

static int compare(const void *a, const void *b)
{
	take();
	return *(const int *)a - *(const int *)b;
}

static void under_qsort(void **state)
{
	int v[] = {3, 1, 2};

	(void)state;
	qsort(v, 3, sizeof(v[0]), compare);
	check_same(8);
}

static void *from_context[MAX];
static int num_from_context, end_from_context;

static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
	(void)sig;
	(void)info;
	take();
	num_from_context = seam_backtrace_ex(from_context, MAX, ucontext, 0,
					     &end_from_context);
}

/* The stack of what was interrupted is the end of the handler's. */
static void check_context(void)
{
	int skip = num_theirs - num_from_context;

	assert_int_equal(end_from_context, SEAM_END_OUTERMOST);
	assert_true(skip >= 2 && num_from_context > 3);
	for (int i = 0; i < num_from_context; i++)
		assert_ptr_equal(from_context[i], theirs[skip + i]);
}

static void catch (int flags)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | flags};

	action.sa_sigaction = on_signal;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void in_handler(void **state)
{
	(void)state;
	catch (0);
	raise(SIGUSR1);
	check_same(8);
	check_context();
}

static void on_other_stack(void **state)
{
	stack_t other = {.ss_size = 1 << 16};

	(void)state;
	other.ss_sp = mmap(NULL, other.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(other.ss_sp, MAP_FAILED);
	assert_int_equal(sigaltstack(&other, NULL), 0);
	catch (SA_ONSTACK);
	for (int i = 0; i < 3; i++) {
		raise(SIGUSR1);
		check_same(8);
		check_context();
	}
	other.ss_flags = SS_DISABLE;
	sigaltstack(&other, NULL);
	munmap(other.ss_sp, other.ss_size);
}

static void on_fault(int sig, siginfo_t *info, void *ucontext)
{
	ucontext_t *uc = ucontext;

	on_signal(sig, info, ucontext);
	uc->uc_mcontext.gregs[REG_RIP] += 2; /* behind ud2 */
}

static void at_fault(void **state)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO};

	(void)state;
	action.sa_sigaction = on_fault;
	assert_int_equal(sigaction(SIGILL, &action, NULL), 0);
	__asm__ volatile("ud2");
	check_same(7);
	check_context();
}

static void *thread(void *arg)
{
	down(20);
	return arg;
}

static void in_thread(void **state)
{
	pthread_t id;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_create(&id, NULL, thread, NULL), 0);
		pthread_join(id, NULL);
		check_same(23);
	}
}

static void sizes(void **state)
{
	void *whole[MAX], *part[MAX];
	int n, e;

	(void)state;
	n = seam_backtrace_ex(whole, MAX, NULL, 0, &e);
	assert_int_equal(e, SEAM_END_OUTERMOST);
	assert_int_equal(seam_backtrace(part, 0), 0);
	assert_int_equal(seam_backtrace(part, -1), 0);
	assert_int_equal(seam_backtrace_ex(part, 8, NULL, 1, &e), -EINVAL);
	for (int size = 1; size < n; size++) {
		memset(part, 0, sizeof(part));
		assert_int_equal(seam_backtrace_ex(part, size, NULL, 0, NULL),
				 size);
		assert_int_equal(seam_backtrace_end(), SEAM_END_MAX_STACK);
		assert_memory_equal(part + 1, whole + 1,
				    sizeof(part[0]) * (size_t)(size - 1));
		assert_null(part[size]);
	}
	assert_int_equal(seam_backtrace(part, n + 1), n);
	assert_int_equal(seam_backtrace_end(), SEAM_END_OUTERMOST);
}

/* Registers that lead nowhere end the stack, and nothing else. */
static void lost(void **state)
{
	static const uint64_t nowhere[] = {0,	       8,
					   0x1000,     1ULL << 46,
					   1ULL << 63, UINT64_MAX - 7,
					   UINT64_MAX, (1ULL << 47) - 8};
	ucontext_t uc;
	void *v[8];
	int e;

	(void)state;
	getcontext(&uc);
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		uc.uc_mcontext.gregs[REG_RSP] = (greg_t)nowhere[i];
		uc.uc_mcontext.gregs[REG_RBP] = (greg_t)nowhere[i];
		assert_int_equal(seam_backtrace_ex(v, 8, &uc, 0, &e), 1);
		assert_true(e == SEAM_END_UNREADABLE || e == SEAM_END_BAD_CFA);
	}
}

/* A call of a null pointer, and others to where no code is: what lies around
 * SP is not taken for a frame. */
static void no_code(void **state)
{
	static const uint64_t ips[] = {0, 1, 8, 0xffe, 0xfff, 0x1234};
	static uint64_t stack[64];
	ucontext_t uc;
	void *v[8];
	int e;

	(void)state;
	for (size_t i = 0; i < sizeof(stack) / sizeof(stack[0]); i++)
		stack[i] = (uintptr_t)no_code;
	getcontext(&uc);
	uc.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)&stack[32];
	for (size_t i = 0; i < sizeof(ips) / sizeof(ips[0]); i++) {
		uc.uc_mcontext.gregs[REG_RIP] = (greg_t)ips[i];
		assert_int_equal(seam_backtrace_ex(v, 8, &uc, 0, &e), 1);
		assert_ptr_equal(v[0], (void *)(uintptr_t)ips[i]);
		assert_int_equal(e, SEAM_END_NO_TABLE);
	}
}

/* An outermost frame has no caller, however much stack there is above FP. */
static void outermost(void **state)
{
	static uint64_t stack[1 << 17];
	const size_t top = sizeof(stack) / sizeof(stack[0]) - 64;
	ucontext_t uc;
	void *v[8];
	int e;

	(void)state;
	for (size_t i = 0; i < top; i++)
		stack[i] = (uintptr_t)outermost;
	down(0);
	getcontext(&uc);
	/* By FP to the top, so that all of it is known to be a stack. */
	uc.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)ours[1];
	uc.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)stack;
	uc.uc_mcontext.gregs[REG_RBP] = (greg_t)(uintptr_t)&stack[top];
	assert_int_equal(seam_backtrace_ex(v, 8, &uc, 0, &e), 1);
	assert_int_equal(e, SEAM_END_OUTERMOST);
	uc.uc_mcontext.gregs[REG_RIP] =
		(greg_t)(uintptr_t)ours[num_ours - 1] - 1;
	uc.uc_mcontext.gregs[REG_RBP] = (greg_t)(uintptr_t)stack;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(seam_backtrace_ex(v, 8, &uc, 0, &e), 1);
		assert_int_equal(e, SEAM_END_OUTERMOST);
	}
}

static void refresh(void **state)
{
	(void)state;
	errno = 4711;
	assert_int_equal(seam_backtrace_init(), 0);
	assert_int_equal(seam_backtrace_refresh(), 0);
	take();
	check_same(5);
	assert_int_equal(errno, 4711);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain), /* first: without init */
		cmocka_unit_test(refresh),	  cmocka_unit_test(deep),
		cmocka_unit_test(under_qsort),	  cmocka_unit_test(in_handler),
		cmocka_unit_test(on_other_stack), cmocka_unit_test(at_fault),
		cmocka_unit_test(in_thread),	  cmocka_unit_test(sizes),
		cmocka_unit_test(lost),		  cmocka_unit_test(no_code),
		cmocka_unit_test(outermost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
