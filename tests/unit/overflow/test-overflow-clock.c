// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: the overflows of a clock come in order and never early, each as
 * a signal, in user code and where they mostly find the kernel at work.
 */
#include "signalled.h"

#include <fcntl.h>
#include <sys/uio.h>

static volatile uint64_t clock_ns, last_count;

/*
 * The n-th overflow of a clock may be late, so that the next is near, but not
 * early. The timer behind it and the clock that is counted are two, which are
 * steered apart by 500 ppm at most.
 */
static bool is_early(uint64_t count, uint64_t n)
{
	return count < n * clock_ns - n * clock_ns / 2000;
}

static bool is_exact(void)
{
	uint64_t count = 0, last = last_count;
	int ret = seam_overflow_count(overflow, &count);

	last_count = count;
	return !ret && !is_early(count, signals) && count > last;
}

static int setup(void **state)
{
	(void)state;
	clock_ns = last_count = 0;
	return take_signals();
}

static int teardown(void **state)
{
	(void)state;
	overflow = seam_overflow_close(overflow);
	return 0;
}

struct seen_clock {
	struct seen all;
	uint64_t early, behind_call;
};

/* Behind a system call's instruction. */
static bool is_behind_call(uint64_t ip)
{
	static const uint8_t insn[] = {0x0f, 0x05};
	uint8_t bytes[sizeof(insn)];
	struct iovec to = {bytes, sizeof(bytes)};
	struct iovec from = {(void *)(uintptr_t)(ip - sizeof(bytes)),
			     sizeof(bytes)};

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) ==
		       (ssize_t)sizeof(bytes) &&
	       !memcmp(bytes, insn, sizeof(insn));
}

static void on_clock_sample(void *ctx,
			    const struct seam_overflow_sample *sample)
{
	struct seen_clock *seen = ctx;

	on_sample(&seen->all, sample);
	seen->early += is_early(sample->count, seen->all.n);
	seen->behind_call += is_behind_call(sample->ip);
}

#define CLOCK_SIGNALS 200

/*
 * Each overflow has its signal and its sample, and both a count that says so
 * many periods at least: the time that the thread ran.
 */
static void clock_by_clock(uint32_t flags, void (*run)(void),
			   struct seen_clock *seen)
{
	struct seam_overflow_opts opts = {
		.sz = sizeof(opts),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.signum = SIGNUM,
		.flags = flags | SEAM_OVERFLOW_SAMPLES,
	};
	uint64_t lost = 0;

	open_it(&opts);
	clock_ns = 500000;
	assert_int_equal(seam_overflow_arm(overflow, clock_ns), 0);
	while (signals < CLOCK_SIGNALS)
		run();
	assert_int_equal(seam_overflow_disarm(overflow), 0);
	seam_overflow_read(overflow, on_clock_sample, seen, &lost);
	assert_int_equal(lost, 0);
	assert_int_equal(other, 0);
	assert_int_equal(not_exact, 0);
	assert_int_equal(seen->all.n, signals);
	assert_int_equal(seen->all.user, seen->all.n);
	assert_int_equal(seen->all.in_order, seen->all.n);
	assert_int_equal(seen->early, 0);
	/* It stands still; the last signal was told no more. */
	assert_true(count_now() >= last_count);
	assert_true(last_count >= seen->all.last);
	assert_int_equal(count_now(), count_now());
}

static void spin(void)
{
	for (volatile int i = 0; i < 1000; i++)
		;
}

/* Without the kernel's part: what finds the thread there is no overflow. */
static void in_user_code(void **state)
{
	struct seen_clock seen = {0};

	(void)state;
	clock_by_clock(0, spin, &seen);
}

static int zero;

/* By its number: what sanitizers have around read() takes as long as it does.
 */
static void read_zero(void)
{
	static char buffer[1 << 20];

	assert_true(syscall(SYS_read, zero, buffer, sizeof(buffer)) > 0);
}

/*
 * A clock finds the thread in the kernel nearly always: the overflows come,
 * and where user code is, not the kernel's address.
 */
static void in_the_kernel(void **state)
{
	struct seen_clock seen = {0};

	(void)state;
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_true(zero >= 0);
	clock_by_clock(SEAM_OVERFLOW_KERNEL, read_zero, &seen);
	print_message("# %d of %d overflows behind a system call\n",
		      (int)seen.behind_call, (int)seen.all.n);
	assert_true(seen.behind_call > seen.all.n / 2);
	close(zero);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_user_code),
		TEST(in_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
