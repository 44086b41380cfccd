// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: samples meet their user stacks by cookie, before the record
 * and after it; the thread and the nearest time decide between equal
 * cookies; a sample without one says why, and all are counted. */
#include "base/spill.h"
#include "session.h"

/* The next sample: how it was joined, where its user half begins, why it
 * ends. */
static void expect(struct session *t, uint32_t tid, enum seam_half half,
		   uint64_t ip, int end)
{
	struct seam_stitched out;

	assert_int_equal(seam_stitch_next(t->s, &out), 1);
	assert_int_equal(out.rec->tid, tid);
	assert_int_equal(out.half, half);
	assert_int_equal(out.end, end);
	assert_int_equal(out.n_kernel, 2);
	assert_int_equal(out.frames[0].ip, kernel_ips[0]);
	assert_true(out.frames[0].exact && !out.frames[1].exact);
	assert_true(out.frames[0].kernel && out.frames[1].kernel);
	assert_int_equal(out.n_frames, ip ? 5 : 2);
	if (ip) {
		assert_int_equal(out.frames[2].ip, ip);
		assert_int_equal(out.frames[4].ip, ip + 0x200);
		assert_false(out.frames[2].kernel);
	}
}

/* An event shows as much of a shared stack as it wants; a record that says no
 * end is another tool's, which was cut when it was written. */
static void test_cut(void **state)
{
	const struct seam_stitch_stats *st;
	struct seam_stitched out;
	struct session t;

	(void)state;
	folder_make(&t.folder);
	t.w = open_writer_limited(t.folder.file, 0, 2);
	put_sample(t.w, 5, 100, 0x1001);
	put_stack(t.w, 5, 120, 0x1001, 0xa000, SEAM_OUTERMOST, 0);
	put_sample(t.w, 5, 200, 0x2001);
	put_stack(t.w, 5, 220, 0x2001, 0xb000, 0, 0);
	stitch(&t);
	assert_int_equal(seam_stitch_next(t.s, &out), 1);
	assert_int_equal(out.n_frames, 2 + 2);
	assert_int_equal(out.frames[3].ip, 0xa100);
	assert_int_equal(out.end, SEAM_MAX_STACK);
	expect(&t, 5, SEAM_HALF_JOINED, 0xb000, 0);
	st = finish(&t);
	assert_int_equal(st->end[SEAM_MAX_STACK], 1);
	end(&t);
}

static void test_before_and_after(void **state)
{
	const struct seam_stitch_stats *st;
	struct session t;

	(void)state;
	begin(&t);
	put_sample(t.w, 5, 100, 0x1001);
	put_sample(t.w, 5, 110, 0x1001);
	put_stack(t.w, 5, 120, 0x1001, 0xa000, SEAM_OUTERMOST, 0);
	put_stack(t.w, 3, 125, 0x1001, 0xb000, SEAM_OUTERMOST, 0);
	put_sample(t.w, 5, 130, 0x1001);
	put_sample(t.w, 5, 140, 0);
	stitch(&t);
	expect(&t, 5, SEAM_HALF_JOINED, 0xa000, SEAM_OUTERMOST);
	expect(&t, 5, SEAM_HALF_JOINED, 0xa000, SEAM_OUTERMOST);
	expect(&t, 5, SEAM_HALF_LATE, 0xa000, SEAM_OUTERMOST);
	expect(&t, 5, SEAM_HALF_NONE, 0, SEAM_NO_USER);
	st = finish(&t);
	assert_int_equal(st->samples, 4);
	assert_int_equal(st->wanted, 3);
	assert_int_equal(st->end[SEAM_OUTERMOST], 3);
	assert_int_equal(st->half[SEAM_HALF_LATE], 1);
	assert_int_equal(st->stacks, 2);
	assert_int_equal(st->stacks_unused, 1);
	end(&t);
}

static void test_order_in_file(void **state)
{
	struct session t;

	(void)state;
	begin(&t);
	put_stack(t.w, 5, 120, 0x1001, 0xa000, SEAM_NO_TABLE, 0);
	put_sample(t.w, 5, 100, 0x1001); /* from another CPU's buffer */
	stitch(&t);
	expect(&t, 5, SEAM_HALF_JOINED, 0xa000, SEAM_NO_TABLE);
	end(&t);
}

