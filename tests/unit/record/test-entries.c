// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: samples and user stacks are joined by cookie: when each stack
 * is written, and what becomes of each sample. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/entries.h"

#define SECOND 1000000000ULL
/* Above the kernel's limit: nobody has it. */
#define TID 0x7ffffff0
#define FIRST 0x7fffffe0 /* the first thread of its process */

struct written {
	uint64_t time_ns, cookie, n_ips, flags, end;
	uint64_t tid;
};

static struct {
	struct seam_entries es;
	struct seam_summary sum;
	struct written out[16];
	size_t n;
	int fail;
} t;

static int keep(void *ctx, const struct seam_pd_stack *stack)
{
	assert_ptr_equal(ctx, &t);
	assert_int_equal(stack->id.id, 42);
	assert_true(t.n < sizeof(t.out) / sizeof(t.out[0]));
	if (stack->n_ips)
		assert_int_equal(stack->ips[stack->n_ips - 1], stack->cookie);
	t.out[t.n++] = (struct written){stack->id.time_ns,    stack->cookie,
					stack->n_ips,	      stack->flags,
					(uint64_t)stack->end, stack->id.tid};
	return t.fail;
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.es.sum = &t.sum;
	t.es.id = 42;
	t.es.write = keep;
	t.es.ctx = &t;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seam_entries_fini(&t.es);
	return 0;
}

static void sample_under(uint32_t tid, uint32_t stack_tid, uint64_t cookie,
			 uint64_t time_ns, uint64_t tail_ns)
{
	struct seam_sample s = {.tid = tid,
				.stack_tid = stack_tid,
				.cookie = cookie,
				.time_ns = time_ns,
				.max_frames = SEAM_CLIENT_MAX_FRAMES,
				.tail_ns = tail_ns};

	assert_int_equal(seam_entries_sample(&t.es, &s), 0);
}

static void sample(uint32_t tid, uint64_t cookie, uint64_t time_ns,
		   uint64_t tail_ns)
{
	sample_under(tid, tid, cookie, time_ns, tail_ns);
}

enum kind { PLAIN, LIBRARY, EXEC, EXIT, PENDING, LOST, ASLEEP };

/* A stack of n frames; the last one is the cookie. */
static void stack_under(uint32_t tid, uint64_t cookie, uint64_t time_ns,
			size_t n, enum kind kind)
{
	uint64_t ips[8] = {0};
	struct seam_user_stack s = {
		.tid = tid,
		.cookie = cookie,
		.time_ns = time_ns,
		.end = kind == PENDING ? SEAM_PENDING
		       : kind == LOST  ? SEAM_LOST
				       : SEAM_OUTERMOST,
		.by_library = kind == LIBRARY || kind == ASLEEP,
		.asleep = kind == ASLEEP,
		.before_exec = kind == EXEC,
		.at_exit = kind == EXIT,
		.ips = ips,
		.n_ips = n,
	};

	if (n)
		ips[n - 1] = cookie;
	seam_entries_stack(&t.es, &s);
}

static void stack(uint64_t cookie, uint64_t time_ns, size_t n, enum kind kind)
{
	stack_under(TID, cookie, time_ns, n, kind);
}

static void check_out(const struct written *want, size_t n)
{
	assert_int_equal(t.n, n);
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(&t.out[i], &want[i], sizeof(want[i]));
}

static void check_counts(uint64_t whole, uint64_t lost, uint64_t pending,
			 uint64_t unused)
{
	assert_int_equal(t.sum.end[SEAM_OUTERMOST], whole);
	assert_int_equal(t.sum.end[SEAM_LOST], lost);
	assert_int_equal(t.sum.end[SEAM_PENDING], pending);
	assert_int_equal(t.sum.unused, unused);
	assert_int_equal(t.es.err, 0);
}

