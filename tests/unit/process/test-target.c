/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Description: a thread that is recorded is known to live until it ends, and
 * then not, on kernels of before Linux 6.9 too, where threads have no pidfds;
 * a first thread is there until its process ends. A number of no process is
 * refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/target.h"

static bool is_old; /* the kernel, as far as it is asked here */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b);

long __wrap_syscall(long number, long a, long b)
{
	if (number == SYS_pidfd_open && is_old && (b & O_EXCL)) {
		errno = EINVAL;
		return -1;
	}
	return __real_syscall(number, a, b);
}

static uint32_t begun; /* the thread's number */

/* Ends when the pipe does. */
static void *wait_for(void *arg)
{
	const int *fd = arg;
	char byte;

	/* Its state in /proc stands behind this. */
	prctl(PR_SET_NAME, "a\nState:\tZ");
	__atomic_store_n(&begun, (uint32_t)gettid(), __ATOMIC_RELEASE);
	if (read(*fd, &byte, 1) < 0)
		return arg;
	return NULL;
}

static uint32_t start(pthread_t *thread, int *fd)
{
	begun = 0;
	assert_int_equal(pthread_create(thread, NULL, wait_for, fd), 0);
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		usleep(1000);
	return begun;
}

static void thread_ends(void)
{
	struct seam_target target;
	pthread_t thread;
	int ends[2];
	uint32_t tid;

	assert_int_equal(pipe(ends), 0);
	tid = start(&thread, &ends[0]);
	assert_int_equal(seam_target_open(tid, true, &target), 0);
	assert_true(target.is_folder || !is_old);
	assert_int_equal(target.id, tid);
	assert_int_equal(target.tgid, getpid());
	assert_false(seam_target_ended(&target));
	assert_false(seam_target_process_ended(&target));
	close(ends[1]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* It is joined before the kernel is done with it. */
	while (!seam_target_ended(&target))
		usleep(1000);
	assert_false(seam_target_process_ended(&target));
	seam_target_close(&target);
	close(ends[0]);
	assert_int_equal(seam_target_open(tid, true, &target), -ESRCH);
}

/* The first thread ends when told, the other when that pipe does. */
static void outlived(int *fd, int told)
{
	pthread_t thread;
	char byte;

	if (pthread_create(&thread, NULL, wait_for, fd) ||
	    read(told, &byte, 1) < 0)
		_exit(1);
	pthread_exit(NULL);
}

static void await_zombie(pid_t pid)
{
	char path[64], line[64] = "";
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		usleep(1000);
		f = fopen(path, "r");
		assert_non_null(f);
		assert_non_null(fgets(line, sizeof(line), f));
		fclose(f);
		state = strrchr(line, ')');
	} while (!state || state[2] != 'Z');
}

static void first_thread_ends(void)
{
	struct seam_target target;
	int ends[2], told[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		close(told[1]);
		outlived(&ends[0], told[0]);
	}
	close(told[0]);
	assert_int_equal(seam_target_open((uint32_t)pid, true, &target), 0);
	close(told[1]);
	await_zombie(pid);
	/* Kernels differ in what their pidfds say of it. */
	if (is_old)
		assert_false(seam_target_ended(&target));
	assert_false(seam_target_process_ended(&target));
	close(ends[1]);
	while (!seam_target_process_ended(&target))
		usleep(1000);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(seam_target_ended(&target));
	seam_target_close(&target);
	close(ends[0]);
}

static void test_threads(void **state)
{
	(void)state;
	for (int old = 0; old < 2; old++) {
		is_old = old;
		thread_ends();
		first_thread_ends();
	}
}

static void test_process(void **state)
{
	struct seam_target target;
	pthread_t thread;
	int ends[2];
	uint32_t tid;

	(void)state;
	is_old = false;
	assert_int_equal(pipe(ends), 0);
	tid = start(&thread, &ends[0]);
	assert_int_equal(seam_target_open(tid, false, &target), -ESRCH);
	assert_int_equal(seam_target_open((uint32_t)getpid(), false, &target),
			 0);
	assert_false(seam_target_ended(&target));
	seam_target_close(&target);
	close(ends[1]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