static void test_equal_cookies(void **state)
{
	const struct seam_stitch_stats *st;
	struct session t;

	(void)state;
	begin(&t);
	put_stack(t.w, 6, 105, 0x1001, 0xb000, SEAM_OUTERMOST, 0);
	put_sample(t.w, 5, 110, 0x1001); /* not thread 6's, though nearer */
	put_stack(t.w, 5, 200, 0x1001, 0xa000, SEAM_OUTERMOST, 0);
	put_stack(t.w, 5, 900, 0x1001, 0xc000, SEAM_OUTERMOST, 0);
	put_sample(t.w, 5, 890, 0x1001);
	put_sample(t.w, 5, 210, 0x1001);
	put_sample(t.w, 7, 300, 0x1001); /* nobody's */
	stitch(&t);
	expect(&t, 5, SEAM_HALF_JOINED, 0xa000, SEAM_OUTERMOST);
	expect(&t, 5, SEAM_HALF_LATE, 0xa000, SEAM_OUTERMOST);
	expect(&t, 7, SEAM_HALF_MISSING, 0, SEAM_PENDING);
	expect(&t, 5, SEAM_HALF_JOINED, 0xc000, SEAM_OUTERMOST);
	st = finish(&t);
	assert_int_equal(st->stacks, 3);
	assert_int_equal(st->stacks_unused, 1);
	assert_int_equal(st->stacks_repeated, 1);
	end(&t);
}

/* A thread that calls execve gets its process's number on the way. */
static void test_other_tid(void **state)
{
	const uint64_t ip = 0xa000;
	struct seam_pd_stack stack = {
		.id = {.pid = 5, .tid = 9, .time_ns = 120, .id = EVENT_ID},
		.cookie = 0x1001,
		.ips = &ip,
		.n_ips = 1,
		.end = SEAM_OUTERMOST,
	};
	struct seam_stitched out;
	struct session t;

	(void)state;
	begin(&t);
	put_stack(t.w, 4, 110, 0x1001, 0xb000, SEAM_OUTERMOST, 0);
	seam_pd_write_stack(t.w, &stack);
	put_sample(t.w, 5, 100, 0x1001);
	stitch(&t);
	assert_int_equal(seam_stitch_next(t.s, &out), 1);
	assert_int_equal(out.half, SEAM_HALF_JOINED);
	assert_int_equal(out.frames[2].ip, 0xa000);
	end(&t);
}

static void test_missing(void **state)
{
	const struct seam_stitch_stats *st;
	struct session t;

	(void)state;
	begin(&t);
	put_sample(t.w, 5, 100, 0x1001); /* 5 went on: this was lost */
	put_sample(t.w, 5, 200, 0x2001);
	put_stack(t.w, 5, 210, 0x2001, 0xa000, SEAM_OUTERMOST, 0);
	put_sample(t.w, 5, 300, 0x3001); /* and slept until the end */
	put_sample(t.w, 6, 400, 0x4001); /* 6 was seen to exit */
	put_fork(t.w, 5, 6, 500, true);
	put_sample(t.w, 7, 600, 0x5001); /* 7 came out: only this is lost */
	put_stack(t.w, 7, 700, 0x6001, 0xa000, SEAM_OUTERMOST, 0);
	stitch(&t);
	expect(&t, 5, SEAM_HALF_MISSING, 0, SEAM_LOST);
	expect(&t, 5, SEAM_HALF_JOINED, 0xa000, SEAM_OUTERMOST);
	expect(&t, 5, SEAM_HALF_MISSING, 0, SEAM_PENDING);
	expect(&t, 6, SEAM_HALF_MISSING, 0, SEAM_LOST);
	expect(&t, 7, SEAM_HALF_MISSING, 0, SEAM_LOST);
	st = finish(&t);
	assert_int_equal(st->end[SEAM_LOST], 3);
	assert_int_equal(st->end[SEAM_PENDING], 1);
	assert_int_equal(st->wanted, 5);
	end(&t);
}

/* Where the recording says that it is over, nobody has to guess. */
static void test_missing_told(void **state)
{
	const struct seam_stitch_stats *st;
	struct session t;

	(void)state;
	begin(&t);
	put_sample(t.w, 5, 300, 0x3001);
	put_sample(t.w, 6, 400, 0x4001);
	put_stack(t.w, 6, 410, 0x4001, 0xa000, SEAM_PENDING, 0);
	put_stack(t.w, 0, 500, 0, 0, 0, 0);
	stitch(&t);
	expect(&t, 5, SEAM_HALF_MISSING, 0, SEAM_LOST);
	expect(&t, 6, SEAM_HALF_JOINED, 0xa000, SEAM_PENDING);
	st = finish(&t);
	assert_int_equal(st->stacks, 1);
	assert_int_equal(st->end[SEAM_LOST], 1);
	assert_int_equal(st->end[SEAM_PENDING], 1);
	end(&t);
}

