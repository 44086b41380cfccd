// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: stacks through frames whose CFA hangs on a register that those
 * below have pushed, or on an expression that no rule has: lazy binding, a
 * frame that was realigned by rbx, CFAs by r12 and by arithmetic. From a call,
 * from a handler, also at any instruction of these, and from what a handler is
 * given they are what glibc's backtrace finds; and so they are in steps of
 * seam_unwind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "seam/backtrace.h"
#include "tests/unit/skip.h"
#include "theirs.h"
#include "through.h"

#define MAX 512

static void *ours[MAX], *theirs[MAX];
static int num_ours, num_theirs, end;
static void *from_context[MAX];
static int num_from_context, end_from_context;

static void keep_context(int sig, siginfo_t *info, void *ucontext)
{
	(void)sig;
	(void)info;
	num_from_context = seam_backtrace_ex(from_context, MAX, ucontext, 0,
					     &end_from_context);
	num_ours = seam_backtrace(ours, MAX);
	end = seam_backtrace_end();
	num_theirs = take_theirs(theirs, MAX, __builtin_return_address(0));
}

static volatile int takes;

static __attribute__((noinline)) void take(void)
{
	CLOBBER;
	num_ours = seam_backtrace(ours, MAX);
	end = seam_backtrace_end();
	num_theirs = take_theirs(theirs, MAX, __builtin_return_address(0));
	takes++;
}

static __attribute__((noinline)) void take_in_handler(void)
{
	CLOBBER;
	raise(SIGUSR1);
	takes++;
}

static void check_same(int least)
{
	assert_int_equal(end, SEAM_END_OUTERMOST);
	assert_int_equal(num_ours, num_theirs);
	assert_true(num_ours >= least);
	for (int i = 1; i < num_ours; i++)
		assert_ptr_equal(ours[i], theirs[i]);
}

static void check_context(void)
{
	int skip = num_theirs - num_from_context;

	assert_int_equal(end_from_context, SEAM_END_OUTERMOST);
	assert_true(skip >= 2 && num_from_context > 3);
	for (int i = 0; i < num_from_context; i++)
		assert_ptr_equal(from_context[i], theirs[skip + i]);
}

static void each(void **state)
{
	(void)state;
	for (size_t i = 0; i < THROUGHS; i++) {
		throughs[i](take);
		check_same(6);
		throughs[i](take_in_handler);
		check_same(8);
		check_context();
	}
}

static volatile int depth;
static void (*at_bottom)(void);
static size_t num_throughs = THROUGHS;

static __attribute__((noinline)) void down(void)
{
	CLOBBER;
	if (depth-- > 0)
		throughs[(size_t)depth % num_throughs](down);
	else
		at_bottom();
	takes++;
}

static void deep(void **state)
{
	(void)state;
	for (int n = 1; n < 100; n += 7) {
		at_bottom = take;
		depth = n;
		down();
		check_same(2 * n);
		at_bottom = take_in_handler;
		depth = n;
		down();
		check_same(2 * n + 4);
		check_context();
	}
}

/* However small the buffer is, it has the beginning of the stack. */
static int sizes_wrong;

static __attribute__((noinline)) void take_sizes(void)
{
	void *part[64], *whole[64];
	int e, n = seam_backtrace_ex(whole, 64, NULL, 0, &e);

	CLOBBER;
	sizes_wrong += e != SEAM_END_OUTERMOST;
	for (int size = 1; size <= n; size++) {
		int m = seam_backtrace_ex(part, size, NULL, 0, &e);

		sizes_wrong += m != size;
		sizes_wrong += e != (size < n ? SEAM_END_MAX_STACK
					      : SEAM_END_OUTERMOST);
		sizes_wrong += !!memcmp(part + 1, whole + 1,
					sizeof(*part) * (size_t)(m - 1));
	}
	takes++;
}

static void sizes(void **state)
{
	(void)state;
	at_bottom = take_sizes;
	depth = 5;
	down();
	assert_int_equal(sizes_wrong, 0);
}

static bool is_in_linker(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && strstr(info.dli_fname, "ld-linux");
}

static int num_lazy;
static void *lazy[MAX];

static void on_resolving(void)
{
	take();
	num_lazy = num_ours;
	memcpy(lazy, ours, sizeof(lazy));
	takes += end != SEAM_END_OUTERMOST || num_ours != num_theirs ||
				 memcmp(ours + 1, theirs + 1,
					sizeof(*ours) * (size_t)(num_ours - 1))
			 ? 1000
			 : 0;
	take_in_handler();
}

static void lazy_binding(void **state)
{
	int in_linker = 0;

	(void)state;
	if (getenv("LD_BIND_NOW"))
		skip_since("LD_BIND_NOW is set: nothing is bound lazily");
	takes = 0;
	lazy_resolving = on_resolving;
	assert_int_equal(lazy_function(4), 5);
	assert_int_equal(takes, 2);
	for (int i = 0; i < num_lazy; i++)
		in_linker += is_in_linker(lazy[i]);
	assert_true(in_linker >= 2); /* _dl_fixup, _dl_runtime_resolve */
	check_same(8);
	check_context();
}

#define SIGNALS 2000
static volatile sig_atomic_t signals_left, num_wrong, num_full;

/* Whatever was interrupted: what is behind its address in the stack from here
 * is its stack. */