/* Held until the next entry begins, stamped behind its last sample. */
static void one_stack_for_all(void **state)
{
	const struct written want[] = {{121, 1, 3, 0, SEAM_OUTERMOST, TID},
				       {211, 2, 2, 0, SEAM_OUTERMOST, TID}};

	(void)state;
	sample(TID, 1, 100, 0);
	stack(1, 110, 3, PLAIN);
	sample(TID, 1, 120, 0);
	assert_int_equal(t.n, 0);
	sample(TID, 2, 200, 0);
	check_out(want, 1);
	stack(2, 210, 2, PLAIN);
	stack(2, 215, 7, PLAIN); /* the first is the one */
	seam_entries_end(&t.es);
	check_out(want, 2);
	check_counts(3, 0, 0, 0);
	assert_int_equal(t.sum.stacks, 2);
	assert_int_equal(t.sum.max_served, 2);
}

static bool has(uint64_t cookie, uint64_t time_ns)
{
	struct seam_sample s = {
		.stack_tid = TID, .cookie = cookie, .time_ns = time_ns};

	return seam_entries_has(&t.es, &s);
}

/* A sample that interrupts another is taken later, but comes first: the stack
 * is stamped behind both, and the entry begins with the other. */
static void interrupted(void **state)
{
	const struct written want[] = {{131, 1, 3, 0, SEAM_OUTERMOST, TID},
				       {211, 2, 2, 0, SEAM_OUTERMOST, TID}};

	(void)state;
	assert_false(has(1, 130));
	sample(TID, 1, 130, 0);
	assert_true(has(1, 130));
	assert_false(has(1, 100));
	sample(TID, 1, 100, 0);
	assert_true(has(1, 100));
	assert_true(has(1, 110));
	stack(1, 120, 3, PLAIN);
	assert_true(has(1, 140));
	assert_false(has(2, 140));
	sample(TID, 2, 200, 0);
	assert_false(has(1, 140));
	stack(2, 210, 2, PLAIN);
	seam_entries_end(&t.es);
	check_out(want, 2);
	check_counts(3, 0, 0, 0);
}

static void unwanted(void **state)
{
	(void)state;
	stack(1, 100, 3, PLAIN);
	sample(TID, 2, 200, 0);
	stack(9, 201, 3, LIBRARY); /* of an entry that nobody told of */
	stack(2, 200, 0, LOST);
	seam_entries_end(&t.es);
	check_out(NULL, 0);
	check_counts(0, 1, 0, 2);
	assert_int_equal(t.sum.stacks, 0);
}

/* The library's stack comes when the task is in its next entry. */
static void orphans(void **state)
{
	const struct written want[] = {{111, 1, 2, 0, SEAM_OUTERMOST, TID}};

	(void)state;
	sample(TID, 1, 100, 0);
	sample(TID, 1, 101, 0);
	sample(TID, 1, 102, 0);
	assert_false(seam_entries_await(&t.es));
	sample(TID, 2, 200, 0);
	assert_true(seam_entries_await(&t.es));
	stack(1, 110, 2, LIBRARY);
	check_out(want, 1);
	assert_false(seam_entries_await(&t.es));
	check_counts(3, 0, 0, 0);
	assert_int_equal(t.sum.max_served, 3);
	stack(2, 200, 0, LOST);
	seam_entries_end(&t.es);
	check_counts(3, 1, 0, 0);
}

/* The session says which stacks are lost, and nobody else. */
static void lost_orphans(void **state)
{
	(void)state;
	sample(TID, 1, 100, 0);
	sample(TID, 2, 200, 0);
	stack(2, 210, 2, PLAIN);
	seam_entries_settle(&t.es, 3600 * SECOND);
	assert_true(seam_entries_await(&t.es));
	check_counts(1, 0, 0, 0);
	stack(1, 100, 0, LOST);
	assert_false(seam_entries_await(&t.es));
	check_counts(1, 1, 0, 0);
	stack(1, 110, 2, LIBRARY); /* too late */
	check_counts(1, 1, 0, 1);
}

