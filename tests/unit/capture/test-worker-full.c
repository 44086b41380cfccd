// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what a process says of its code may come when the worker has no
 * room for it. Then what it said before is not believed any more. */
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../jit/made.h"
#include "capture/worker.h"
#include "core/jit-registry.h"

#define MUCH (257u << 20) /* more than may wait */

static struct {
	uint8_t code[64];
	struct made_section section;
} made;
static sem_t begun, go_on;

int __real_seam_processes_made(struct seam_processes *ps,
			       const struct seam_wire_jit *rec, size_t size);
int __wrap_seam_processes_made(struct seam_processes *ps,
			       const struct seam_wire_jit *rec, size_t size);
int __wrap_seam_processes_made(struct seam_processes *ps,
			       const struct seam_wire_jit *rec, size_t size)
{
	sem_post(&begun);
	sem_wait(&go_on);
	return __real_seam_processes_made(ps, rec, size);
}

static int give(struct seam_worker *worker, struct seam_batch *copies)
{
	struct seam_worker_side side = {NULL, 0, UINT64_MAX};
	struct seam_held held = {0};

	return seam_worker_give(worker, copies, &held, &side);
}

static int say_of(struct seam_worker *worker, pid_t pid,
		  enum seam_wire_jit_what what, uint64_t time_ns)
{
	struct seam_wire_jit jit = {
		.head = {.type = SEAM_WIRE_JIT,
			 .pid = (uint32_t)pid,
			 .time_ns = time_ns},
		.what = what,
		.args = {(uintptr_t)&made.section, sizeof(made.section),
			 (uintptr_t)made.code, sizeof(made.code)},
	};
	struct seam_batch copies = {0};
	int err;

	if (what == SEAM_WIRE_JIT_LISTED)
		jit.args[0] = SEAM_JIT_ADDED;
	seam_batch_add(&copies, &jit.head, sizeof(jit));
	err = give(worker, &copies);
	seam_batch_fini(&copies);
	return err;
}

static int say(struct seam_worker *worker, enum seam_wire_jit_what what,
	       uint64_t time_ns)
{
	return say_of(worker, getpid(), what, time_ns);
}

/* One record of no kind. */
static void fill(struct seam_worker *worker)
{
	struct seam_batch copies = {
		.bytes = calloc(1, MUCH), .used = MUCH, .room = MUCH};
	const uint64_t size = MUCH - sizeof(size);

	assert_non_null(copies.bytes);
	memcpy(copies.bytes, &size, sizeof(size));
	assert_int_equal(give(worker, &copies), 0);
}

struct world {
	struct seam_images images;
	struct seam_processes ps;
	struct seam_worker *worker;
};

static void begin(struct world *w)
{
	*w = (struct world){.ps.images = &w->images};
	assert_int_equal(seam_worker_start(&w->ps, NULL, SEAM_UNWIND_TABLES, 16,
					   &w->worker),
			 0);
}

static void end(struct world *w, struct seam_jit_stats *ret)
{
	struct seam_worker_stats stats;

	seam_worker_wait(w->worker);
	seam_worker_stats(w->worker, &stats);
	*ret = stats.made;
	seam_worker_stop(w->worker);
	seam_processes_fini(&w->ps);
	seam_images_fini(&w->images);
}

/* Code is added at 10, and something else lost. */
static void lose(enum seam_wire_jit_what what, uint64_t time_ns,
		 struct seam_jit_stats *ret)
{
	struct world w;

	begin(&w);
	assert_int_equal(say(w.worker, SEAM_WIRE_JIT_ADD, 10), 0);
	sem_wait(&begun);
	fill(w.worker);
	assert_int_equal(say(w.worker, what, time_ns), -ENOBUFS);
	sem_post(&go_on);
	end(&w, ret);
}

static void test_lost_unmap(void **state)
{
	struct seam_jit_stats stats;

	(void)state;
	lose(SEAM_WIRE_JIT_UNMAPPED, 11, &stats);
	assert_int_equal(stats.added, 1);
	assert_int_equal(stats.untold, 1);
	assert_int_equal(stats.bytes, 0);
}

/* By what is added nothing ends. */
static void test_lost_add(void **state)
{
	struct seam_jit_stats stats;

	(void)state;
	lose(SEAM_WIRE_JIT_ADD, 11, &stats);
	assert_int_equal(stats.added, 1);
	assert_int_equal(stats.untold, 0);
	lose(SEAM_WIRE_JIT_LISTED, 11, &stats);
	assert_int_equal(stats.added, 1);
	assert_int_equal(stats.untold, 0);
}

/* Nor by what was lost before it was there. */
static void test_lost_before(void **state)
{
	struct seam_jit_stats stats;

	(void)state;
	lose(SEAM_WIRE_JIT_UNMAPPED, 9, &stats);
	assert_int_equal(stats.added, 1);
	assert_int_equal(stats.untold, 0);
	assert_int_not_equal(stats.bytes, 0);
}

/* A process with our memory. */
static pid_t twin(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end_twin(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Whose word was lost is believed no more, and no other. */
static void test_lost_of_one(void **state)
{
	struct seam_jit_stats stats;
	pid_t pid = twin();
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(say(w.worker, SEAM_WIRE_JIT_ADD, 10), 0);
	assert_int_equal(say_of(w.worker, pid, SEAM_WIRE_JIT_ADD, 10), 0);
	sem_wait(&begun);
	fill(w.worker);
	assert_int_equal(say_of(w.worker, pid, SEAM_WIRE_JIT_UNMAPPED, 11),
			 -ENOBUFS);
	sem_post(&go_on);
	sem_wait(&begun);
	sem_post(&go_on);
	end(&w, &stats);
	end_twin(pid);
	assert_int_equal(stats.added, 2);
	assert_int_equal(stats.untold, 1);
}

/* Of what is lost unread nobody knows whose it was; but it was said behind all
 * that waits. */
static void test_lost_behind(void **state)
{
	struct seam_jit_stats stats;
	pid_t pids[] = {getpid(), twin(), twin()};
	struct world w;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			say_of(w.worker, pids[i], SEAM_WIRE_JIT_ADD, 10), 0);
	sem_wait(&begun);
	seam_worker_untold(w.worker, 11);
	for (size_t i = 1; i < 3; i++) {
		sem_post(&go_on);
		sem_wait(&begun);
	}
	sem_post(&go_on);
	end(&w, &stats);
	end_twin(pids[1]);
	end_twin(pids[2]);
	assert_int_equal(stats.added, 3);
	assert_int_equal(stats.untold, 3);
	assert_int_equal(stats.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_unmap),
		cmocka_unit_test(test_lost_add),
		cmocka_unit_test(test_lost_before),
		cmocka_unit_test(test_lost_of_one),
		cmocka_unit_test(test_lost_behind),
	};

	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	made.section = made_section(
		(int64_t)offsetof(__typeof__(made), code) -
			(int64_t)offsetof(__typeof__(made), section),
		sizeof(made.code), 16);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