/* A stack and the next request are dropped; then those, and that the thread
 * ended and another got its tid. By tid and order both would be joined. */
static void put_dropped(struct session *t)
{
	begin(t);
	put_sample(t->w, 5, 100, 0x1001);
	put_stack(t->w, 5, 210, 0x2001, 0xa000, SEAM_OUTERMOST, 0);
	put_sample(t->w, 5, 300, 0x3001);
	/* the new thread 5 */
	put_stack(t->w, 5, 420, 0x4001, 0xb000, SEAM_OUTERMOST, 0);
	put_sample(t->w, 5, 500, 0x5001);
	put_stack(t->w, 5, 510, 0x5001, 0xc000, SEAM_OUTERMOST, 0);
	stitch(t);
}

static void test_dropped(void **state)
{
	const struct seam_stitch_stats *st;
	struct session t;

	(void)state;
	put_dropped(&t);
	expect(&t, 5, SEAM_HALF_MISSING, 0, SEAM_LOST);
	expect(&t, 5, SEAM_HALF_MISSING, 0, SEAM_LOST);
	expect(&t, 5, SEAM_HALF_JOINED, 0xc000, SEAM_OUTERMOST);
	st = finish(&t);
	assert_int_equal(st->wanted, 3);
	assert_int_equal(st->end[SEAM_LOST], 2);
	end(&t);
}

/* By thread and order both have another's stack, and nothing tells. */
static void test_dropped_by_order(void **state)
{
	const struct seam_stitch_stats *st;
	struct session t;

	(void)state;
	put_dropped(&t);
	assert_int_equal(seam_stitch_join_by(t.s, SEAM_JOIN_ORDER), 0);
	expect(&t, 5, SEAM_HALF_JOINED, 0xa000, SEAM_OUTERMOST);
	expect(&t, 5, SEAM_HALF_JOINED, 0xb000, SEAM_OUTERMOST);
	expect(&t, 5, SEAM_HALF_JOINED, 0xc000, SEAM_OUTERMOST);
	st = finish(&t);
	assert_int_equal(st->end[SEAM_OUTERMOST], 3);
	assert_int_equal(st->by_order_differs, 2);
	end(&t);
}

/* In user mode the sample itself knows one address. */
static void test_missing_user(void **state)
{
	struct seam_pd_sample s = {
		.id = id_of(5, 100),
		.misc = PERF_RECORD_MISC_USER,
		.ip = 0x4321,
		.cookie = 0x1001,
	};
	struct seam_stitched out;
	struct session t;

	(void)state;
	begin(&t);
	seam_pd_write_sample(t.w, &s);
	stitch(&t);
	assert_int_equal(seam_stitch_next(t.s, &out), 1);
	assert_int_equal(out.n_frames, 1);
	assert_int_equal(out.n_kernel, 0);
	assert_int_equal(out.frames[0].ip, 0x4321);
	assert_int_equal(out.end, SEAM_PENDING);
	end(&t);
}

/* An address of a guest is no one of the process that runs it. */
static void test_guest(void **state)
{
	static const uint16_t modes[] = {PERF_RECORD_MISC_GUEST_KERNEL,
					 PERF_RECORD_MISC_GUEST_USER};
	struct seam_stitched out;
	struct session t;

	(void)state;
	begin(&t);
	put_map(t.w, 5, 50, 0x4000, 0x1000, "/a/host");
	for (size_t i = 0; i < 2; i++) {
		struct seam_pd_sample s = {
			.id = id_of(5, 100 + i),
			.misc = modes[i],
			.ip = 0x4321,
		};

		seam_pd_write_sample(t.w, &s);
	}
	stitch(&t);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(seam_stitch_next(t.s, &out), 1);
		assert_int_equal(out.n_frames, 1);
		assert_int_equal(out.frames[0].ip, 0x4321);
		assert_null(out.frames[0].map);
		assert_false(out.frames[0].kernel);
		assert_int_equal(out.half, SEAM_HALF_NONE);
		assert_int_equal(out.end, SEAM_NO_USER);
	}
	end(&t);
}

