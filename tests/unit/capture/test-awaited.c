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
#define TID 0x7ffffff0

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
		CASE(came),   CASE(came_late), CASE(over_and_lost),
		CASE(asleep), CASE(leaf),      CASE(forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
