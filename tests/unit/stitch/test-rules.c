// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: by the cookie no sample gets another's stack, however many
 * records are lost; by the order of records alone, those before a lost one
 * do. What is less than certain, and what serves nobody, is counted by name. */
#define IMAGE_WORDS (1 << 21)
#include "../perfdata/image.h"
#include "../random.h"
#include "stitch/stitch.h"

#define THREADS 20
#define ENTRIES 4000
#define SAMPLES_MAX (ENTRIES * 4)

/* What was written, in the order of time. */
struct truth {
	struct {
		uint32_t tid, entry;
		bool is_stack;
	} v[SAMPLES_MAX + ENTRIES];
	bool dropped[ENTRIES];
	size_t n;
};

static void put(struct truth *t, struct seam_pd_writer *w, uint32_t entry,
		bool is_stack)
{
	uint32_t tid = 100 + entry % THREADS;
	uint64_t cookie = (uint64_t)entry << 16 | 1, time_ns = 1000 + t->n;

	t->v[t->n].tid = tid;
	t->v[t->n].entry = entry;
	t->v[t->n++].is_stack = is_stack;
	if (is_stack)
		put_stack(w, tid, time_ns, cookie, 0x100000ULL * (entry + 1), 0,
			  0);
	else
		put_sample(w, tid, time_ns, cookie);
}

/* n: 0: never. */
static bool is_one_in(struct random *rnd, uint64_t n)
{
	return n && next(rnd, n) == 0;
}

/* Entries of many threads at once; each has one to three samples. Of so many
 * stacks one is lost, and so many have one sample more behind them. */
static void record(struct truth *t, struct seam_pd_writer *w, uint64_t lost,
		   uint64_t late)
{
	struct random rnd = {1};

	memset(t, 0, sizeof(*t));
	for (uint32_t first = 0; first < ENTRIES; first += THREADS) {
		uint32_t end = first + THREADS;

		for (uint32_t e = first; e < end; e++)
			for (uint64_t n = 1 + next(&rnd, 3); n; n--)
				put(t, w, e, false);
		for (uint32_t e = first; e < end; e++) {
			t->dropped[e] = is_one_in(&rnd, lost);
			if (!t->dropped[e])
				put(t, w, e, true);
			if (is_one_in(&rnd, late))
				put(t, w, e, false);
		}
	}
}

/* Whose stack the sample at i gets by order: by walking, not by index. */
static uint32_t next_of_thread(const struct truth *t, size_t i)
{
	for (size_t j = i + 1; j < t->n; j++)
		if (t->v[j].is_stack && t->v[j].tid == t->v[i].tid)
			return t->v[j].entry;
	return UINT32_MAX;
}

struct tally {
	uint64_t right, wrong, missing;
};

static struct tally stitch(const struct truth *t, const char *path,
			   enum seam_join rule, struct seam_stitch_stats *stats)
{
	struct seam_pd_reader *r = open_reader(path);
	struct tally n = {0};
	struct seam_stitched out;
	struct seam_stitch *s;

	assert_int_equal(seam_stitch_new(r, &s), 0);
	assert_int_equal(seam_stitch_join_by(s, rule), 0);
	while (seam_stitch_next(s, &out) > 0) {
		uint64_t ip = out.frames[out.n_frames - 1].ip - 0x200;
		uint32_t entry = t->v[out.rec->time_ns - 1000].entry;

		if (out.half == SEAM_HALF_MISSING)
			n.missing++;
		else if (ip == 0x100000ULL * (entry + 1))
			n.right++;
		else
			n.wrong++;
	}
	*stats = *seam_stitch_stats(s);
	seam_stitch_free(s);
	seam_pd_close(r);
	return n;
}

