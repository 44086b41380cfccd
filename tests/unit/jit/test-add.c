// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a process's list of sections for code that it made is in memory
 * that others find by its name, holds what was added and not removed, and is a
 * child's own from fork on. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/jit-registry.h"
#include "made.h"
#include "seam/jit.h"

#define CODE_SIZE 32
#define MANY 3000
#define OTHERS 9

static struct made {
	uint8_t code[CODE_SIZE];
	struct made_section section;
} all[MANY];

static void make(struct made *m, uint8_t frame)
{
	m->section =
		made_section((int64_t)offsetof(struct made, code) -
				     (int64_t)offsetof(struct made, section),
			     CODE_SIZE, frame);
}

static int add(struct made *m)
{
	return seam_jit_add(&m->section, sizeof(m->section), m->code,
			    sizeof(m->code), NULL);
}

/* As another process would find it; NULL: there is none. *ret_n: how many
 * mappings have the name. */
static const struct seam_jit_registry *find(int *ret_n)
{
	const struct seam_jit_registry *found = NULL;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	uint64_t start;

	*ret_n = 0;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/memfd:" SEAM_JIT_NAME " ") ||
		    sscanf(line, "%" SCNx64, &start) != 1)
			continue;
		assert_non_null(strstr(line, " rw-p "));
		found = (const void *)(uintptr_t)start;
		++*ret_n;
	}
	fclose(f);
	return found;
}

static const struct seam_jit_registry *found(void)
{
	int n;
	const struct seam_jit_registry *r = find(&n);

	assert_int_equal(n, 1);
	assert_true(r->magic == SEAM_JIT_MAGIC);
	assert_true(r->changes % 2 == 0);
	return r;
}

static void test_add_and_remove(void **state)
{
	const struct seam_jit_registry *r;
	int n;

	(void)state;
	find(&n);
	assert_int_equal(n, 0);
	assert_int_equal(seam_jit_remove(all[0].code), -ENOENT);
	make(&all[1], 16);
	make(&all[0], 32);
	errno = 77;
	assert_int_equal(add(&all[1]), 0);
	assert_int_equal(add(&all[0]), 0);
	assert_int_equal(errno, 77);
	r = found();
	assert_int_equal(r->num, 2);
	assert_true(r->entries[0].code == (uintptr_t)all[0].code);
	assert_true(r->entries[0].sframe == (uintptr_t)&all[0].section);
	assert_true(r->entries[0].sframe_size == sizeof(all[0].section));
	assert_true(r->entries[1].code_size == CODE_SIZE);
	assert_true(r->entries[0].id != r->entries[1].id);
	assert_int_equal(seam_jit_remove(all[0].code), 0);
	assert_int_equal(r->num, 1);
	assert_true(r->entries[0].code == (uintptr_t)all[1].code);
	assert_int_equal(seam_jit_remove(all[0].code), -ENOENT);
	assert_int_equal(seam_jit_remove(all[1].code), 0);
	assert_int_equal(r->num, 0);
}

static void test_refused(void **state)
{
	struct seam_errinfo why = {0};
	struct made *m = &all[0];

	(void)state;
	make(m, 16);
	assert_int_equal(
		seam_jit_add(&m->section, sizeof(m->section), m->code, 0, &why),
		-EINVAL);
	assert_int_equal(seam_jit_add(&m->section, sizeof(m->section), m->code,
				      SIZE_MAX, NULL),
			 -EINVAL);
	assert_int_equal(
		seam_jit_add(&m->section, 20, m->code, CODE_SIZE, &why),
		-EINVAL);
	assert_true(why.reason[0]);
	assert_int_equal(seam_jit_add(NULL, sizeof(m->section), m->code,
				      CODE_SIZE, &why),
			 -EINVAL);
	assert_int_equal(seam_jit_add(&m->section, sizeof(m->section), NULL,
				      CODE_SIZE, &why),
			 -EINVAL);
	/* The function is larger than the code. */
	assert_int_equal(seam_jit_add(&m->section, sizeof(m->section), m->code,
				      CODE_SIZE - 1, &why),
			 -EINVAL);
	m->section.version = 9;
	assert_int_equal(add(m), -EINVAL);
	make(m, 16);
	assert_int_equal(add(m), 0);
	assert_int_equal(add(m), -EEXIST);
	assert_int_equal(seam_jit_remove(m->code), 0);
}

