// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a thread that reads samples ahead delivers what the stitcher
 * would, all of it, and may be left before its end; where memory runs out, it
 * says so too. */
#include "../perfdata/recording.h"
#include "stitch/ahead.h"
#include "tests/unit/oom-wrap.h"

#define SAMPLES 3000 /* some batches */

static void assert_same(const struct seam_stitched *a,
			const struct seam_stitched *b)
{
	assert_int_equal(a->rec->tid, b->rec->tid);
	assert_int_equal(a->rec->time_ns, b->rec->time_ns);
	assert_int_equal(a->cookie, b->cookie);
	assert_int_equal(a->half, b->half);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->place, b->place);
	assert_string_equal(a->comm, b->comm);
	assert_string_equal(a->event, b->event);
	assert_int_equal(a->n_frames, b->n_frames);
	for (size_t i = 0; i < a->n_frames; i++)
		assert_int_equal(a->frames[i].ip, b->frames[i].ip);
}

static void test_same(void **state)
{
	struct seam_stitch *plain, *read;
	struct seam_stitched a, b;
	struct seam_pd_reader *r, *again;
	struct seam_ahead *ahead;
	struct folder folder;

	(void)state;
	r = record_mostly_whole(SAMPLES, &folder);
	again = open_reader(folder.file);
	assert_int_equal(seam_stitch_new(r, &plain), 0);
	assert_int_equal(seam_stitch_new(again, &read), 0);
	assert_int_equal(seam_ahead_new(read, &ahead), 0);
	for (size_t i = 0; i < SAMPLES; i++) {
		assert_int_equal(seam_stitch_next(plain, &a), 1);
		assert_int_equal(seam_ahead_next(ahead, &b), 1);
		assert_same(&a, &b);
	}
	assert_int_equal(seam_stitch_next(plain, &a), 0);
	for (size_t i = 0; i < 2; i++) /* the end stays */
		assert_int_equal(seam_ahead_next(ahead, &b), 0);
	assert_null(seam_ahead_free(ahead));
	assert_memory_equal(seam_stitch_stats(plain), seam_stitch_stats(read),
			    sizeof(struct seam_stitch_stats));
	seam_stitch_free(plain);
	seam_stitch_free(read);
	seam_pd_close(r);
	seam_pd_close(again);
	folder_remove(&folder);
}

static void test_left(void **state)
{
	const size_t taken[] = {0, 1, 256, 257, 1000};
	struct seam_pd_reader *r;
	struct seam_stitched out;
	struct seam_ahead *ahead;
	struct seam_stitch *s;
	struct folder folder;

	(void)state;
	r = record_mostly_whole(SAMPLES, &folder);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		assert_int_equal(seam_stitch_new(r, &s), 0);
		assert_int_equal(seam_ahead_new(s, &ahead), 0);
		for (size_t j = 0; j < taken[i]; j++)
			assert_int_equal(seam_ahead_next(ahead, &out), 1);
		seam_ahead_free(ahead);
		seam_stitch_free(s);
	}
	assert_null(seam_ahead_free(NULL));
	seam_pd_close(r);
	folder_remove(&folder);
}

/* With memory for so many allocations. Return: what ended it, with how many
 * samples before. */
static int read_with(struct seam_pd_reader *r, long allocations, size_t *ret_n)
{
	struct seam_stitched out;
	struct seam_ahead *ahead = NULL;
	struct seam_stitch *s;
	int rc;

	*ret_n = 0;
	assert_int_equal(seam_stitch_new(r, &s), 0);
	/* Its thread is at work as soon as it is there. */
	left = allocations;
	rc = seam_ahead_new(s, &ahead);
	while (!rc && (rc = seam_ahead_next(ahead, &out)) > 0) {
		++*ret_n;
		rc = 0;
	}
	left = -1;
	seam_ahead_free(ahead);
	seam_stitch_free(s);
	return rc;
}

static void test_no_memory(void **state)
{
	struct seam_pd_reader *r;
	struct folder folder;
	size_t n, n_failed = 0;
	int rc = -ENOMEM;

	(void)state;
	r = record_mostly_whole(SAMPLES, &folder);
	for (long allocations = 0; rc; allocations++) {
		rc = read_with(r, allocations, &n);
		assert_true(rc == -ENOMEM || (!rc && n == SAMPLES));
		n_failed += rc != 0;
	}
	assert_true(n_failed > 3);
	seam_pd_close(r);
	folder_remove(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