/* What is quiet is written before a flush, and once more for a late sample. */
static void settled(void **state)
{
	const struct written want[] = {
		{111, 1, 2, 0, SEAM_OUTERMOST, TID},
		{SECOND + 1, 1, 2, 0, SEAM_OUTERMOST, TID}};

	(void)state;
	sample(TID, 1, 100, 0);
	stack(1, 110, 2, PLAIN);
	seam_entries_settle(&t.es, 110 + SECOND / 10);
	check_out(want, 0);
	seam_entries_settle(&t.es, 111 + SECOND / 10);
	check_out(want, 1);
	seam_entries_settle(&t.es, SECOND);
	check_out(want, 1);
	sample(TID, 1, SECOND, 0);
	seam_entries_settle(&t.es, 2 * SECOND);
	check_out(want, 2);
	/* Forgotten with its fate counted, once. */
	seam_entries_settle(&t.es, SECOND + 20 * SECOND);
	assert_int_equal(t.es.tasks.used, 1);
	seam_entries_settle(&t.es, SECOND + 20 * SECOND + 1);
	assert_int_equal(t.es.tasks.used, 0);
	check_out(want, 2);
	check_counts(2, 0, 0, 0);
	assert_int_equal(t.sum.stacks, 1);
}

/* What waits is not forgotten before its fate is known, and then once. */
static void waiting(void **state)
{
	(void)state;
	sample(TID, 1, 100, 0);
	sample(TID, 1, 101, 0);
	seam_entries_settle(&t.es, 3600 * SECOND);
	assert_int_equal(t.es.tasks.used, 1);
	stack(2, 101, 0, LOST); /* of nobody's */
	check_counts(0, 0, 0, 0);
	stack(1, 101, 0, LOST);
	stack(1, 101, 0, LOST);
	check_counts(0, 2, 0, 0);
	seam_entries_settle(&t.es, 3600 * SECOND);
	assert_int_equal(t.es.tasks.used, 0);
	seam_entries_end(&t.es);
	check_counts(0, 2, 0, 0);
	check_out(NULL, 0);
}

/* Memory that is asked for nothing is not kept, and not freed twice. */
static void without_frames(void **state)
{
	static const struct written want[] = {
		{0, 1, 0, 0, SEAM_PENDING, TID},
		{0, 2, 0, 0, SEAM_PENDING, TID},
		{0, 3, 1, 0, SEAM_OUTERMOST, TID},
	};

	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		sample(TID, i, 100 * i + 10, 0);
		stack(i, 100 * i + 20, i / 3, i < 3 ? PENDING : PLAIN);
	}
	seam_entries_end(&t.es);
	assert_int_equal(t.es.err, 0);
	for (size_t i = 0; i < t.n; i++)
		t.out[i].time_ns = 0;
	check_out(want, 3);
}

/* A task that has yet to take its stack, and one that does so just then. */
static void pending(void **state)
{
	const struct written asleep[] = {{101, 1, 1, 0, SEAM_PENDING, TID}};
	const struct written woken[] = {{301, 3, 2, 0, SEAM_OUTERMOST, TID}};

	(void)state;
	sample(TID, 1, 100, 0);
	stack(1, 100, 1, PENDING);
	seam_entries_end(&t.es);
	check_out(asleep, 1);
	check_counts(0, 0, 1, 0);
	assert_int_equal(t.sum.stacks, 0);
	t.n = 0;
	sample(TID, 3, 300, 0);
	stack(3, 300, 1, PENDING);
	stack(3, 300, 2, PLAIN);
	seam_entries_end(&t.es);
	check_out(woken, 1);
	check_counts(1, 0, 1, 0);
	assert_int_equal(t.sum.stacks, 1);
}

/* Kernel records of an exec belong behind all samples that come in it. */
static void tails(void **state)
{
	(void)state;
	sample(TID, 1, 100, 0);
	stack(1, 110, 2, EXEC);
	assert_int_equal(seam_entries_tail(&t.es, TID, 115, false), 0);
	sample(TID, 1, 130, 110);
	sample(TID, 1, 140, 110);
	assert_int_equal(seam_entries_tail(&t.es, TID, 109, false), 0);
	assert_int_equal(seam_entries_tail(&t.es, TID, 110, false), 140);
	assert_int_equal(seam_entries_tail(&t.es, TID, 140, false), 140);
	assert_int_equal(seam_entries_tail(&t.es, TID, 141, false), 0);
	assert_int_equal(seam_entries_tail(&t.es, TID + 1, 115, false), 0);
	/* The sample says it before the stack of a cold program comes. */
	sample(TID, 2, 200, 0);
	sample(TID, 2, 220, 205);
	assert_int_equal(seam_entries_tail(&t.es, TID, 210, false), 220);
	/* What the task mapped before stays before, sampled since or not. */
	assert_int_equal(seam_entries_tail(&t.es, TID, 203, false), 0);
	stack(2, 205, 2, EXIT);
	assert_int_equal(seam_entries_tail(&t.es, TID, 210, false), 220);
	assert_int_equal(seam_entries_tail(&t.es, TID, 120, false), 140);
	seam_entries_end(&t.es);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.out[0].time_ns, 141);
	assert_int_equal(t.out[0].flags, SEAM_PD_STACK_EXEC);
	assert_int_equal(t.out[1].time_ns, 221);
	assert_int_equal(t.out[1].flags, 0);
	check_counts(5, 0, 0, 0);
}

