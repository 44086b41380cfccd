// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: samples and user stacks are joined by cookie: when each stack
 * is written, and what becomes of each sample. */
#include <unistd.h>

#include "given.h"

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

/* Of an entry whose stack is taken at each event, one is lost and one comes:
 * readers join both samples with that. */
static void lost_and_taken_again(void **state)
{
	const struct written want[] = {{121, 1, 2, 0, SEAM_OUTERMOST, TID}};

	(void)state;
	sample(TID, 1, 100, 0);
	stack(1, 100, 0, LOST);
	check_counts(0, 1, 0, 0);
	sample(TID, 1, 120, 0);
	stack(1, 120, 2, PLAIN);
	seam_entries_end(&t.es);
	check_out(want, 1);
	check_counts(2, 0, 0, 0);
	assert_int_equal(t.sum.max_served, 2);
}

/* Its sample is behind it, though who interrupted its being taken has sent one:
 * and who interrupts then is in the next entry. Deferral has none to wait for.
 */
static void taken_amid_others(void **state)
{
	(void)state;
	sample(TID, 9, 49, 0);
	stack(9, 50, 2, PLAIN);
	stack(8, 60, 2, PLAIN);
	assert_int_equal(t.es.told.used, 0);
	sample(TID, 8, 55, 0);
	t.es.at_once = true;
	sample(TID, 1, 99, 0);
	stack(1, 100, 2, PLAIN);
	stack(2, 120, 3, PLAIN);
	sample(TID, 2, 110, 0);
	sample(TID, 1, 90, 0);
	seam_entries_end(&t.es);
	check_counts(5, 0, 0, 0);
	assert_int_equal(t.sum.max_served, 2);
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

/* The library's comes behind its sample, so none is kept for that. If it does
 * not, the session says that it is lost, and all are counted. */
static void late_at_once(void **state)
{
	(void)state;
	t.es.at_once = true;
	sample(TID, 1, 99, 0);
	sample(TID, 2, 150, 0);
	stack(1, 110, 2, LIBRARY);
	assert_int_equal(t.es.told.used, 0);
	assert_false(seam_entries_await(&t.es));
	stack(2, 151, 2, PLAIN);
	sample(TID, 1, 90, 0);
	stack(1, 99, 0, LOST);
	seam_entries_end(&t.es);
	check_counts(2, 1, 0, 0);
}

/* A sleep's stack that somebody interrupted: its sample comes when the task
 * runs again. */
static void interrupted_asleep(void **state)
{
	(void)state;
	t.es.at_once = true;
	sample(TID, 1, 99, 0);
	stack(1, 110, 3, ASLEEP);
	seam_entries_settle(&t.es, 60 * SECOND);
	seam_entries_settle(&t.es, 61 * SECOND);
	sample(TID, 1, 62 * SECOND, 0);
	seam_entries_end(&t.es);
	check_counts(2, 0, 0, 0);
}

/* The same of a copy, with another's entry behind it. */
static void interrupted_cold_asleep(void **state)
{
	(void)state;
	t.es.at_once = true;
	sample(TID, 1, 99, 0);
	sample(TID, 2, 105, 0);
	stack(1, 110, 3, ASLEEP);
	stack(2, 111, 2, PLAIN);
	sample(TID, 1, 62 * SECOND, 0);
	seam_entries_end(&t.es);
	check_counts(3, 0, 0, 0);
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
	/* It is not kept for ever, where its task is not there. */
	stack(4, 400 * SECOND, 2, ASLEEP);
	seam_entries_settle(&t.es, 4000 * SECOND);
	assert_int_equal(t.sum.unused, 0);
	seam_entries_settle(&t.es, 4001 * SECOND);
	assert_int_equal(t.sum.unused, 1);
	seam_entries_end(&t.es);
	check_counts(3, 0, 0, 1);
}

/* Who waits for good does so for longer than an hour. */
static void asleep_for_good(void **state)
{
	const uint64_t ip = 1;
	const struct seam_user_stack s = {.tid = (uint32_t)getpid(),
					  .cookie = 1,
					  .time_ns = 100,
					  .end = SEAM_OUTERMOST,
					  .asleep = true,
					  .ips = &ip,
					  .n_ips = 1};

	(void)state;
	seam_entries_stack(&t.es, &s);
	for (uint64_t hour = 1; hour < 50; hour++)
		seam_entries_settle(&t.es, hour * 3600 * SECOND + 200);
	sample(s.tid, 1, 50 * 3600 * SECOND, 0);
	seam_entries_end(&t.es);
	check_counts(1, 0, 0, 0);
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
		CASE(lost_and_taken_again),
		CASE(taken_amid_others),
		CASE(without_frames),
		CASE(pending),
		CASE(interrupted_at_once),
		CASE(asleep),
		CASE(asleep_for_good),
		CASE(late_at_once),
		CASE(interrupted_asleep),
		CASE(interrupted_cold_asleep),
		CASE(failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
