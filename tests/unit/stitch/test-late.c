// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: among thousands of stacks of several CPUs each sample meets its
 * own, also where stacks come late, since their task slept, and where samples
 * ask for them in an order that is not that of cookies. */
#include "session.h"

#define STACKS 4000
#define CPUS 3
#define SLEEPS 37 /* each so many-th comes late, */
#define LATE 500 /* by so many others */

static uint64_t cookie_of(size_t i)
{
	return (i / CPUS + 1) << 16 | i % CPUS;
}

static bool sleeps(size_t i)
{
	return i % SLEEPS == 0;
}

static void put(struct session *t, size_t i, uint64_t ns)
{
	put_stack(t->w, 5, ns, cookie_of(i), 0x100000 + i * 0x1000,
		  SEAM_OUTERMOST, 0);
}

/* The sample at which i-th place, of each: far from the one before, or near. */
static size_t asked(size_t i, bool far)
{
	return far ? i * 1999 % STACKS : i;
}

static void join(bool far)
{
	const struct seam_stitch_stats *st;
	struct seam_stitched out;
	struct session t;

	begin(&t);
	for (size_t i = 0; i < STACKS; i++)
		put_sample(t.w, 5, 1 + i, cookie_of(asked(i, far)));
	for (size_t i = 0; i < STACKS + LATE; i++) {
		if (i < STACKS && !sleeps(i))
			put(&t, i, 2 * STACKS + 2 * i);
		if (i >= LATE && sleeps(i - LATE))
			put(&t, i - LATE, 2 * STACKS + 2 * i + 1);
	}
	stitch(&t);
	for (size_t i = 0; i < STACKS; i++) {
		assert_int_equal(seam_stitch_next(t.s, &out), 1);
		assert_int_equal(out.half, SEAM_HALF_JOINED);
		assert_int_equal(out.cookie, cookie_of(asked(i, far)));
		assert_int_equal(out.frames[2].ip,
				 0x100000 + asked(i, far) * 0x1000);
	}
	st = finish(&t);
	assert_int_equal(st->stacks, STACKS);
	assert_int_equal(st->stacks_unused, 0);
	assert_int_equal(st->stacks_repeated, 0);
	end(&t);
}

static void test_near(void **state)
{
	(void)state;
	join(false);
}

static void test_far(void **state)
{
	(void)state;
	join(true);
}

/* Before the first and behind the last cookie there is none. */
static void test_none(void **state)
{
	const struct seam_stitch_stats *st;
	struct seam_stitched out;
	struct session t;

	(void)state;
	begin(&t);
	for (size_t i = 0; i < STACKS; i++)
		put_sample(t.w, 5, 1 + i,
			   i % 2 ? cookie_of(i) : cookie_of(i + 2 * STACKS));
	put_sample(t.w, 5, 1 + STACKS, 1);
	for (size_t i = 1; i < STACKS; i += 2)
		put(&t, i, 2 * STACKS + i);
	stitch(&t);
	for (size_t i = 0; i <= STACKS; i++) {
		assert_int_equal(seam_stitch_next(t.s, &out), 1);
		assert_int_equal(out.half,
				 i % 2 ? SEAM_HALF_JOINED : SEAM_HALF_MISSING);
	}
	st = finish(&t);
	assert_int_equal(st->half[SEAM_HALF_MISSING], STACKS / 2 + 1);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
