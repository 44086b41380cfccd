// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a merged recording's samples have the same stacks, ends and
 * fields as those of the recording, sample for sample; what does not fit is
 * cut and counted, and what never came is missing as before. */
#include "inject/unmerge.h"
#include "merged.h"

static struct seam_pd_reader *close_and_open(struct seam_pd_writer *w,
					     const char *path)
{
	assert_int_equal(seam_pd_writer_close(w), 0);
	return open_reader(path);
}

static void same_sample(const struct seam_stitched *a,
			const struct seam_stitched *b)
{
	assert_int_equal(a->rec->time_ns, b->rec->time_ns);
	assert_int_equal(a->rec->tid, b->rec->tid);
	assert_int_equal(a->rec->cpu, b->rec->cpu);
	assert_int_equal(a->rec->id, b->rec->id);
	assert_int_equal(a->rec->sample.ip, b->rec->sample.ip);
	assert_int_equal(a->rec->sample.period, b->rec->sample.period);
	assert_string_equal(a->event, b->event);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->half == SEAM_HALF_NONE, b->half == SEAM_HALF_NONE);
	assert_int_equal(a->half == SEAM_HALF_MISSING,
			 b->half == SEAM_HALF_MISSING);
	assert_int_equal(a->n_kernel, b->n_kernel);
	assert_int_equal(a->n_frames, b->n_frames);
	for (size_t i = 0; i < a->n_frames; i++) {
		assert_int_equal(a->frames[i].ip, b->frames[i].ip);
		assert_int_equal(a->frames[i].kernel, b->frames[i].kernel);
	}
	assert_int_equal(b->cookie, 0);
}

/* Return: the samples that both have. */
static size_t same_stacks(struct seam_pd_reader *before,
			  struct seam_pd_reader *after)
{
	struct seam_stitch *s, *t;
	struct seam_stitched a, b;
	size_t n = 0;

	assert_int_equal(seam_stitch_new(before, &s), 0);
	assert_int_equal(seam_stitch_new(after, &t), 0);
	for (; seam_stitch_next(s, &a) > 0; n++) {
		assert_int_equal(seam_stitch_next(t, &b), 1);
		same_sample(&a, &b);
	}
	assert_int_equal(seam_stitch_next(t, &b), 0);
	assert_memory_equal(seam_stitch_stats(s)->end,
			    seam_stitch_stats(t)->end,
			    sizeof(seam_stitch_stats(s)->end));
	seam_stitch_free(s);
	seam_stitch_free(t);
	return n;
}

static int put_user_sample(struct seam_pd_writer *w, uint32_t tid,
			   uint64_t time_ns, uint64_t cookie)
{
	struct seam_pd_sample s = {
		.id = id_of(tid, time_ns),
		.misc = PERF_RECORD_MISC_USER,
		.ip = 0x4242,
		.period = 9,
		.cookie = cookie,
	};

	return seam_pd_write_sample(w, &s);
}

/* Every end, samples before and after their stack, such as want none, and
 * such as get none: in the kernel and in user mode, lost and pending. */
static struct seam_pd_reader *record_all(const struct folder *f, int zstd)
{
	struct seam_pd_writer *w = open_writer(f->file, zstd);
	uint64_t t = 1000;

	put_comm(w, 5, 500, "prog", false);
	put_map(w, 5, 600, 0xa000, 0x1000, "/bin/prog");
	for (int end = 0; end <= SEAM_UNPROVEN; end++, t += 100) {
		uint64_t cookie = t << 16 | 1;

		put_sample(w, 5, t, cookie);
		put_user_sample(w, 5, t + 10, cookie);
		put_stack(w, 5, t + 20, cookie, 0xa010, end, 0);
		put_sample(w, 5, t + 30, cookie); /* late */
		if (end % 4 == 0)
			seam_pd_flush(w);
	}
	put_sample(w, 5, t, 0); /* wants none */
	put_sample(w, 5, t + 10, 0xdead0001);
	put_user_sample(w, 5, t + 20, 0xdead0001);
	put_stack(w, 5, t + 30, 0xbeef0001, 0xa010, SEAM_OUTERMOST, 0);
	put_sample(w, 6, t + 40, 0xcafe0001); /* still sleeps */
	put_user_sample(w, 7, t + 50, 0xcaff0001);
	return close_and_open(w, f->file);
}

