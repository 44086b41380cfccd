// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a process's list of sections for code that it made is in memory
 * that others find by its name, holds what was added and not removed, and is a
 * child's own from fork on. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/jit-registry.h"
#include "made.h"
#include "seam/jit.h"

#define CODE_SIZE 32
#define MANY 3000

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_remove),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
