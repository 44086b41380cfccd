// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: every overflow of a counter comes as a signal, at the very
 * instruction where that can be told, with the exact count: of page faults and
 * of writes that a hardware breakpoint sees. The rights and the errors of
 * opening one. A clock's are in test-overflow-clock.c.
 */
#include "signalled.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#define EVENTS 2000 /* more than a ring has room for */
#define PAGE 4096

static volatile uint64_t events, every; /* that the test made so far */
/*
 * Counts the same page faults without overflows, and what it was when the
 * overflows' counter was last armed. A page that the kernel moves, to have a
 * larger piece of memory, is a fault more than the test made.
 */
static int plain = -1;
static volatile uint64_t plain_base;
/* By how much overflows came before the test's own events: only such faults. */
static volatile int64_t least_ahead, most_ahead;
static volatile long written;

static uint64_t plain_now(void)
{
	uint64_t count = 0;

	if (read(plain, &count, sizeof(count)) != sizeof(count))
		return 0;
	return count - plain_base;
}

static void note_ahead(int64_t ahead)
{
	if (ahead < least_ahead)
		least_ahead = ahead;
	if (ahead > most_ahead)
		most_ahead = ahead;
}

static bool is_exact(void)
{
	uint64_t count = 0, before = plain_now();
	bool good = !seam_overflow_count(overflow, &count) &&
		    (plain < 0 || (count >= before && count <= plain_now()));

	/* It came before the next one could. */
	if (every)
		note_ahead((int64_t)(signals * every - (events + 1)));
	return good;
}

static int setup(void **state)
{
	(void)state;
	every = 0;
	least_ahead = most_ahead = 0;
	return take_signals();
}

static int teardown(void **state)
{
	(void)state;
	overflow = seam_overflow_close(overflow);
	if (plain >= 0)
		close(plain);
	plain = -1;
	return 0;
}

static struct seam_overflow_opts faults(uint32_t flags)
{
	return (struct seam_overflow_opts){
		.sz = sizeof(struct seam_overflow_opts),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.signum = SIGNUM,
		.flags = flags,
	};
}

static void open_plain(int tid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.exclude_kernel = 1,
	};

	plain = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
			     PERF_FLAG_FD_CLOEXEC);
	assert_true(plain >= 0);
}

static void arm(uint64_t period)
{
	assert_int_equal(seam_overflow_arm(overflow, period), 0);
	plain_base = 0;
	plain_base = plain_now();
	signals = 0;
	events = 0;
	least_ahead = most_ahead = 0;
}

/* Since it was armed, with nothing touched meanwhile: at least so many. */
static void assert_faults(uint64_t least, uint64_t period)
{
	uint64_t count = count_now();

	assert_int_equal(count, plain_now());
	assert_in_range(count, least, UINT64_MAX);
	assert_int_equal(signals, count / period);
	assert_true(least_ahead >= 0);
	assert_true(most_ahead <= (int64_t)(count - events));
	assert_int_equal(not_exact, 0);
}

/* Memory each of whose pages is a fault when it is written to. */
static char *fresh_pages(size_t n)
{
	char *at = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(madvise(at, n * PAGE, MADV_NOHUGEPAGE), 0);
	return at;
}

/* Nothing but the faults of these pages, from user code: a sanitizer's own
 * would be of the pages that it keeps beside them. */
__attribute__((no_sanitize("address", "undefined"))) static void
touch(char *at, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		((volatile char *)at)[i * PAGE] = 1;
		events++;
	}
}

/* What the handler touches is no event of the test. */
static void warm(void)
{
	char *pages = fresh_pages(2);

	open_plain(0);
	arm(1);
	touch(pages, 2);
	assert_int_equal(seam_overflow_disarm(overflow), 0);
	assert_true(signals >= 2);
	munmap(pages, 2 * PAGE);
	other = 0;
}

static void fault_by_fault(uint64_t period)
{
	struct seam_overflow_opts opts = faults(0);
	char *pages = fresh_pages(EVENTS);

	open_it(&opts);
	warm();
	every = period;
	arm(period);
	touch(pages, EVENTS);
	assert_faults(EVENTS, period);
	assert_int_equal(seam_overflow_disarm(overflow), 0);
	assert_int_equal(other, 0);
	munmap(pages, EVENTS * PAGE);
}

