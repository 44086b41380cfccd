// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what comes late in an exec or exit, or under a thread's other
 * number, has its stack, and is in the exec or exit. */
#include "given.h"

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
	/* Who reads late finds them old, and has not read what comes next. */
	seam_entries_settle(&t.es, 149 + 20 * SECOND);
	assert_int_equal(t.es.told.used, 2);
	/* One round may come to it twice. */
	seam_entries_settle(&t.es, 149 + 20 * SECOND);
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

/* So it is where the library unwound it; who has the tid by now goes on. */
static void late_cold(void **state)
{
	const struct written want[] = {
		{151, 1, 2, SEAM_PD_STACK_EXEC, SEAM_OUTERMOST, TID},
		{211, 3, 2, 0, SEAM_OUTERMOST, FIRST},
	};

	(void)state;
	stack_under(FIRST, 1, 90, 2, COLD_EXIT);
	stack_under(FIRST, 2, 95, 2, COLD_EXIT); /* nobody's */
	sample(FIRST, 3, 200, 0);
	stack_under(FIRST, 3, 200, 2, PLAIN);
	stack_under(FIRST, 4, 96, 2, COLD_EXIT);
	sample(FIRST, 3, 210, 0);
	sample_under(TID, FIRST, 1, 150, 90);
	assert_false(seam_entries_await(&t.es));
	seam_entries_end(&t.es);
	assert_int_equal(t.n, 2);
	check_counts(3, 0, 0, 2);
	assert_memory_equal(&t.out[0], &want[1], sizeof(want[1]));
	assert_memory_equal(&t.out[1], &want[0], sizeof(want[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(tails),
		CASE(renamed),
		CASE(renamed_orphans),
		CASE(renamed_forgotten),
		CASE(late),
		CASE(late_orphans),
		CASE(late_stack),
		CASE(late_first),
		CASE(late_cold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
