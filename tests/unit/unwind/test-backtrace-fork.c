// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: a child that was forked while other threads took stacks frees
 * the rules of what it unloads; rules that the forking thread itself was
 * reading stay. Of a thread that left a stack by siglongjmp, as the manual
 * says, rules stay, and no stack is the worse for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seam/backtrace.h"
#include "unwind/snapshot.h"

#define MAX 64
#define CYCLES 20

/* The linker puts these between the library and the C library. */
void *__real_calloc(size_t num, size_t size);
void __real_free(void *p);
void *__wrap_calloc(size_t num, size_t size);
void __wrap_free(void *p);

/* Snapshots that are not freed. */
static void *volatile live[4 * CYCLES];
#define LIVE_MAX (sizeof(live) / sizeof(live[0]))

void *__wrap_calloc(size_t num, size_t size)
{
	void *p = __real_calloc(num, size);
	size_t i = 0;

	while (i < LIVE_MAX && live[i])
		i++;
	if (p && i < LIVE_MAX && num == 1 &&
	    size == sizeof(struct seam_snapshot))
		live[i] = p;
	return p;
}

void __wrap_free(void *p)
{
	for (size_t i = 0; p && i < LIVE_MAX; i++)
		if (live[i] == p)
			live[i] = NULL;
	__real_free(p);
}

static int num_live(void)
{
	int n = 0;

	for (size_t i = 0; i < LIVE_MAX; i++)
		n += !!live[i];
	return n;
}

static __attribute__((noinline)) int is_whole(void)
{
	void *v[MAX];
	int end, n = seam_backtrace_ex(v, MAX, NULL, 0, &end);

	return n > 2 && end == SEAM_END_OUTERMOST;
}

/* The plugin comes and goes. Return: whether all went well. */
static int cycle(void)
{
	void *plugin = dlopen(PLUGIN, RTLD_NOW);
	int r = plugin ? seam_backtrace_refresh() : 0;

	if (!plugin || r != 1 || !is_whole() || dlclose(plugin))
		return 0;
	return seam_backtrace_refresh() == 1 && is_whole();
}

/* In a child. Return: how many snapshots more there are after some cycles than
 * after one; negative: something failed. */
static int growth(void)
{
	int before;

	if (!cycle())
		return -1;
	before = num_live();
	for (int i = 0; i < CYCLES; i++)
		if (!cycle())
			return -1;
	return num_live() - before;
}

static int status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static sem_t reading, done;

static void *reads(void *arg)
{
	struct seam_reading r = seam_snapshot_read();

	sem_post(&reading);
	sem_wait(&done);
	seam_snapshot_done(&r);
	return arg;
}

static void other_thread_reads(void **state)
{
	pthread_t id;
	pid_t pid;

	(void)state;
	sem_init(&reading, 0, 0);
	sem_init(&done, 0, 0);
	assert_int_equal(pthread_create(&id, NULL, reads, NULL), 0);
	sem_wait(&reading);
	pid = fork();
	if (!pid)
		_exit(growth() != 0);
	assert_int_equal(status_of(pid), 0);
	/* Here it does read, and nothing goes. */
	pid = num_live();
	assert_true(cycle());
	assert_int_equal(num_live(), pid + 2);
	sem_post(&done);
	pthread_join(id, NULL);
	assert_int_equal(growth(), 0);
}

/* As a handler would find it that forks in the middle of a stack. */
static int child_that_reads(const struct seam_reading *r)
{
	if (growth())
		return 1;
	/* It is there; the builds with sanitizers would say otherwise. */
	if (!r->snapshot->n_codes || !r->snapshot->codes[0].start ||
	    r->snapshot->nodes.callers[0] == 0)
		return 2;
	seam_snapshot_done(r);
	/* And now nobody is counted who is not there. */
	return growth() ? 3 : 0;
}

static void own_thread_reads(void **state)
{
	struct seam_reading r = seam_snapshot_read();
	pid_t pid = fork(), second;

	(void)state;
	if (!pid) {
		second = fork();
		if (!second)
			_exit(child_that_reads(&r));
		_exit(child_that_reads(&r) | status_of(second) << 2);
	}
	assert_int_equal(status_of(pid), 0);
	seam_snapshot_done(&r);
	assert_int_equal(growth(), 0);
}

/* Last: what is left behind stays. */
static void left_by_jump(void **state)
{
	(void)state;
	seam_snapshot_read();
	for (int i = 0; i < CYCLES / 2; i++)
		assert_true(cycle());
	assert_true(num_live() >= CYCLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_thread_reads),
		cmocka_unit_test(own_thread_reads),
		cmocka_unit_test(left_by_jump),
	};

	assert_int_equal(seam_backtrace_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