static void each_fault(void **state)
{
	(void)state;
	fault_by_fault(1);
}

static void each_seventh_fault(void **state)
{
	(void)state;
	fault_by_fault(7);
}

/* From 0 again, with another period, whatever was left of the last. */
static void armed_again(void **state)
{
	struct seam_overflow_opts opts = faults(0);
	char *pages = fresh_pages(64);
	uint64_t count;

	(void)state;
	open_it(&opts);
	warm();
	arm(10);
	touch(pages, 9);
	assert_faults(9, 10);
	arm(10);
	touch(pages + 9 * PAGE, 9);
	assert_faults(9, 10);
	touch(pages + 18 * PAGE, 1);
	assert_faults(10, 10);
	arm(3);
	touch(pages + 19 * PAGE, 4);
	assert_faults(4, 3);
	assert_int_equal(seam_overflow_disarm(overflow), 0);
	count = count_now();
	touch(pages + 23 * PAGE, 20);
	assert_int_equal(count_now(), count);
	assert_int_equal(signals, count / 3);
	munmap(pages, 64 * PAGE);
}

/* A virtual machine may take breakpoints that never come. Return: whether the
 * kernel counts a write by a counter without overflows. */
static bool sees_writes(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&written,
		.bp_len = sizeof(written),
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t count = 0;

	assert_true(fd >= 0);
	written = 1;
	assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
	close(fd);
	return count;
}

static void each_write(void **state)
{
	struct seam_overflow_opts opts = {
		.sz = sizeof(opts),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.config1 = (uintptr_t)&written,
		.config2 = sizeof(written),
		.signum = SIGNUM,
	};
	struct seam_errinfo err;
	int ret = seam_overflow_open(&opts, &overflow, &err);

	(void)state;
	if (ret == -ENOENT || ret == -ENODEV || ret == -EOPNOTSUPP) {
		print_message("# no hardware breakpoints: %s\n", err.reason);
		skip();
	}
	assert_int_equal(ret, 0);
	if (!sees_writes()) {
		print_message("# hardware breakpoints never come here\n");
		skip();
	}
	events = 0;
	every = 1;
	assert_int_equal(seam_overflow_arm(overflow, 1), 0);
	for (long i = 0; i < EVENTS; i++) {
		written = i;
		events++;
	}
	assert_int_equal(seam_overflow_disarm(overflow), 0);
	assert_int_equal(count_now(), EVENTS);
	assert_int_equal(signals, EVENTS);
	assert_int_equal(least_ahead, 0);
	assert_int_equal(most_ahead, 0);
	assert_int_equal(not_exact, 0);
}

/* No sample without room; all signals nevertheless. */
static void ring_full(void **state)
{
	struct seam_overflow_opts opts = faults(SEAM_OVERFLOW_SAMPLES);
	char *pages = fresh_pages(EVENTS + 1);
	struct seen seen = {0};
	uint64_t lost = 0;
	long n;

	(void)state;
	open_it(&opts);
	warm();
	seam_overflow_read(overflow, on_sample, &seen, NULL);
	seen = (struct seen){0};
	every = 1;
	arm(1);
	touch(pages, EVENTS);
	n = seam_overflow_read(overflow, on_sample, &seen, NULL);
	assert_true(n > 100 && n < EVENTS);
	assert_int_equal(seen.n, n);
	assert_int_equal(seen.in_order, n);
	assert_int_equal(seen.user, n);
	assert_int_equal(seen.last, n);
	/* The kernel tells of the loss when there is room again. */
	touch(pages + EVENTS * (size_t)PAGE, 1);
	assert_faults(EVENTS + 1, 1);
	assert_int_equal(seam_overflow_disarm(overflow), 0);
	n += seam_overflow_read(overflow, on_sample, &seen, &lost);
	assert_int_equal((uint64_t)n + lost, count_now());
	assert_int_equal(not_exact, 0);
	munmap(pages, (EVENTS + 1) * PAGE);
}