/* A thread's exec goes on under the tid of its process's first thread, whose
 * exit ends under the thread's. */
static void renamed(void **state)
{
	const struct written want[] = {
		{101, 1, 2, 0, SEAM_OUTERMOST, FIRST},
		{126, 1, 2, SEAM_PD_STACK_EXEC, SEAM_OUTERMOST, TID},
		{121, 2, 3, SEAM_PD_STACK_EXEC, SEAM_OUTERMOST, TID},
		{141, 2, 3, SEAM_PD_STACK_EXEC, SEAM_OUTERMOST, FIRST},
	};

	(void)state;
	stack_under(FIRST, 1, 90, 2, EXIT);
	sample(FIRST, 1, 100, 90);
	sample(TID, 2, 110, 0);
	stack(2, 115, 3, EXEC);
	sample(TID, 2, 120, 115);
	sample_under(TID, FIRST, 1, 125, 90);
	sample_under(FIRST, TID, 2, 130, 115);
	sample_under(FIRST, TID, 2, 140, 115);
	check_out(want, 0);
	assert_int_equal(seam_entries_tail(&t.es, FIRST, 114, false), 0);
	assert_int_equal(seam_entries_tail(&t.es, FIRST, 119, true), 140);
	assert_int_equal(seam_entries_tail(&t.es, FIRST, 141, true), 0);
	assert_int_equal(seam_entries_tail(&t.es, FIRST, 125, false), 140);
	assert_int_equal(seam_entries_tail(&t.es, TID, 116, false), 125);
	sample(FIRST, 3, 200, 0);
	check_out(want, 2);
	stack_under(FIRST, 3, 200, 0, LOST);
	seam_entries_end(&t.es);
	check_out(want, 4);
	check_counts(6, 1, 0, 0);
	assert_int_equal(t.sum.stacks, 2);
}

/* The library's stack comes when the next program runs. */
static void renamed_orphans(void **state)
{
	const struct written want[] = {
		{131, 2, 3, SEAM_PD_STACK_EXEC, SEAM_OUTERMOST, FIRST},
	};

	(void)state;
	sample_under(FIRST, TID, 2, 120, 115);
	sample_under(FIRST, TID, 2, 130, 115);
	sample(FIRST, 3, 200, 0);
	sample(TID, 4, 210, 0);
	stack(2, 115, 3, LIBRARY);
	check_out(want, 1);
	stack_under(FIRST, 3, 200, 0, LOST);
	stack_under(TID, 4, 210, 0, LOST);
	seam_entries_end(&t.es);
	check_counts(2, 2, 0, 0);
}

/* The first thread's own entry is forgotten in the middle of an exec. */
static void renamed_forgotten(void **state)
{
	(void)state;
	sample(FIRST, 1, SECOND, 0);
	stack_under(FIRST, 1, SECOND + 10, 2, PLAIN);
	sample(TID, 2, 10 * SECOND, 9 * SECOND);
	stack_under(TID, 2, 10 * SECOND + 10, 2, EXEC);
	sample_under(FIRST, TID, 2, 10 * SECOND + 20, 9 * SECOND);
	seam_entries_settle(&t.es, 12 * SECOND);
	sample_under(FIRST, TID, 2, 12 * SECOND, 9 * SECOND);
	assert_int_equal(seam_entries_tail(&t.es, FIRST, 12 * SECOND, false),
			 12 * SECOND);
	seam_entries_end(&t.es);
}

/* A first thread's processor is taken away in its exit: its last samples come
 * when the thread that ended it has its tid, and entries of its own. */
