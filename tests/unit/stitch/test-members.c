// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a sample that reads its group's counts is delivered for each
 * event that has counted, by how much; counts of no known event and records
 * of which nothing has counted are counted. */
#include "../perfdata/image.h"
#include "stitch/stitch.h"

static const struct perf_event_attr group = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		       PERF_SAMPLE_ID | PERF_SAMPLE_READ,
	.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
	.inherit = 1,
};

static void add_read(struct image *m, uint32_t tid, uint64_t a, uint64_t b)
{
	static uint64_t time_ns;

	add_header(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 12);
	add(m, 0x1000);
	add(m, pair(5, tid));
	add(m, ++time_ns);
	add(m, 100);
	add(m, 3);
	add(m, a);
	add(m, 100);
	add(m, b);
	add(m, 101);
	add(m, 7);
	add(m, 999); /* no event's */
}

static void expect(struct seam_stitch *s, int event, uint64_t period)
{
	struct seam_stitched out;

	assert_int_equal(seam_stitch_next(s, &out), 1);
	assert_int_equal(out.rec->event, event);
	assert_int_equal(out.rec->id, 100 + event);
	assert_int_equal(out.rec->sample.period, period);
	assert_int_equal(out.n_frames, 1);
}

static void test_members(void **state)
{
	const struct perf_event_attr attrs[] = {group, group};
	const struct seam_stitch_stats *st;
	struct image m = {0};
	struct seam_stitched out;
	struct seam_pd_reader *r;
	struct seam_stitch *s;

	(void)state;
	begin(&m, attrs, 2);
	add_read(&m, 5, 10, 3);
	add_read(&m, 6, 4, 0); /* another thread counts from nothing */
	add_read(&m, 5, 10, 3); /* nothing has counted */
	add_read(&m, 5, 10, 8);
	add_read(&m, 5, 2, 8); /* began anew */
	r = open_image(&m);
	assert_int_equal(seam_stitch_new(r, &s), 0);
	expect(s, 0, 10);
	expect(s, 1, 3);
	expect(s, 0, 4);
	expect(s, 1, 5);
	expect(s, 0, 2);
	assert_int_equal(seam_stitch_next(s, &out), 0);
	assert_int_equal(seam_stitch_next(s, &out), 0);
	st = seam_stitch_stats(s);
	assert_int_equal(st->samples, 5);
	assert_int_equal(st->unmoved, 1);
	assert_int_equal(st->shared, 1);
	assert_int_equal(st->unknown_members, 5);
	seam_stitch_free(s);
	seam_pd_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_members)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