static void test_many(void **state)
{
	const struct seam_jit_registry *r;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		size_t at = i * 1009 % MANY; /* each once, in no order */

		make(&all[at], 16);
		assert_int_equal(add(&all[at]), 0);
	}
	r = found();
	assert_int_equal(r->num, MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_true(r->entries[i].code == (uintptr_t)all[i].code);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(seam_jit_remove(all[i].code), 0);
	assert_int_equal(found()->num, 0);
}

/* Exits with how many entries it has. */
static pid_t child(int adds)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	while (adds--) {
		make(&all[10 + adds], 16);
		if (add(&all[10 + adds]))
			_exit(99);
	}
	_exit((int)found()->num);
}

static int result(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_fork(void **state)
{
	(void)state;
	make(&all[0], 16);
	assert_int_equal(add(&all[0]), 0);
	assert_int_equal(result(child(0)), 1);
	assert_int_equal(result(child(3)), 4);
	assert_int_equal(found()->num, 1);
	assert_int_equal(seam_jit_remove(all[0].code), 0);
}

static volatile int stop;

static void *busy(void *arg)
{
	struct made *m = arg;

	make(m, 16);
	while (!stop)
		if (add(m) || seam_jit_remove(m->code))
			return m;
	return NULL;
}

/* A child of a process whose other threads are at work has the lock. */
static void test_threads(void **state)
{
	pthread_t threads[2];
	void *failed;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, busy, &all[i]), 0);
	for (int i = 0; i < 20; i++)
		assert_in_range(result(child(1)), 1, 3);
	stop = 1;
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(found()->num, 0);
}

/* One that adds the first of some and takes the second away, to be looked at
 * at each instruction. */
static pid_t changer(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(98);
	raise(SIGSTOP);
	_exit(add(&all[0]) || seam_jit_remove(all[1].code));
}

static bool is_whole(const struct seam_jit_entry *e, const struct made *m)
{
	return e->code == (uintptr_t)m->code && e->code_size == CODE_SIZE &&
	       e->sframe == (uintptr_t)&m->section &&
	       e->sframe_size == sizeof(m->section);
}

/* Whether it has what it always had. first: the number of the first. */
static void check_others(const struct seam_jit_registry *r, uint64_t first)
{
	size_t n = 0;

	for (size_t i = 0; i < OTHERS; i++) {
		bool is_there = false;

		for (size_t k = 0; k < r->num; k++)
			is_there |= r->entries[k].id == first + i &&
				    is_whole(&r->entries[k], &all[2 + i]);
		n += is_there;
	}
	assert_int_equal(n, OTHERS);
}

/* The child's, at the same address as ours. Return: whether it is in a change.
 */
static bool look(pid_t pid, const struct seam_jit_registry *at, uint64_t first)
{
	static uint8_t page[4096] __attribute__((aligned(8)));
	const struct seam_jit_registry *r = (const void *)page;
	struct iovec to = {page, sizeof(page)};
	struct iovec from = {(void *)(uintptr_t)at, sizeof(page)};

	assert_int_equal(process_vm_readv(pid, &to, 1, &from, 1, 0),
			 sizeof(page));
	assert_in_range(r->num, OTHERS + 1, OTHERS + 2);
	check_others(r, first);
	return r->changes & 1;
}

/* Who is stopped amid a change has all the others in its list, whole. */
static void test_amid(void **state)
{
	const struct seam_jit_registry *r;
	int status, amid = 0;
	uint64_t first;
	pid_t pid;

	(void)state;
	for (size_t i = 1; i < OTHERS + 2; i++) {
		make(&all[i], 16);
		assert_int_equal(add(&all[i]), 0);
	}
	make(&all[0], 16);
	r = found();
	first = r->entries[1].id;
	pid = changer();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (WIFSTOPPED(status)) {
		amid += look(pid, r, first);
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_true(amid > 4 * OTHERS);
	for (size_t i = 1; i < OTHERS + 2; i++)
		assert_int_equal(seam_jit_remove(all[i].code), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_remove),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_amid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
