// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: thousands of worlds whose records were lost, repeated, delayed
 * or shuffled, as files and by pipes with any window: no sample gets another
 * entry's stack as long as cookies tell entries apart, each comes once and is
 * whole or says why, and every stack serves or is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../random.h"

static uint64_t seed; /* of the world that is looked at */

#define LOSSY_CHECK(condition)                                                 \
	do {                                                                   \
		if (!(condition)) {                                            \
			print_error("world %llu: %s\n",                        \
				    (unsigned long long)seed, #condition);     \
			fail();                                                \
		}                                                              \
	} while (0)

#include "lossy-pipe.h"

#define WORLDS 4000
#define BYTES_MAX 2000

static void make(struct lossy *l)
{
	struct random rnd = {seed};
	uint8_t bytes[BYTES_MAX];
	size_t n;

	next(&rnd, 1);
	n = next(&rnd, BYTES_MAX);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)next(&rnd, 256);
	lossy_make(l, bytes, n);
}

static void test_cookie(void **state)
{
	static struct lossy l;

	(void)state;
	for (seed = 1; seed <= WORLDS; seed++) {
		make(&l);
		judge(&l, SEAM_JOIN_COOKIE);
	}
}

static void test_order(void **state)
{
	static struct lossy l;

	(void)state;
	for (seed = 1; seed <= WORLDS; seed++) {
		make(&l);
		judge(&l, SEAM_JOIN_ORDER);
	}
}

/* By a pipe whose window is larger than it: as a file. */
static void test_pipe(void **state)
{
	static struct lossy l;

	(void)state;
	for (seed = 1; seed <= WORLDS; seed++) {
		make(&l);
		judge_pipe_whole(&l, 1 + (unsigned)(seed * 37 % 5000));
	}
}

/* Each window, from none to longer than the recording; and little room. */
static void test_window(void **state)
{
	static struct lossy l;
	uint64_t n[2] = {0};

	(void)state;
	for (seed = 1; seed <= WORLDS; seed++) {
		struct pipe_how how = {
			.slice = 1 + (unsigned)(seed * 37 % 5000),
			.window_ns = (1ULL << seed % 24) - 1,
			.held = seed % 3 ? 0 : 200u << seed % 11,
			.round = seed % 5 ? (unsigned)(seed % 61) : 0,
		};

		make(&l);
		judge_pipe(&l, &how);
		n[0] += how.held && how.held < 8 * l.n_words / 4;
		n[1] += how.round && how.round < l.n / 4;
	}
	assert_true(n[0] > WORLDS / 16 && n[1] > WORLDS / 16);
	print_message("%llu left early, %llu stacks and %llu records late\n",
		      (unsigned long long)pipe_n_window,
		      (unsigned long long)pipe_n_late,
		      (unsigned long long)pipe_n_disordered);
	assert_true(pipe_n_window > WORLDS && pipe_n_late > WORLDS / 2 &&
		    pipe_n_disordered > WORLDS);
}

/* How many stacks have the cookie that most of them have. */
static uint64_t n_of_one(const struct lossy *l)
{
	uint64_t n[1 + LOSSY_RECS] = {0}, most = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].kind == LOSSY_STACK && ++n[l->v[i].cookie] > most)
			most = n[l->v[i].cookie];
	return most;
}

/* The worlds are such that there is something to be judged. */
static void test_worlds(void **state)
{
	static struct lossy l;
	uint64_t recs = 0, full = 0, many = 0, n[LOSSY_LOST + 1] = {0};

	(void)state;
	for (seed = 1; seed <= WORLDS; seed++) {
		make(&l);
		recs += l.n;
		full += l.n == LOSSY_RECS;
		many += n_of_one(&l) > 64;
		for (size_t i = 0; i < l.n; i++)
			n[l.v[i].kind]++;
	}
	assert_true(recs / WORLDS > 100);
	assert_int_equal(full, 0);
	assert_true(many > WORLDS / 16);
	for (int i = 0; i <= LOSSY_LOST; i++)
		assert_true(n[i] > WORLDS / 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worlds), cmocka_unit_test(test_cookie),
		cmocka_unit_test(test_order),  cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