/* To which no stack was to come: it says why, and the summary counts so. */
static void test_none_comes(void **state)
{
	static const struct {
		int end;
		enum seam_half half;
	} cases[] = {
		{SEAM_EXITED, SEAM_HALF_WITH},
		{SEAM_LOST, SEAM_HALF_MISSING},
	};
	struct seam_stitched out;
	struct session t;

	(void)state;
	begin(&t);
	for (size_t i = 0; i < 4; i++) {
		struct seam_pd_sample s = {
			.id = id_of(5, 100 + i),
			.misc = i & 1 ? PERF_RECORD_MISC_USER
				      : PERF_RECORD_MISC_KERNEL,
			.ip = 0x4321,
			.end = cases[i / 2].end,
		};

		assert_int_equal(seam_pd_write_sample(t.w, &s), 0);
	}
	stitch(&t);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(seam_stitch_next(t.s, &out), 1);
		assert_int_equal(out.n_frames, 1);
		assert_int_equal(out.half, cases[i / 2].half);
		assert_int_equal(out.end, cases[i / 2].end);
	}
	assert_int_equal(finish(&t)->wanted, 4);
	end(&t);
}

/* BPF programs have names from the time that they are loaded. */
static void test_ksymbol(void **state)
{
	struct {
		struct perf_event_header h;
		uint64_t start;
		uint32_t len;
		uint16_t type, flags;
		char name[16];
		struct tail tail;
	} r = {{PERF_RECORD_KSYMBOL, 0, sizeof(r)},
	       kernel_ips[0],
	       0x10,
	       1,
	       0,
	       "bpf_prog_x",
	       tail_of(5, 150)};
	struct seam_stitched out;
	struct session t;

	(void)state;
	begin(&t);
	put_sample(t.w, 5, 100, 0);
	seam_pd_write_raw(t.w, &r.h);
	put_sample(t.w, 5, 200, 0);
	stitch(&t);
	assert_int_equal(seam_stitch_next(t.s, &out), 1);
	assert_null(out.frames[0].map);
	assert_int_equal(seam_stitch_next(t.s, &out), 1);
	assert_string_equal(path_of(&out.frames[0]), "bpf_prog_x");
	assert_true(out.frames[0].map->symbol);
	assert_null(out.frames[1].map);
	end(&t);
}

/* LOST_SAMPLES: how many. LOST: of which event, and how many. */
static void put_lost(struct seam_pd_writer *w, uint64_t time_ns, uint64_t n)
{
	struct {
		struct perf_event_header h;
		uint64_t lost;
		struct tail tail;
	} samples = {{PERF_RECORD_LOST_SAMPLES, 0, sizeof(samples)},
		     n,
		     tail_of(5, time_ns)};
	struct {
		struct perf_event_header h;
		uint64_t id, lost;
		struct tail tail;
	} records = {{PERF_RECORD_LOST, 0, sizeof(records)},
		     EVENT_ID,
		     10 * n,
		     tail_of(5, time_ns)};

	assert_int_equal(seam_pd_write_raw(w, &samples.h), 0);
	assert_int_equal(seam_pd_write_raw(w, &records.h), 0);
}

static void test_lost(void **state)
{
	const struct seam_stitch_stats *st;
	struct session t;

	(void)state;
	begin(&t);
	put_lost(t.w, 90, 3);
	put_stack(t.w, 5, 120, 0x1001, 0xa000, SEAM_OUTERMOST, 0);
	put_sample(t.w, 5, 100, 0x1001);
	put_lost(t.w, 130, 4);
	stitch(&t);
	expect(&t, 5, SEAM_HALF_JOINED, 0xa000, SEAM_OUTERMOST);
	st = finish(&t);
	assert_int_equal(st->lost_samples, 7);
	assert_int_equal(st->lost_records, 70);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_and_after),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_order_in_file),
		cmocka_unit_test(test_equal_cookies),
		cmocka_unit_test(test_other_tid),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_missing_told),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_dropped_by_order),
		cmocka_unit_test(test_missing_user),
		cmocka_unit_test(test_guest),
		cmocka_unit_test(test_none_comes),
		cmocka_unit_test(test_ksymbol),
		cmocka_unit_test(test_lost),
	};

	if (cmocka_run_group_tests(tests, NULL, NULL))
		return 1;
	/* The same with all that can be in files. */
	seam_spill_from = 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
