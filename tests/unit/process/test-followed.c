/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: who is followed: children are, strangers are not, not even
 * under the number of one that was; and those that ended are forgotten, so
 * that a shell that starts processes for ever costs nothing.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "process/followed.h"
#include "process/target.h"
#include "tests/unit/records.h"

#define SECOND 1000000000ULL

static int see(struct seam_followed *f, uint64_t time_ns, uint32_t type,
	       uint32_t pid, uint32_t tid, uint32_t ppid)
{
	union record r;

	return seam_followed_record(f, time_ns,
				    task_record(&r, type, pid, tid, ppid));
}

static void test_children(void **state)
{
	struct seam_followed f = {0};
	union record r;

	(void)state;
	assert_int_equal(seam_followed_add(&f, 100), 0);
	assert_int_equal(see(&f, 1, PERF_RECORD_FORK, 101, 101, 100), 1);
	assert_int_equal(see(&f, 2, PERF_RECORD_FORK, 102, 102, 101), 1);
	assert_int_equal(see(&f, 3, PERF_RECORD_FORK, 202, 202, 200), 0);
	assert_int_equal(see(&f, 4, PERF_RECORD_FORK, 102, 103, 102), 1);
	assert_int_equal(
		seam_followed_record(&f, 5, map_record(&r, 102, 4096, "/x")),
		1);
	assert_int_equal(
		seam_followed_record(&f, 5, map_record(&r, 103, 4096, "/x")),
		0);
	/* A stranger's child gets a number that was one's of ours. */
	assert_int_equal(see(&f, 6, PERF_RECORD_EXIT, 102, 102, 101), 1);
	assert_int_equal(see(&f, 7, PERF_RECORD_FORK, 102, 102, 200), 0);
	assert_int_equal(seam_followed_record(&f, 8, exec_record(&r, 102)), 0);
	seam_followed_fini(&f);
}

static void test_alone(void **state)
{
	struct seam_followed f = {.alone = true};

	(void)state;
	assert_int_equal(seam_followed_add(&f, 100), 0);
	assert_int_equal(see(&f, 1, PERF_RECORD_FORK, 100, 101, 100), 1);
	assert_int_equal(see(&f, 2, PERF_RECORD_FORK, 102, 102, 100), 0);
	assert_int_equal(see(&f, 3, PERF_RECORD_EXIT, 102, 102, 100), 0);
	seam_followed_fini(&f);
}

static void test_dead(void **state)
{
	uint32_t ended = ended_pid(), zombie = zombie_pid();
	uint32_t leaderless = leaderless_pid(), alive = (uint32_t)getpid();
	const uint32_t pids[] = {ended, zombie, leaderless, alive};
	uint64_t now = 100 * SECOND;
	struct seam_followed f = {0};
	union record r;

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(seam_followed_add(&f, pids[i]), 0);
		assert_int_equal(
			see(&f, now, PERF_RECORD_EXIT, pids[i], pids[i], 1), 1);
	}
	/* Records may still be on the way. */
	seam_followed_forget(&f, now + SEAM_KEEP_DEAD_NS - 1);
	assert_int_equal(f.by_pid.used, 4);
	seam_followed_forget(&f, now + SEAM_KEEP_DEAD_NS + SECOND);
	assert_int_equal(f.by_pid.used, 2);
	assert_int_equal(
		seam_followed_record(&f, now, exec_record(&r, leaderless)), 1);
	assert_int_equal(seam_followed_record(&f, now, exec_record(&r, alive)),
			 1);
	/* The last thread's end is not told of, but found. */
	kill((pid_t)leaderless, SIGKILL);
	waitpid((pid_t)leaderless, NULL, 0);
	seam_followed_forget(&f, now + 3 * SEAM_KEEP_DEAD_NS);
	assert_int_equal(f.by_pid.used, 1);
	waitpid((pid_t)zombie, NULL, 0);
	seam_followed_fini(&f);
}

static void test_loop(void **state)
{
	struct seam_followed f = {0};
	uint32_t shell = (uint32_t)getpid();
	size_t most = 0;

	(void)state;
	assert_int_equal(seam_followed_add(&f, shell), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		/* A thousand a second; numbers above any that a task has. */
		uint32_t pid = 1u << 23 | (uint32_t)i;
		uint64_t now = SECOND + i * SECOND / 1000;

		assert_int_equal(
			see(&f, now, PERF_RECORD_FORK, pid, pid, shell), 1);
		assert_int_equal(
			see(&f, now, PERF_RECORD_EXIT, pid, pid, shell), 1);
		seam_followed_forget(&f, now);
		if (f.by_pid.used > most)
			most = f.by_pid.used;
	}
	assert_true(most < 7000);
	seam_followed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
