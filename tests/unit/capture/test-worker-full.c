// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what a process says of its code may come when the worker has no
 * room for it. Then what it said before is not believed any more. */
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

static int say(struct seam_worker *worker, enum seam_wire_jit_what what,
	       uint64_t time_ns)
{
	struct seam_wire_jit jit = {
		.head = {.type = SEAM_WIRE_JIT,
			 .pid = (uint32_t)getpid(),
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

/* Code is added at 10, and something else lost. */
static void lose(enum seam_wire_jit_what what, uint64_t time_ns,
		 struct seam_jit_stats *ret)
{
	struct seam_images images = {0};
	struct seam_processes ps = {.images = &images};
	struct seam_worker_stats stats;
	struct seam_worker *worker;

	assert_int_equal(
		seam_worker_start(&ps, NULL, SEAM_UNWIND_TABLES, 16, &worker),
		0);
	assert_int_equal(say(worker, SEAM_WIRE_JIT_ADD, 10), 0);
	sem_wait(&begun);
	fill(worker);
	assert_int_equal(say(worker, what, time_ns), -ENOBUFS);
	sem_post(&go_on);
	seam_worker_wait(worker);
	seam_worker_stats(worker, &stats);
	*ret = stats.made;
	seam_worker_stop(worker);
	seam_processes_fini(&ps);
	seam_images_fini(&images);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_unmap),
		cmocka_unit_test(test_lost_add),
		cmocka_unit_test(test_lost_before),
	};

	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	made.section = made_section(
		(int64_t)offsetof(__typeof__(made), code) -
			(int64_t)offsetof(__typeof__(made), section),
		sizeof(made.code), 16);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
