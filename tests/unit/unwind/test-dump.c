/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: this process captures its own registers and stack in known
 * places; the unwinder gives exactly the return addresses that the frames
 * noted, and libgcc's backtrace beyond them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/err.h"
#include "self.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2,omit-frame-pointer")
#define NOINLINE __attribute__((noinline, noclone))
#else
#define NOINLINE __attribute__((noinline))
#endif

/* A call before it is no tail call. */
#define STAY __asm__ volatile("" ::: "memory")

static struct self self;
static struct capture cap;
static uint64_t noted[SELF_IPS];
static int num_noted;

static uint64_t ips[SELF_IPS];

/* Keeps an object where it is. */
static void use(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static void note(void *ra)
{
	noted[num_noted++] = (uint64_t)(uintptr_t)ra;
}

/* Where the copy begins, if not at sp. */
static uint64_t copy_from;

/* [0] is the caller; AddressSanitizer's backtrace() shows itself first. */
static inline __attribute__((always_inline)) void take_backtrace(void)
{
	cap.num_backtrace = backtrace(cap.backtrace, SELF_IPS);
#ifdef __SANITIZE_ADDRESS__
	cap.num_backtrace--;
	memmove(cap.backtrace, cap.backtrace + 1,
		cap.num_backtrace * sizeof(*cap.backtrace));
#endif
}

NOINLINE static void leaf(void)
{
	CAPTURE_REGS(&cap);
	capture_stack(&cap, copy_from ? copy_from : cap.regs.r[7]);
	take_backtrace();
	note(__builtin_return_address(0));
	STAY;
}

/* The frames that were noted, then what libgcc finds from there on. */
static size_t check_stack(int want_end)
{
	struct seam_dump dump = self_dump(&self, &cap);
	int end = -1;
	size_t n = seam_dump_unwind(&dump, ips, SELF_IPS, &end);

	assert_int_equal(end, want_end);
	assert_true(ips[0] == cap.regs.r[16]);
	assert_true(n > (size_t)num_noted);
	for (int i = 0; i < num_noted; i++)
		assert_true(ips[i + 1] == noted[i]);
	/* [0] is inside leaf in both. */
	for (int i = 1; i < cap.num_backtrace && i < (int)n; i++)
		assert_true(ips[i] == (uint64_t)(uintptr_t)cap.backtrace[i]);
	assert_int_equal(n, cap.num_backtrace);
	return n;
}

NOINLINE static void recurse(int depth)
{
	char pad[40];

	use(pad);
	if (depth)
		recurse(depth - 1);
	else
		leaf();
	note(__builtin_return_address(0));
	STAY;
}

static void recursion(void **state)
{
	(void)state;
	num_noted = 0;
	recurse(50);
	assert_int_equal(num_noted, 52);
	check_stack(SEAM_OUTERMOST);
}

/* A frame pointer, a frame of unknown size, and a realigned one. */
NOINLINE static void odd_frames(int depth, size_t size)
{
	char *room = alloca(size);
	char aligned[64] __attribute__((aligned(64)));

	use(room);
	use(aligned);
	assert_int_equal((uintptr_t)aligned % 64, 0);
	if (depth)
		odd_frames(depth - 1, size + 17);
	else
		leaf();
	STAY;
	note(__builtin_return_address(0));
	STAY;
}

static void alloca_and_realign(void **state)
{
	(void)state;
	num_noted = 0;
	odd_frames(5, 1000);
	assert_int_equal(num_noted, 7);
	check_stack(SEAM_OUTERMOST);
}

static int by_leaf(const void *a, const void *b)
{
	(void)a;
	(void)b;
	if (!num_noted)
		leaf();
	return 0;
}

/* Frames of libc's between ours. */
static void through_libc(void **state)
{
	int v[2] = {1, 2};

	(void)state;
	num_noted = 0;
	qsort(v, 2, sizeof(*v), by_leaf);
	check_stack(SEAM_OUTERMOST);
}

static void *thread_main(void *arg)
{
	(void)arg;
	recurse(3);
	STAY;
	return NULL;
}

static void thread(void **state)
{
	pthread_t t;

	(void)state;
	num_noted = 0;
	assert_int_equal(pthread_create(&t, NULL, thread_main, NULL), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	check_stack(SEAM_OUTERMOST);
}

/* Its first instruction traps: looked up one byte before, the interrupted
 * address would be another function's. */
__asm__(".text\n"
	".p2align 4\n"
	".type before_trap, @function\n"
	"before_trap:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"	nop\n"
	".cfi_endproc\n"
	".size before_trap, . - before_trap\n"
	".type trap_first, @function\n"
	"trap_first:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".size trap_first, . - trap_first\n");
void trap_first(void);

static uint64_t trapped_ip;

static void on_trap(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)sig;
	(void)info;
	trapped_ip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	leaf();
	uc->uc_mcontext.gregs[REG_RIP] += 2;
	STAY;
}

NOINLINE static void trap(void)
{
	trap_first();
	STAY;
}

static void take_signal(int flags)
{
	struct sigaction sa = {.sa_sigaction = on_trap,
			       .sa_flags = SA_SIGINFO | flags};
	struct sigaction old;

	num_noted = 0;
	assert_int_equal(sigaction(SIGILL, &sa, &old), 0);
	trap();
	sigaction(SIGILL, &old, NULL);
}

static void check_trap(void)
{
	size_t n = check_stack(SEAM_OUTERMOST), i = 0;

	while (i < n && ips[i] != trapped_ip)
		i++;
	/* leaf, on_trap, libc's restorer, trap_first, trap, and its caller */
	assert_int_equal(i, 3);
	assert_true(ips[3] == (uint64_t)(uintptr_t)trap_first);
	assert_true(n > 6);
}

static void signal_frame(void **state)
{
	(void)state;
	take_signal(0);
	check_trap();
}

/* The other stack is above the interrupted one, inside the copy: the CFA
 * goes down. */
NOINLINE static void on_inner_stack(uint8_t *stack, size_t size)
{
	stack_t ss = {.ss_sp = stack, .ss_size = size}, old;

	assert_int_equal(sigaltstack(&ss, &old), 0);
	take_signal(SA_ONSTACK);
	sigaltstack(&old, NULL);
}

static void signal_inner_stack(void **state)
{
	uint8_t stack[65536];
	uint64_t low;

	(void)state;
	/* Below every frame that follows. */
	CAPTURE_REGS(&cap);
	low = copy_from = cap.regs.r[7] - 16384;
	on_inner_stack(stack, sizeof(stack));
	copy_from = 0;
	assert_in_range(cap.regs.r[7], (uintptr_t)stack,
			(uintptr_t)stack + sizeof(stack));
	assert_true(cap.stack_avma == low);
	check_trap();
}

/* A stack elsewhere: the interrupted frames are not in the copy. */
static void signal_other_stack(void **state)
{
	size_t size = 65536;
	uint8_t *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct seam_dump dump;
	size_t n;
	int end;

	(void)state;
	assert_ptr_not_equal(stack, MAP_FAILED);
	on_inner_stack(stack, size);
	munmap(stack, size);
	cap.stack_size = (uintptr_t)stack + size - cap.regs.r[7];
	dump = self_dump(&self, &cap);
	n = seam_dump_unwind(&dump, ips, SELF_IPS, &end);
	assert_int_equal(n, 4);
	assert_int_equal(end, SEAM_UNREADABLE);
	assert_true(ips[3] == (uint64_t)(uintptr_t)trap_first);
	dump.cut = true; /* now the rest may lie above what was copied */
	n = seam_dump_unwind(&dump, ips, SELF_IPS, &end);
	assert_int_equal(n, 4);
	assert_int_equal(end, SEAM_COPY_SHORT);
}

/* Every shorter copy gives the first frames of the whole one. */
static void short_copies(void **state)
{
	uint64_t whole[SELF_IPS];
	struct seam_dump dump;
	size_t n, total, last = 0;
	int end;

	(void)state;
	num_noted = 0;
	recurse(10);
	total = check_stack(SEAM_OUTERMOST);
	memcpy(whole, ips, sizeof(whole));
	dump = self_dump(&self, &cap);
	for (size_t size = 0; size < cap.stack_size && last < total; size++) {
		dump.stack_size = size;
		dump.cut = size & 1;
		n = seam_dump_unwind(&dump, ips, SELF_IPS, &end);
		assert_true(n >= last && n <= total);
		assert_memory_equal(ips, whole, n * sizeof(*ips));
		if (n < total)
			assert_int_equal(end, dump.cut ? SEAM_COPY_SHORT
						       : SEAM_UNREADABLE);
		last = n;
	}
	assert_int_equal(last, total);
	/* A copy that begins too high. */
	dump = self_dump(&self, &cap);
	dump.stack_avma += 65536;
	assert_int_equal(seam_dump_unwind(&dump, ips, SELF_IPS, &end), 1);
	assert_int_equal(end, SEAM_UNREADABLE);
}

static void max_stack(void **state)
{
	struct seam_dump dump;
	size_t n, total;
	int end;

	(void)state;
	num_noted = 0;
	recurse(10);
	total = check_stack(SEAM_OUTERMOST);
	dump = self_dump(&self, &cap);
	for (size_t max = 1; max <= total; max++) {
		n = seam_dump_unwind(&dump, ips, max, &end);
		assert_int_equal(n, max);
		assert_int_equal(end,
				 max < total ? SEAM_MAX_STACK : SEAM_OUTERMOST);
	}
}

/* Code of nobody's: sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
static void no_table(void **state)
{
	static const uint8_t code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
				       0x48, 0x83, 0xc4, 0x08, 0xc3};
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*stub)(void (*)(void));
	struct seam_dump dump;
	int end;

	(void)state;
	if (p == MAP_FAILED) {
		print_message("no memory both writable and executable\n");
		skip();
	}
	memcpy(p, code, sizeof(code));
	memcpy(&stub, &p, sizeof(stub));
	num_noted = 0;
	stub(leaf);
	munmap(p, 4096);
	dump = self_dump(&self, &cap);
	assert_int_equal(seam_dump_unwind(&dump, ips, SELF_IPS, &end), 2);
	assert_int_equal(end, SEAM_NO_TABLE);
	assert_true(ips[1] == (uint64_t)(uintptr_t)p + 6);
}

static int nothing_mapped(void *ctx, uint64_t avma, struct seam_mapping *ret)
{
	(void)ctx;
	(void)avma;
	(void)ret;
	return -1;
}

/* The page of the old system calls: its caller is on top of the stack. */
static void vsyscall(void **state)
{
	static const uint64_t stack[] = {0x401234, 0x405678};
	struct seam_dump dump = {.find = nothing_mapped,
				 .stack = (const uint8_t *)stack,
				 .stack_avma = 0x7ff000,
				 .stack_size = sizeof(stack),
				 .regs.valid = 1u << 7 | 1u << 16};
	int end;

	(void)state;
	dump.regs.r[7] = dump.stack_avma;
	dump.regs.r[16] = 0xffffffffff600400;
	assert_int_equal(seam_dump_unwind(&dump, ips, SELF_IPS, &end), 2);
	assert_int_equal(end, SEAM_NO_TABLE);
	assert_true(ips[0] == 0xffffffffff600400 && ips[1] == stack[0]);

	dump.regs.r[16] = 0xffffffffff601000;
	assert_int_equal(seam_dump_unwind(&dump, ips, SELF_IPS, &end), 1);
	assert_int_equal(end, SEAM_NO_TABLE);

	dump.regs.r[16] = 0xffffffffff600000;
	dump.stack_size = 4;
	assert_int_equal(seam_dump_unwind(&dump, ips, SELF_IPS, &end), 1);
	assert_int_equal(end, SEAM_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursion),
		cmocka_unit_test(alloca_and_realign),
		cmocka_unit_test(through_libc),
		cmocka_unit_test(thread),
		cmocka_unit_test(signal_frame),
		cmocka_unit_test(signal_inner_stack),
		cmocka_unit_test(signal_other_stack),
		cmocka_unit_test(short_copies),
		cmocka_unit_test(max_stack),
		cmocka_unit_test(no_table),
		cmocka_unit_test(vsyscall),
	};

	dl_iterate_phdr(self_add, &self);
	/* The first call allocates and loads; get that over with. */
	cap.num_backtrace = backtrace(cap.backtrace, 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