static void late(void **state)
{
	const struct written want[] = {
		{101, 1, 2, 0, SEAM_OUTERMOST, FIRST},
		{101, 1, 2, 0, SEAM_OUTERMOST, FIRST},
		{151, 1, 2, SEAM_PD_STACK_EXEC, SEAM_OUTERMOST, TID},
		{211, 3, 2, 0, SEAM_OUTERMOST, FIRST},
	};
	struct seam_sample s = {.stack_tid = FIRST, .cookie = 1};

	(void)state;
	stack_under(FIRST, 1, 90, 2, EXIT);
	sample(FIRST, 1, 100, 90);
	sample(FIRST, 3, 200, 0);
	check_out(want, 1);
	s.time_ns = 99;
	assert_false(seam_entries_has(&t.es, &s));
	s.time_ns = 100;
	assert_true(seam_entries_has(&t.es, &s));
	sample_under(TID, FIRST, 1, 140, 90);
	sample_under(TID, FIRST, 1, 150, 90);
	assert_int_equal(seam_entries_tail(&t.es, TID, 120, false), 150);
	assert_false(seam_entries_await(&t.es));
	stack_under(FIRST, 1, 90, 3, EXIT); /* by another client, too */
	seam_entries_settle(&t.es, 150 + SECOND);
	check_out(want, 3);
	stack_under(FIRST, 3, 210, 2, PLAIN);
	seam_entries_end(&t.es);
	check_out(want, 4);
	check_counts(4, 0, 0, 0);
	assert_int_equal(t.sum.stacks, 2);
	assert_int_equal(t.sum.max_served, 3);
}

/* So they do when their stack has not come yet: once more in their turn. */
static void late_orphans(void **state)
{
	(void)state;
	sample(FIRST, 1, 100, 90);
	assert_int_equal(seam_entries_tail(&t.es, FIRST, 95, false), 100);
	sample(FIRST, 3, 200, 0);
	sample(FIRST, 1, 110, 90);
	assert_int_equal(seam_entries_tail(&t.es, FIRST, 95, false), 110);
	sample(FIRST, 3, 210, 0);
	assert_int_equal(seam_entries_tail(&t.es, FIRST, 205, false), 0);
	stack_under(FIRST, 3, 220, 2, PLAIN);
	stack_under(FIRST, 1, 90, 2, LIBRARY);
	assert_false(seam_entries_await(&t.es));
	sample_under(TID, FIRST, 1, 130, 90);
	seam_entries_end(&t.es);
	check_counts(5, 0, 0, 0);
	assert_int_equal(t.sum.stacks, 2);
}

/* That it is an exit's, only the stack says, which comes late. */
static void late_stack(void **state)
{
	(void)state;
	sample(FIRST, 1, 80, 0);
	sample(FIRST, 3, 200, 0);
	stack_under(FIRST, 3, 220, 2, PLAIN);
	stack_under(FIRST, 1, 90, 2, EXIT);
	sample_under(TID, FIRST, 1, 130, 90);
	assert_false(seam_entries_await(&t.es));
	seam_entries_end(&t.es);
	check_counts(3, 0, 0, 0);
	assert_int_equal(t.sum.stacks, 2);
}

/* One that nobody had asked for yet is no longer unused then; and what is
 * kept for such samples is forgotten, with its fate counted. */
static void late_first(void **state)
{
	(void)state;
	stack_under(FIRST, 1, 90, 2, EXIT);
	stack_under(FIRST, 2, 100, 2, EXIT);
	stack_under(FIRST, 3, 110, 2, PLAIN);
	sample_under(TID, FIRST, 1, 150, 90);
	assert_int_equal(t.es.told.used, 2);
	seam_entries_settle(&t.es, 150 + 20 * SECOND);
	assert_int_equal(t.es.told.used, 1);
	check_counts(0, 0, 0, 2);
	seam_entries_settle(&t.es, 151 + 20 * SECOND);
	assert_int_equal(t.es.told.used, 0);
	check_counts(1, 0, 0, 2);
	seam_entries_end(&t.es);
	check_counts(1, 0, 0, 2);
	assert_int_equal(t.n, 1);
}