/* The counted thread, and who is told. */
static volatile int counted_tid, go, done;

static void *counted(void *arg)
{
	counted_tid = (int)syscall(SYS_gettid);
	while (!go)
		;
	touch(arg, 10);
	done = 1;
	while (go == 1) /* its end has faults of its own */
		;
	return NULL;
}

/* None of them may be of the thread's stack, which the kernel takes for one
 * with what lies beside it: a profiler's copy of that brings in its pages. */
static char *pages_apart(char *room, size_t n)
{
	assert_int_equal(mprotect(room, PAGE, PROT_NONE), 0);
	assert_int_equal(mprotect(room + (n + 1) * PAGE, PAGE, PROT_NONE), 0);
	return room + PAGE;
}

static void another_is_told(void **state)
{
	struct seam_overflow_opts opts = faults(0);
	char *room = fresh_pages(12), *pages = pages_apart(room, 10);
	pthread_t thread;
	struct pollfd fd;

	(void)state;
	counted_tid = go = done = 0;
	events = 0;
	assert_int_equal(pthread_create(&thread, NULL, counted, pages), 0);
	while (!counted_tid)
		;
	opts.tid = counted_tid;
	opts.notify_tid = (int)syscall(SYS_gettid);
	open_it(&opts);
	open_plain(counted_tid);
	arm(10);
	told = 0;
	go = 1;
	while (!done)
		;
	assert_faults(10, 10);
	assert_int_equal(seam_overflow_disarm(overflow), 0);
	go = 2;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(told, opts.notify_tid);
	/* A thread that is gone is told of too. */
	fd = (struct pollfd){.fd = seam_overflow_fd(overflow)};
	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_true(fd.revents & POLLHUP);
	munmap(room, 12 * PAGE);
}

static void refused(const struct seam_overflow_opts *opts, int want)
{
	struct seam_errinfo err = {0};

	assert_int_equal(seam_overflow_open(opts, &overflow, &err), want);
	assert_null(overflow);
	assert_true(err.reason[0]);
}

static void bad_input(void **state)
{
	struct seam_overflow_opts opts = faults(0);

	(void)state;
	opts.sz--;
	refused(&opts, -EINVAL);
	opts = faults(1 << 7);
	refused(&opts, -EINVAL);
	opts = faults(0);
	opts.tid = -1;
	refused(&opts, -EINVAL);
	opts = faults(0);
	opts.tid = 0x3fffffff; /* above any pid_max */
	refused(&opts, -ESRCH);
	opts = faults(0);
	opts.signum = 4000;
	refused(&opts, -EINVAL);
	opts = faults(0);
	opts.type = 0x7ffffff0;
	refused(&opts, -ENOENT);
	opts = faults(0);
	open_it(&opts);
	assert_int_equal(seam_overflow_arm(overflow, 0), -EINVAL);
	assert_int_equal(seam_overflow_arm(overflow, 1ULL << 63), -EINVAL);
	assert_int_equal(seam_overflow_read(overflow, on_sample, NULL, NULL),
			 -EINVAL);
	assert_null(seam_overflow_close(NULL));
}

/* Skid: a PMU notices late, when the thread may be in the kernel. */
static void with_skid(void **state)
{
	struct seam_overflow_opts opts = {
		.sz = sizeof(opts),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.signum = SIGNUM,
	};
	struct seam_errinfo err;
	int ret = seam_overflow_open(&opts, &overflow, &err);

	(void)state;
	if (ret) {
		print_message("# no PMU: %s\n", err.reason);
		skip();
	}
	assert_int_equal(seam_overflow_arm(overflow, 10000), 0);
	for (int i = 0; i < 100000; i++)
		syscall(SYS_getppid);
	assert_int_equal(seam_overflow_disarm(overflow), 0);
	assert_int_equal(signals, count_now() / 10000);
	assert_int_equal(other, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_fault),  TEST(each_seventh_fault),
		TEST(armed_again), TEST(each_write),
		TEST(ring_full),   TEST(another_is_told),
		TEST(bad_input),   TEST(with_skid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