static void on_timer(int sig, siginfo_t *info, void *ucontext)
{
	const ucontext_t *uc = ucontext;
	void *v[MAX], *all[MAX];
	int e, skip = 0, n, m;

	(void)sig;
	(void)info;
	if (signals_left <= 0)
		return;
	n = seam_backtrace_ex(v, MAX, ucontext, 0, &e);
	m = backtrace(all, MAX);
	while (skip < m && all[skip] != (void *)uc->uc_mcontext.gregs[REG_RIP])
		skip++;
	num_wrong += e != SEAM_END_OUTERMOST || n != m - skip ||
		     memcmp(v, all + skip, sizeof(*v) * (size_t)n) != 0;
	num_full += n > 24;
	signals_left--;
}

static void nothing(void)
{
	takes++;
}

static void at_any_instruction(void **state)
{
	const struct itimerval never = {0}, often = {{0, 211}, {0, 211}};
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};

	(void)state;
	action.sa_sigaction = on_timer;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	signals_left = SIGNALS;
	setitimer(ITIMER_REAL, &often, NULL);
	at_bottom = nothing;
	/* Not by_drap, the last: behind its `pop %rbp` GCC's CFI has the
	 * caller's rbp in *(rbp), and libgcc reads where that leads. */
	num_throughs = THROUGHS - 1;
	while (signals_left > 0) {
		depth = 30;
		down();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(num_wrong, 0);
	assert_true(num_full > 0);
}

#define THREADS 4
static int thread_wrong[THREADS];

static __thread int thread_depth, thread_found;
static __thread int thread_end;

static __attribute__((noinline)) void thread_down(void)
{
	void *v[MAX];

	CLOBBER;
	if (thread_depth-- > 0)
		throughs[(size_t)thread_depth % THROUGHS](thread_down);
	else
		thread_found = seam_backtrace_ex(v, MAX, NULL, 0, &thread_end);
	takes++;
}

static void *in_thread(void *arg)
{
	int first = 0;

	for (int i = 0; i < 2000; i++) {
		thread_depth = 12;
		thread_down();
		if (!i)
			first = thread_found;
		*(int *)arg += thread_found != first || first < 24 ||
			       thread_end != SEAM_END_OUTERMOST;
	}
	return NULL;
}

/* Beside one another, none takes what another one works with. */
static void in_threads(void **state)
{
	pthread_t ids[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, in_thread,
						&thread_wrong[i]),
				 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		assert_int_equal(thread_wrong[i], 0);
	}
}

/* Calls fn, and has no CFI. */
void by_nothing(void (*fn)(void));
__asm__(".type by_nothing, @function\n"
	"by_nothing:\n"
	"	sub $8, %rsp\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n"
	"	ret\n"
	".size by_nothing, . - by_nothing\n");

/* What is found up to there stays. */
static void no_cfi(void **state)
{
	(void)state;
	by_nothing(take);
	assert_int_equal(end, SEAM_END_NO_RULE);
	assert_int_equal(num_ours, 2);
	at_bottom = take;
	depth = 4;
	by_nothing(down);
	assert_int_equal(end, SEAM_END_NO_RULE);
	assert_int_equal(num_ours, 11);
	for (int i = 1; i < num_ours; i++)
		assert_ptr_equal(ours[i], theirs[i]);
}

static volatile sig_atomic_t num_small, end_small;

static void on_small_stack(int sig, siginfo_t *info, void *ucontext)
{
	void *v[64];
	int e;

	(void)sig;
	(void)info;
	num_small = seam_backtrace_ex(v, 64, ucontext, 0, &e);
	end_small = e;
}

static void raise_usr2(void)
{
	raise(SIGUSR2);
	takes++;
}

/* AddressSanitizer puts room around each variable of a frame. */
#ifdef __SANITIZE_ADDRESS__
#define ROOM 4
#else
#define ROOM 1
#endif

/* The stack that the C library has handlers have is enough; below it is nothing
 * that could be written. */
static void small_stack(void **state)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
	size_t page = 4096, size;
	stack_t small = {.ss_size = (size_t)sysconf(_SC_SIGSTKSZ) * ROOM};
	char *room;

	(void)state;
	size = (small.ss_size + 2 * page - 1) & -page;
	room = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(room, MAP_FAILED);
	assert_int_equal(mprotect(room, page, PROT_NONE), 0);
	small.ss_sp = room + size - small.ss_size;
	assert_true((char *)small.ss_sp >= room + page);
	assert_int_equal(sigaltstack(&small, NULL), 0);
	action.sa_sigaction = on_small_stack;
	assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
	at_bottom = raise_usr2;
	depth = 9;
	down();
	assert_int_equal(end_small, SEAM_END_OUTERMOST);
	assert_true(num_small > 20);
	small.ss_flags = SS_DISABLE;
	sigaltstack(&small, NULL);
	munmap(room, size);
}

static int set_up(void **state)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO};

	(void)state;
	action.sa_sigaction = keep_context;
	take(); /* glibc loads libgcc_s */
	return seam_backtrace_init() || sigaction(SIGUSR1, &action, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each),
		cmocka_unit_test(deep),
		cmocka_unit_test(sizes),
		cmocka_unit_test(lazy_binding),
		cmocka_unit_test(in_threads),
		cmocka_unit_test(no_cfi),
		cmocka_unit_test(small_stack),
		cmocka_unit_test(at_any_instruction),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