/* Taken at the event, and sent before its sample: who interrupts that opens an
 * entry of its own, which comes first. */
static void interrupted_at_once(void **state)
{
	const struct written want[] = {{111, 1, 3, 0, SEAM_OUTERMOST, TID},
				       {141, 2, 2, 0, SEAM_OUTERMOST, TID}};

	(void)state;
	stack(1, 110, 3, PLAIN);
	stack(2, 130, 2, PLAIN);
	sample(TID, 2, 120, 0);
	sample(TID, 2, 140, 0);
	assert_true(t.es.told.used == 1 && !has(1, 100));
	sample(TID, 1, 100, 0);
	check_out(want, 1);
	seam_entries_settle(&t.es, 110 + SECOND);
	assert_int_equal(t.es.told.used, 1);
	seam_entries_settle(&t.es, 111 + SECOND);
	assert_int_equal(t.es.told.used, 0);
	seam_entries_end(&t.es);
	check_out(want, 2);
	check_counts(3, 0, 0, 0);
}

/* Taken as the task went to sleep, of a cold program; the sample comes when it
 * runs again. */
static void asleep(void **state)
{
	const struct written want[] = {
		{100 * SECOND + 1, 1, 3, 0, SEAM_OUTERMOST, TID},
		{202 * SECOND + 1, 3, 2, 0, SEAM_OUTERMOST, TID},
		{300 * SECOND + 1, 2, 2, 0, SEAM_OUTERMOST, TID}};

	(void)state;
	stack(1, 110, 3, ASLEEP);
	seam_entries_settle(&t.es, 100 * SECOND);
	sample(TID, 1, 100 * SECOND, 0);
	/* Who comes on the way to sleep has an entry of its own. */
	stack(2, 200 * SECOND, 2, ASLEEP);
	stack(3, 201 * SECOND, 2, PLAIN);
	sample(TID, 3, 202 * SECOND, 0);
	seam_entries_settle(&t.es, 300 * SECOND);
	check_out(want, 2);
	sample(TID, 2, 300 * SECOND, 0);
	check_out(want, 3);
	/* It is not kept for ever. */
	stack(4, 400 * SECOND, 2, ASLEEP);
	seam_entries_settle(&t.es, 4000 * SECOND);
	assert_int_equal(t.sum.unused, 0);
	seam_entries_settle(&t.es, 4001 * SECOND);
	assert_int_equal(t.sum.unused, 1);
	seam_entries_end(&t.es);
	check_counts(3, 0, 0, 1);
}

static void failing(void **state)
{
	(void)state;
	sample(TID, 1, 100, 0);
	stack(1, 110, 2, PLAIN);
	t.fail = -ENOSPC;
	sample(TID, 2, 200, 0);
	t.fail = -EIO;
	stack(2, 210, 2, PLAIN);
	seam_entries_end(&t.es);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.es.err, -ENOSPC);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Events that share a stack each show as much of it as they want. */
static void depths(void **state)
{
	struct seam_sample s = {.tid = TID,
				.stack_tid = TID,
				.cookie = 1,
				.time_ns = 100,
				.max_frames = 2};

	(void)state;
	seam_entries_sample(&t.es, &s);
	s.event = 15;
	s.max_frames = 3;
	s.time_ns++;
	seam_entries_sample(&t.es, &s);
	stack(1, 110, 3, PLAIN);
	s.time_ns = 120;
	seam_entries_sample(&t.es, &s);
	seam_entries_end(&t.es);
	assert_int_equal(t.sum.end[SEAM_MAX_STACK], 1);
	assert_int_equal(t.sum.max_served, 3);
	check_counts(2, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_stack_for_all),
		CASE(interrupted),
		CASE(unwanted),
		CASE(depths),
		CASE(orphans),
		CASE(lost_orphans),
		CASE(settled),
		CASE(waiting),
		CASE(without_frames),
		CASE(pending),
		CASE(tails),
		CASE(renamed),
		CASE(renamed_orphans),
		CASE(renamed_forgotten),
		CASE(late),
		CASE(late_orphans),
		CASE(late_stack),
		CASE(late_first),
		CASE(interrupted_at_once),
		CASE(asleep),
		CASE(failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
