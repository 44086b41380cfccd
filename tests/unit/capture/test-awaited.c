// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: each cookie that a client was told has its stack told, once,
 * and if nobody takes it, that it is lost: when that is sure, with what its
 * samples knew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/awaited.h"
#include "core/err.h"

#define SECOND 1000000000ULL
/* Above the kernel's limit: nobody has it. */
#define TID 0x7fff0000

static struct {
	struct seam_awaited a;
	struct seam_user_stack lost[8];
	uint64_t ips[8];
	size_t n;
} t;

static void keep(void *ctx, const struct seam_user_stack *stack)
{
	assert_ptr_equal(ctx, &t);
	assert_in_range(t.n, 0, 7);
	assert_int_equal(stack->end, SEAM_LOST);
	t.ips[t.n] = stack->n_ips ? stack->ips[0] : 0;
	t.lost[t.n++] = *stack;
}

static void sample(uint32_t tid, uint64_t cookie, uint64_t time_ns)
{
	const struct seam_sample s = {.pid = 7,
				      .tid = tid,
				      .stack_tid = tid,
				      .cookie = cookie,
				      .time_ns = time_ns};

	assert_int_equal(seam_awaited_sample(&t.a, &s), 0);
}

static void stack(uint32_t tid, uint64_t cookie, uint64_t time_ns,
		  bool by_library)
{
	const struct seam_user_stack s = {.tid = tid,
					  .cookie = cookie,
					  .time_ns = time_ns,
					  .by_library = by_library};

	assert_int_equal(seam_awaited_stack(&t.a, &s), 0);
}

/* How often /proc was asked. */
static size_t n_asked;

bool __real_seam_task_gone(uint32_t tid);
bool __wrap_seam_task_gone(uint32_t tid);
bool __wrap_seam_task_gone(uint32_t tid)
{
	n_asked++;
	return tid < TID + 1000 ? __real_seam_task_gone(tid) : false;
}

static void sweep(uint64_t now_ns)
{
	seam_awaited_sweep(&t.a, now_ns, keep, &t);
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seam_awaited_fini(&t.a);
	return 0;
}

static void came(void **state)
{
	(void)state;
	sample(TID, 1, 100);
	stack(TID, 1, 110, false);
	sample(TID, 1, 120); /* of an exec's tail */
	stack(TID, 2, 200, false); /* before its sample */
	sample(TID, 2, 210);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 0);
}

/* Its sample is behind it, though who interrupted its being taken has sent one:
 * and who interrupts then is in the next entry. */
static void came_amid_others(void **state)
{
	(void)state;
	t.a.at_once = true;
	sample(TID, 1, 99);
	stack(TID, 1, 100, false);
	stack(TID, 2, 120, false);
	sample(TID, 2, 110);
	assert_int_equal(t.a.over.used, 1);
	sample(TID, 1, 90);
	sweep(121 + SECOND);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 0);
}

/* It was taken at the event, and who interrupts before its sample is sent has
 * a stack, too. After a while none comes. */
static void came_before_its_sample(void **state)
{
	(void)state;
	stack(TID, 1, 100, false);
	stack(TID, 2, 120, false);
	sample(TID, 2, 110);
	assert_int_equal(t.a.over.used, 1);
	sample(TID, 1, 90);
	stack(TID, 3, 200 + SECOND, false);
	assert_int_equal(t.a.over.used, 1);
	stack(TID, 4, 300 + SECOND, false);
	sample(TID, 4, 290 + SECOND);
	assert_int_equal(t.a.over.used, 2);
	/* Who reads late finds them old, and has not read what comes next. */
	sweep(200 + SECOND);
	assert_int_equal(t.a.over.used, 2);
	sweep(200 + 2 * SECOND);
	assert_int_equal(t.a.over.used, 1);
	sweep(201 + 3 * SECOND);
	assert_int_equal(t.a.over.used, 0);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 0);
}