static void check_all(int zstd)
{
	struct seam_pd_reader *r;
	struct merged once, twice;
	struct folder f;

	folder_make(&f);
	r = record_all(&f, zstd);
	assert_true(seam_inject_needed(r));
	once = merge(r);
	assert_int_equal(once.n.merged, 3 * (SEAM_UNPROVEN + 1));
	assert_int_equal(once.n.missing, 4);
	assert_int_equal(once.n.cut, 0);
	assert_int_equal(once.n.joins.stacks_unused, 1);
	assert_int_equal(same_stacks(r, once.r), once.n.merged + 4 + 1);
	twice = merge(once.r);
	assert_int_equal(twice.n.merged + twice.n.missing, 0);
	assert_int_equal(twice.size, once.size);
	assert_memory_equal(twice.p, once.p, once.size);
	merged_free(&twice);
	merged_free(&once);
	seam_pd_close(r);
	folder_remove(&f);
}

static void test_all(void **state)
{
	(void)state;
	check_all(0);
	check_all(3);
}

/* Each event shows as many frames as it asked for. */
static void test_limit(void **state)
{
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct merged m;
	struct folder f;

	(void)state;
	folder_make(&f);
	w = open_writer_limited(f.file, 0, 2);
	put_sample(w, 5, 100, 0x1001);
	put_stack(w, 5, 120, 0x1001, 0xa000, SEAM_OUTERMOST, 0);
	put_sample(w, 5, 200, 0x2001);
	put_stack(w, 5, 220, 0x2001, 0xb000, 0, 0);
	r = close_and_open(w, f.file);
	m = merge(r);
	assert_int_equal(same_stacks(r, m.r), 2);
	assert_int_equal(m.n.cut, 0);
	merged_free(&m);
	seam_pd_close(r);
	folder_remove(&f);
}

/* One frame more than there is room for, and as many as there is. */
static void check_long(size_t n_kernel, size_t n_user, bool is_cut)
{
	static uint64_t ips[SEAM_PD_MAX_IPS];
	struct seam_pd_sample sample = {.id = id_of(5, 100),
					.misc = PERF_RECORD_MISC_KERNEL,
					.period = 1,
					.cookie = 0x1001,
					.kernel_ips = ips,
					.n_kernel = n_kernel};
	struct seam_pd_stack stack = {.id = id_of(5, 200),
				      .cookie = 0x1001,
				      .ips = ips,
				      .n_ips = n_user,
				      .end = SEAM_OUTERMOST};
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct seam_stitch *s;
	struct seam_stitched out;
	struct merged m;
	struct folder f;

	folder_make(&f);
	for (size_t i = 0; i < SEAM_PD_MAX_IPS; i++)
		ips[i] = 0x1000 + i;
	w = open_writer(f.file, 0);
	assert_int_equal(seam_pd_write_sample(w, &sample), 0);
	assert_int_equal(seam_pd_write_stack(w, &stack), 0);
	r = close_and_open(w, f.file);
	m = merge(r);
	assert_int_equal(m.n.cut, is_cut);
	assert_int_equal(seam_stitch_new(m.r, &s), 0);
	assert_int_equal(seam_stitch_next(s, &out), 1);
	assert_int_equal(out.end, is_cut ? SEAM_MAX_STACK : SEAM_OUTERMOST);
	assert_int_equal(out.n_kernel, n_kernel);
	assert_int_equal(out.n_frames, n_kernel + n_user - is_cut);
	assert_int_equal(out.frames[n_kernel].ip, 0x1000);
	assert_int_equal(out.frames[out.n_frames - 1].ip,
			 0x1000 + n_user - 1 - is_cut);
	seam_stitch_free(s);
	merged_free(&m);
	seam_pd_close(r);
	folder_remove(&f);
}

static void test_long(void **state)
{
	/* 65,528 bytes less the header, seven words before the chain, its
	 * count and two markers. */
	const size_t room = 65528 / 8 - 1 - 6 - 1 - 2;

	(void)state;
	check_long(room - 7500, 7500, false);
	check_long(room - 7500 + 1, 7500, true);
}

/* Events as our recorder's. */
static struct seam_pd_writer *open_with_entries(const char *path)
{
	static const uint64_t ids[] = {EVENT_ID};
	struct seam_pd_event event = {.name = "e", .ids = ids, .n_ids = 1};
	struct seam_pd_opts opts = {
		.sz = sizeof(opts), .events = &event, .n_events = 1};
	struct seam_errinfo err = {0};
	struct seam_pd_writer *w;

	event.attr.type = PERF_TYPE_SOFTWARE;
	event.attr.sample_period = 1000;
	seam_pd_want_user_ip(&event.attr);
	assert_int_equal(seam_pd_writer_open(path, &opts, &w, &err), 0);
	return w;
}

