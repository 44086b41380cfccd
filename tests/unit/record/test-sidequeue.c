// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: when records about processes are written, and stamped behind
 * which samples: an EXIT waits for those that come late. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/sidequeue.h"

#define MS 1000000ULL
#define TID 7

/* As they come, with the fields of sample_id that SEAM_PD_SAMPLE_TYPE has. */
struct exit_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t at_ns;
	uint32_t id_pid, id_tid;
	uint64_t time_ns, cpu, id;
};

struct written {
	uint32_t type, tid;
	uint64_t time_ns;
};

static struct {
	struct seam_sidequeue q;
	uint64_t tail_ns; /* where TID's exit ended, as far as is known */
	struct written out[16];
	size_t n;
	int fail;
} t;

static uint64_t tail_of(void *ctx, uint32_t tid, uint64_t time_ns, bool exits)
{
	(void)exits;
	assert_ptr_equal(ctx, &t);
	return tid == TID && time_ns <= t.tail_ns ? t.tail_ns : 0;
}

static int keep(void *ctx, const struct perf_event_header *h)
{
	const struct exit_record *r = (const void *)h;
	uint32_t tid = h->type == PERF_RECORD_COMM ? r->ppid : r->tid;

	assert_ptr_equal(ctx, &t);
	assert_int_equal(h->size, sizeof(*r));
	t.out[t.n++] = (struct written){h->type, tid, r->time_ns};
	return t.fail;
}

static const struct seam_sidequeue_ops ops = {tail_of, keep, &t};

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seam_sidequeue_fini(&t.q);
	return 0;
}

static void add(uint32_t type, uint32_t tid, uint64_t time_ns)
{
	struct exit_record r = {
		.header = {type, 0, sizeof(r)},
		.pid = tid,
		.ppid = tid,
		.tid = tid,
		.time_ns = time_ns,
	};

	assert_int_equal(seam_sidequeue_add(&t.q, &r.header), 0);
}

static void turn(uint64_t now_ns)
{
	assert_int_equal(seam_sidequeue_turn(&t.q, now_ns, &ops), 0);
}

static void check_out(const struct written *want, size_t n)
{
	assert_int_equal(t.n, n);
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(&t.out[i], &want[i], sizeof(want[i]));
}

static void one_reading(void **state)
{
	static const struct written want[] = {
		{PERF_RECORD_FORK, 1, 1 * MS},
		{PERF_RECORD_FORK, 2, 2 * MS},
		{PERF_RECORD_FORK, 3, 3 * MS},
	};

	(void)state;
	add(PERF_RECORD_FORK, 1, 1 * MS);
	turn(1 * MS);
	check_out(want, 0);
	add(PERF_RECORD_FORK, 2, 2 * MS);
	turn(2 * MS);
	check_out(want, 1);
	add(PERF_RECORD_FORK, 3, 3 * MS);
	assert_int_equal(seam_sidequeue_end(&t.q, &ops), 0);
	check_out(want, 3);
	assert_int_equal(t.q.used, 0);
}

/* A task that was not let run is sampled in its exit readings later. */
static void late_exit(void **state)
{
	static const struct written want[] = {
		{PERF_RECORD_FORK, 2, 12 * MS},
		{PERF_RECORD_EXIT, TID, 150 * MS + 2},
		{PERF_RECORD_EXIT, 2, 13 * MS},
	};

	(void)state;
	add(PERF_RECORD_EXIT, TID, 10 * MS);
	add(PERF_RECORD_FORK, 2, 12 * MS);
	add(PERF_RECORD_EXIT, 2, 13 * MS);
	t.tail_ns = 11 * MS;
	turn(20 * MS);
	turn(30 * MS);
	turn(140 * MS);
	check_out(want, 1);
	t.tail_ns = 150 * MS;
	turn(209 * MS);
	check_out(want, 1);
	turn(210 * MS);
	check_out(want, 2);
	turn(213 * MS);
	check_out(want, 3);
	assert_int_equal(t.q.used, 0);
}

/* An exec gives the tid to another thread: what is said of it then stays
 * behind the EXIT of the first. */
static void exec(void **state)
{
	static const struct written want[] = {
		{PERF_RECORD_COMM, 2, 14 * MS},
		{PERF_RECORD_EXIT, TID, 150 * MS + 2},
		{PERF_RECORD_COMM, TID, 150 * MS + 2},
		{PERF_RECORD_EXIT, TID, 190 * MS},
		{PERF_RECORD_COMM, TID, 195 * MS},
	};

	(void)state;
	add(PERF_RECORD_EXIT, TID, 10 * MS);
	add(PERF_RECORD_COMM, TID, 11 * MS);
	add(PERF_RECORD_COMM, 2, 14 * MS);
	t.tail_ns = 12 * MS;
	turn(20 * MS);
	turn(30 * MS);
	check_out(want, 1);
	add(PERF_RECORD_EXIT, TID, 190 * MS);
	add(PERF_RECORD_COMM, TID, 195 * MS);
	turn(200 * MS);
	t.tail_ns = 150 * MS;
	turn(210 * MS);
	check_out(want, 3);
	turn(400 * MS);
	check_out(want, 5);
}

/* Nor does it wait for ever: not at the end, nor for a clock that jumped. */
static void end(void **state)
{
	static const struct written want[] = {
		{PERF_RECORD_EXIT, TID, 11 * MS + 2},
		{PERF_RECORD_EXIT, 3, 900 * MS},
	};

	(void)state;
	add(PERF_RECORD_EXIT, TID, 10 * MS);
	add(PERF_RECORD_EXIT, 3, 900 * MS);
	turn(20 * MS);
	turn(21 * MS);
	check_out(want, 0);
	t.tail_ns = 11 * MS;
	assert_int_equal(seam_sidequeue_end(&t.q, &ops), 0);
	check_out(want, 2);
}

/* The first error is told, and what follows is written all the same. */
static void failing(void **state)
{
	(void)state;
	add(PERF_RECORD_FORK, 1, 1 * MS);
	add(PERF_RECORD_FORK, 2, 2 * MS);
	t.fail = -ENOSPC;
	turn(3 * MS);
	assert_int_equal(seam_sidequeue_turn(&t.q, 4 * MS, &ops), -ENOSPC);
	assert_int_equal(t.n, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_reading), CASE(late_exit), CASE(exec),
		CASE(end),	   CASE(failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