/* The library's comes when the task is in its next entry. */
static void came_late(void **state)
{
	(void)state;
	sample(TID, 1, 100);
	sample(TID, 2, 200);
	sample(TID, 1, 101); /* of another CPU */
	stack(TID, 1, 102, true);
	stack(TID, 2, 210, true);
	stack(TID, 3, 300, true); /* nobody's */
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 0);
}

static void exit_stack(uint32_t tid, uint64_t cookie, uint64_t time_ns,
		       bool by_library)
{
	const struct seam_user_stack s = {.tid = tid,
					  .cookie = cookie,
					  .time_ns = time_ns,
					  .at_exit = true,
					  .by_library = by_library};

	assert_int_equal(seam_awaited_stack(&t.a, &s), 0);
}

/* The last samples of an exit come when the thread has another's tid, by an
 * exec, which has entries of its own under the old one. */
static void came_before(void **state)
{
	(void)state;
	sample(TID, 1, 100);
	exit_stack(TID, 1, 110, false);
	sample(TID, 2, 200);
	sample(TID, 1, 120);
	stack(TID, 2, 210, false);
	sample(TID, 3, 300);
	sample(TID, 4, 400);
	exit_stack(TID, 3, 310, true);
	sample(TID, 3, 320);
	stack(TID, 4, 410, false);
	assert_int_equal(t.a.over.used, 2);
	sweep(10 * SECOND);
	assert_int_equal(t.a.over.used, 2);
	sweep(12 * SECOND);
	assert_int_equal(t.a.over.used, 0);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 0);
}

/* And when the library was late with the stack, and nobody had asked. */
static void came_cold(void **state)
{
	(void)state;
	exit_stack(TID, 1, 110, true);
	sample(TID, 2, 200);
	exit_stack(TID, 3, 120, true);
	stack(TID, 2, 210, false);
	sample(TID, 2, 205);
	sample(TID, 1, 130);
	sample(TID, 3, 140);
	assert_int_equal(t.a.over.used, 2);
	sweep(SECOND);
	sweep(12 * SECOND);
	assert_int_equal(t.a.over.used, 0);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 0);
}

static void over_and_lost(void **state)
{
	(void)state;
	sample(TID, 1, 100);
	sample(TID, 2, 200);
	stack(TID, 2, 210, false);
	sweep(100 + 30 * SECOND);
	assert_int_equal(t.n, 0);
	sweep(100 + 31 * SECOND);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.lost[0].cookie, 1);
	assert_int_equal(t.lost[0].pid, 7);
	assert_int_equal(t.lost[0].tid, TID);
	assert_int_equal(t.lost[0].time_ns, 100);
	assert_int_equal(t.lost[0].n_ips, 0);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 1);
}

/* A stack that was taken as its task went to sleep, by whose tid it is still
 * there when the sample comes; or not, where nobody has the tid. */
static void taken_asleep(void **state)
{
	const struct seam_user_stack here = {.tid = (uint32_t)getpid(),
					     .cookie = 1,
					     .time_ns = 100,
					     .by_library = true,
					     .asleep = true};
	struct seam_user_stack gone = here;

	(void)state;
	gone.tid = TID;
	gone.cookie = 2;
	assert_int_equal(seam_awaited_stack(&t.a, &here), 0);
	assert_int_equal(seam_awaited_stack(&t.a, &gone), 0);
	sweep(100 * SECOND);
	assert_int_equal(t.a.tasks.used, 1);
	/* Who comes on the way to sleep has an entry of its own. */
	stack((uint32_t)getpid(), 3, 101, false);
	sample((uint32_t)getpid(), 3, 101);
	sweep(200 * SECOND);
	assert_int_equal(t.a.over.used, 1);
	sample((uint32_t)getpid(), 1, 200 * SECOND);
	sweep(300 * SECOND);
	assert_int_equal(t.a.over.used, 0);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 0);
}