static void put_halves(struct seam_pd_writer *w, uint64_t time_ns,
		       uint64_t cookie, uint64_t entry, int end,
		       size_t n_kernel)
{
	const struct seam_pd_sample s = {
		.id = id_of(5, time_ns),
		.misc = PERF_RECORD_MISC_KERNEL,
		.ip = kernel_ips[0],
		.period = 7,
		.cookie = cookie,
		.kernel_ips = kernel_ips,
		.n_kernel = n_kernel,
		.has_user_ip = true,
		.user_ip = entry,
		.end = end,
	};

	assert_int_equal(seam_pd_write_sample(w, &s), 0);
}

static void put_entered(struct seam_pd_writer *w, uint64_t time_ns,
			uint64_t cookie, uint64_t entry, int end)
{
	put_halves(w, time_ns, cookie, entry, end, 2);
}

/* What is known of a half that never came is in the chain, where others look.
 */
static void check_chain(const struct seam_pd_reader *r, size_t i,
			uint64_t entry, int end)
{
	struct seam_pd_words chain;
	struct seam_pd_rec rec;

	seam_pd_record(r, i, &rec);
	chain = rec.sample.chain;
	assert_int_equal(rec.sample.end, end);
	assert_true(chain.n >= 2);
	assert_true(seam_pd_word(chain, chain.n - 2) ==
		    (uint64_t)PERF_CONTEXT_USER);
	assert_int_equal(seam_pd_word(chain, chain.n - 1), entry);
}

static struct seam_pd_reader *open_parted(int fd)
{
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(seam_pd_open(path, &r, &err), 0);
	return r;
}

static void test_entry(void **state)
{
	struct merged m, again;
	struct seam_unmerged parted;
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct folder f;
	int fd;

	(void)state;
	folder_make(&f);
	w = open_with_entries(f.file);
	put_entered(w, 100, 0x1001, 0xa010, 0); /* lost */
	put_entered(w, 200, 0, 0xa020, 0); /* its cookie was, too */
	put_entered(w, 300, 0x3001, 0xa030, 0);
	put_stack(w, 5, 310, 0x3001, 0xa030, SEAM_OUTERMOST, 0);
	put_entered(w, 400, 0, 0, 0); /* wants none */
	/* To these none was to come. */
	put_entered(w, 410, 0, 0xa040, SEAM_EXITED);
	put_entered(w, 420, 0, 0xa050, SEAM_LOST);
	put_stack(w, 5, 500, 0, 0, SEAM_OUTERMOST, 0); /* no more come */
	r = close_and_open(w, f.file);
	m = merge(r);
	assert_int_equal(m.n.missing, 4);
	check_chain(m.r, 0, 0xa010, SEAM_LOST);
	check_chain(m.r, 1, 0xa020, SEAM_LOST);
	check_chain(m.r, 4, 0xa040, SEAM_EXITED);
	check_chain(m.r, 5, 0xa050, SEAM_LOST);
	assert_int_equal(same_stacks(r, m.r), 6);
	again = merge(m.r);
	assert_int_equal(again.size, m.size);
	assert_memory_equal(again.p, m.p, m.size);
	merged_free(&again);
	fd = memfd_create("parted", 0);
	assert_int_equal(seam_unmerge(m.r, fd, false, &parted), 0);
	seam_pd_close(r);
	r = open_parted(fd);
	again = merge(r);
	assert_int_equal(again.size, m.size);
	assert_memory_equal(again.p, m.p, m.size);
	merged_free(&again);
	merged_free(&m);
	seam_pd_close(r);
	close(fd);
	folder_remove(&f);
}

/* Whose kernel half was not wanted gets none for a user half that is lost. */
static void test_entry_alone(void **state)
{
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct merged m, again;
	struct seam_pd_rec rec;
	struct folder f;

	(void)state;
	folder_make(&f);
	w = open_with_entries(f.file);
	put_halves(w, 100, 0x1001, 0xa010, 0, 0);
	put_halves(w, 200, 0, 0xa020, 0, 0);
	put_halves(w, 300, 0, 0xa030, SEAM_LOST, 0);
	put_stack(w, 5, 500, 0, 0, SEAM_OUTERMOST, 0); /* no more come */
	r = close_and_open(w, f.file);
	m = merge(r);
	for (size_t i = 0; i < 3; i++) {
		check_chain(m.r, i, 0xa010 + 0x10 * i, SEAM_LOST);
		seam_pd_record(m.r, i, &rec);
		assert_int_equal(rec.sample.chain.n, 2);
	}
	assert_int_equal(same_stacks(r, m.r), 3);
	again = merge(m.r);
	assert_int_equal(again.size, m.size);
	assert_memory_equal(again.p, m.p, m.size);
	merged_free(&again);
	merged_free(&m);
	seam_pd_close(r);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_entry_alone),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