/* Return: of how many samples each rule has another's stack, order first. */
static struct wrong {
	uint64_t by_order, by_cookie, samples;
} compare(uint64_t lost, uint64_t late)
{
	static struct truth t;
	struct tally cookie, order, model_cookie = {0}, model_order = {0};
	struct seam_stitch_stats by_cookie, by_order;
	struct seam_pd_writer *w;
	struct folder folder;

	folder_make(&folder);
	w = open_writer(folder.file, 0);
	record(&t, w, lost, late);
	assert_int_equal(seam_pd_writer_close(w), 0);
	for (size_t i = 0; i < t.n; i++) {
		uint32_t entry = t.v[i].entry, theirs;

		if (t.v[i].is_stack)
			continue;
		if (t.dropped[entry])
			model_cookie.missing++;
		else
			model_cookie.right++;
		theirs = next_of_thread(&t, i);
		if (theirs == UINT32_MAX)
			model_order.missing++;
		else if (theirs == entry)
			model_order.right++;
		else
			model_order.wrong++;
	}
	cookie = stitch(&t, folder.file, SEAM_JOIN_COOKIE, &by_cookie);
	order = stitch(&t, folder.file, SEAM_JOIN_ORDER, &by_order);
	print_message("# %zu samples: by cookie %llu wrong, by order %llu\n",
		      (size_t)by_cookie.samples,
		      (unsigned long long)cookie.wrong,
		      (unsigned long long)order.wrong);
	assert_memory_equal(&cookie, &model_cookie, sizeof(cookie));
	assert_memory_equal(&order, &model_order, sizeof(order));
	assert_int_equal(by_cookie.by_order_differs, 0);
	assert_int_equal(by_order.by_order_differs, order.wrong);
	assert_int_equal(by_order.half[SEAM_HALF_LATE], 0);
	folder_remove(&folder);
	return (struct wrong){order.wrong, cookie.wrong, by_order.samples};
}

/* Order does where nothing is lost or late. */
static void test_loss(void **state)
{
	struct wrong none = compare(0, 0), lost = compare(4, 0),
		     late = compare(0, 4), both = compare(4, 4);

	(void)state;
	assert_int_equal(none.by_order, 0);
	assert_true(lost.by_order > lost.samples / 10);
	assert_true(late.by_order > late.samples / 20);
	assert_true(both.by_order > both.samples / 10);
	assert_int_equal(none.by_cookie + lost.by_cookie + late.by_cookie +
				 both.by_cookie,
			 0);
}

/* Nothing was lost: what serves nobody was asked for by others. */
static void test_unused(void **state)
{
	struct folder folder;
	struct seam_pd_writer *w;
	struct seam_stitch_stats st;
	static struct truth t;

	(void)state;
	folder_make(&folder);
	w = open_writer(folder.file, 0);
	memset(&t, 0, sizeof(t));
	put_sample(w, 5, 1000, 0x10001);
	put_stack(w, 5, 1010, 0x10001, 0xa000, 0, 0);
	put_stack(w, 5, 1090, 0x10001, 0xb000, 0, 0); /* the nearest serves */
	put_stack(w, 5, 1020, 0x20001, 0xc000, 0, 0); /* nobody's */
	put_sample(w, 7, 1000, 0x20001); /* 5's is not 7's */
	assert_int_equal(seam_pd_writer_close(w), 0);
	stitch(&t, folder.file, SEAM_JOIN_COOKIE, &st);
	assert_int_equal(st.half[SEAM_HALF_JOINED], 1);
	assert_int_equal(st.half[SEAM_HALF_MISSING], 1);
	assert_int_equal(st.other_task, 1);
	assert_int_equal(st.by_time, 1);
	assert_int_equal(st.stacks_repeated, 1);
	assert_int_equal(st.stacks_unused, 2);
	assert_int_equal(st.unused_repeated, 1);
	assert_int_equal(st.unused_foreign, 1);
	assert_int_equal(st.unused_lost, 0);
	folder_remove(&folder);
}

/* Whose it is; NULL: it does not say. */
struct whom {
	uint32_t pid, tid;
};

static void add_whom(struct image *m, const struct whom *whom)
{
	if (whom)
		add(m, pair(whom->pid, whom->tid));
}

static void add_deferred_sample(struct image *m, const struct whom *whom,
				uint64_t time_ns, uint64_t cookie)
{
	add_header(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, 8 + !!whom);
	add(m, kernel_ips[0]); /* ip */
	add_whom(m, whom);
	add(m, time_ns);
	add(m, 4);
	add(m, (uint64_t)PERF_CONTEXT_KERNEL);
	add(m, kernel_ips[0]);
	add(m, SEAM_CONTEXT_USER_DEFERRED);
	add(m, cookie);
}

static void add_stack(struct image *m, const struct whom *whom,
		      uint64_t time_ns, uint64_t cookie, uint64_t ip)
{
	add_header(m, SEAM_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER,
		   5 + !!whom);
	add(m, cookie);
	add(m, 1);
	add(m, ip);
	add_whom(m, whom);
	add(m, time_ns);
}

static void begin_image(struct image *m, bool has_tid)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CALLCHAIN |
			       (has_tid ? PERF_SAMPLE_TID : 0),
		.sample_id_all = 1,
	};

	m->n = 0;
	begin(m, &attr, 1);
}