/* And who interrupted its being taken has sent a sample before. */
static void taken_asleep_amid_others(void **state)
{
	const struct seam_user_stack asleep = {.tid = (uint32_t)getpid(),
					       .cookie = 1,
					       .time_ns = 100,
					       .asleep = true};

	(void)state;
	t.a.at_once = true;
	sample(asleep.tid, 1, 99);
	assert_int_equal(seam_awaited_stack(&t.a, &asleep), 0);
	sweep(100 * SECOND);
	sweep(101 * SECOND);
	sample(asleep.tid, 1, 102 * SECOND);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 0);
}

/* The library's is behind the sample that it was taken for, and none is waited
 * for; if that comes yet, it is told that its stack is lost. */
static void late_at_once(void **state)
{
	(void)state;
	t.a.at_once = true;
	sample(TID, 1, 99);
	sample(TID, 2, 150);
	stack(TID, 1, 110, true);
	assert_int_equal(t.a.over.used, 0);
	stack(TID, 2, 151, false);
	sample(TID, 1, 90);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.lost[0].cookie, 1);
}

/* Who comes when the stack is known to be lost is told, too. */
static void lost_and_late(void **state)
{
	const struct seam_user_stack none = {
		.tid = TID, .cookie = 1, .time_ns = 110, .end = SEAM_LOST};

	(void)state;
	sample(TID, 1, 100);
	assert_int_equal(seam_awaited_stack(&t.a, &none), 0);
	sample(TID, 1, 120);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.lost[0].cookie, 1);
}

/* A task may sleep in an entry for long; one that is gone does not. */
static void asleep(void **state)
{
	const uint32_t own = (uint32_t)getpid();

	(void)state;
	sample(own, 1, 100);
	sample(TID, 2, 100);
	sweep(3600 * SECOND);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.lost[0].cookie, 2);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.lost[1].cookie, 1);
	assert_int_equal(t.a.tasks.used, 0);
}

#define SLEEPERS 1000 /* which all live, by their numbers */
#define AN_HOUR 3600

/* Many sleep for an hour: of few /proc is asked at a time, of each now and
 * then, and of who is gone in the end. */
static void many_asleep(void **state)
{
	size_t most = 0;

	(void)state;
	for (uint32_t i = 0; i < SLEEPERS; i++)
		sample(TID + 1000 + i, 1 + i, 100);
	sample(TID, 5000, 100);
	n_asked = 0;
	for (uint64_t i = 1; i < AN_HOUR; i++) {
		size_t before = n_asked;

		sweep(i * SECOND);
		if (n_asked - before > most)
			most = n_asked - before;
	}
	assert_in_range(most, 1, 64);
	/* 30 s, 60 s ... 3600 s */
	assert_in_range(n_asked, SLEEPERS, 8 * SLEEPERS);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.lost[0].cookie, 5000);
	seam_awaited_fini(&t.a);
}

/* Where a task had left user space, its own samples know. */
static void leaf(void **state)
{
	struct seam_sample s = {
		.tid = TID, .stack_tid = TID, .cookie = 1, .ip = 0x1234};

	(void)state;
	seam_awaited_sample(&t.a, &s); /* in the kernel */
	s.user = true;
	s.ip = 0x5678;
	seam_awaited_sample(&t.a, &s);
	seam_awaited_end(&t.a, keep, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.lost[0].n_ips, 1);
	assert_int_equal(t.ips[0], 0x5678);
}

static void forgotten(void **state)
{
	(void)state;
	sample(TID, 1, 100);
	stack(TID, 1, 110, false);
	sweep(10 * SECOND);
	assert_int_equal(t.a.tasks.used, 1);
	sweep(12 * SECOND);
	assert_int_equal(t.a.tasks.used, 0);
	assert_int_equal(t.n, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(came),
		CASE(came_before_its_sample),
		CASE(came_amid_others),
		CASE(came_late),
		CASE(came_before),
		CASE(came_cold),
		CASE(over_and_lost),
		CASE(taken_asleep),
		CASE(taken_asleep_amid_others),
		CASE(late_at_once),
		CASE(lost_and_late),
		CASE(asleep),
		CASE(leaf),
		CASE(forgotten),
		CASE(many_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