/* Samples without thread: the cookie, and of equal ones the nearest. */
static void test_no_thread(void **state)
{
	static const uint64_t ips[] = {0xa000, 0xa000, 0xb000, 0};
	static struct image m;
	const struct seam_stitch_stats *st;
	struct seam_stitched out;
	struct seam_pd_reader *r;
	struct seam_stitch *s;

	(void)state;
	begin_image(&m, false);
	add_deferred_sample(&m, NULL, 100, 0x1001);
	add_stack(&m, NULL, 110, 0x1001, 0xa000);
	add_deferred_sample(&m, NULL, 120, 0x1001);
	add_deferred_sample(&m, NULL, 880, 0x1001); /* the counter came round */
	add_stack(&m, NULL, 900, 0x1001, 0xb000);
	add_deferred_sample(&m, NULL, 910, 0x2001);
	r = open_image(&m);
	assert_int_equal(seam_stitch_new(r, &s), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(seam_stitch_next(s, &out), 1);
		assert_int_equal(out.n_frames, ips[i] ? 2 : 1);
		if (ips[i])
			assert_int_equal(out.frames[1].ip, ips[i]);
	}
	assert_int_equal(seam_stitch_next(s, &out), 0);
	st = seam_stitch_stats(s);
	assert_int_equal(st->by_cookie_alone, 3);
	assert_int_equal(st->half[SEAM_HALF_LATE], 1);
	assert_int_equal(st->half[SEAM_HALF_MISSING], 1);
	seam_stitch_free(s);
	seam_pd_close(r);
}

#define ONE_COOKIE 0x3001

/* Each sample's own stack is 10 ns behind it, the next one's far away. All have
 * one cookie, so that time alone tells them apart. whom: of samples; stacks are
 * of another thread of that process, as behind an exec. */
static void one_cookie(size_t n, const struct whom *whom,
		       struct seam_stitch_stats *ret)
{
	static struct image m;
	const struct whom other = {whom ? whom->pid : 0, whom ? 99 : 0};
	struct seam_stitched out;
	struct seam_pd_reader *r;
	struct seam_stitch *s;

	begin_image(&m, whom);
	for (size_t i = 0; i < n; i++) {
		const struct whom foreign = {77, 1000 + (uint32_t)i % 7};

		add_deferred_sample(&m, whom, 1000 * i, ONE_COOKIE);
		if (whom)
			add_stack(&m, &foreign, 1000 * i + 5, ONE_COOKIE, 1);
		add_stack(&m, whom ? &other : NULL, 1000 * i + 10, ONE_COOKIE,
			  0xa000 + i);
	}
	r = open_image(&m);
	assert_int_equal(seam_stitch_new(r, &s), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(seam_stitch_next(s, &out), 1);
		assert_int_equal(out.n_frames, 2);
		assert_int_equal(out.frames[1].ip, 0xa000 + i);
	}
	assert_int_equal(seam_stitch_next(s, &out), 0);
	*ret = *seam_stitch_stats(s);
	assert_int_equal(ret->half[SEAM_HALF_JOINED], n);
	seam_stitch_free(s);
	seam_pd_close(r);
}

/* More records of one cookie than are looked at one by one. */
static void test_one_cookie(void **state)
{
	struct seam_stitch_stats st;

	(void)state;
	for (size_t n = 60; n <= 200; n += 5) {
		one_cookie(n, NULL, &st);
		assert_int_equal(st.by_cookie_alone, n);
	}
}

static void test_one_cookie_of_process(void **state)
{
	static const struct whom whom = {5, 6};
	struct seam_stitch_stats st;

	(void)state;
	for (size_t n = 20; n <= 200; n += 5) {
		one_cookie(n, &whom, &st);
		assert_int_equal(st.by_process, n);
	}
}

/* Each would look at all others: 10 billion, if it did. */
static void test_one_cookie_of_all(void **state)
{
	static const struct whom whom = {5, 6};
	struct seam_stitch_stats st;

	(void)state;
	one_cookie(100000, NULL, &st);
	assert_int_equal(st.by_cookie_alone, 100000);
	one_cookie(80000, &whom, &st);
	assert_int_equal(st.by_process, 80000);
	assert_int_equal(st.unused_foreign, 80000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_unused),
		cmocka_unit_test(test_no_thread),
		cmocka_unit_test(test_one_cookie),
		cmocka_unit_test(test_one_cookie_of_process),
		cmocka_unit_test(test_one_cookie_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
