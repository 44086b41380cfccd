// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a frame that was guessed is still marked in a merged recording
 * and in one taken apart again, none else is, and other readers find the same
 * addresses; cut stacks keep the marks that are left. */
#include "inject/unmerge.h"
#include "merged.h"
#include "seam/tracer.h"

#define DEEP 7600
#define BASE 0xa000

static const char *const patterns[] = {
	"-??????", /* guess-all */
	"--?--?-", "-?-", "--?", "---", "?-?-?-?", "-?", "?",
};

/* A frame for each character. */
static size_t methods_of(const char *pattern, uint8_t *ret)
{
	size_t n = strlen(pattern);

	for (size_t i = 0; i < n; i++)
		ret[i] = pattern[i] == '?' ? SEAM_METHOD_GUESS
			 : i		   ? SEAM_METHOD_FP
					   : SEAM_METHOD_NONE;
	return n;
}

static void put_guessed(struct seam_pd_writer *w, uint64_t time_ns,
			const uint8_t *methods, size_t n)
{
	static uint64_t ips[DEEP];
	const struct seam_pd_stack stack = {.id = id_of(5, time_ns + 1),
					    .cookie = time_ns << 16 | 1,
					    .ips = ips,
					    .n_ips = n,
					    .end = SEAM_GUESSED,
					    .methods = methods};

	for (size_t i = 0; i < DEEP; i++)
		ips[i] = BASE + i;
	put_sample(w, 5, time_ns, stack.cookie);
	assert_int_equal(seam_pd_write_stack(w, &stack), 0);
}

/* Each sample's user half is as its methods have it, as far as it goes. */
static void check_sample(struct seam_stitch *st, const uint8_t *methods,
			 size_t n, int end)
{
	struct seam_stitched s;
	const struct seam_frame *user;

	assert_int_equal(seam_stitch_next(st, &s), 1);
	assert_int_equal(s.end, end);
	assert_true(s.n_frames - s.n_kernel == n);
	user = s.frames + s.n_kernel;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(user[i].ip, BASE + i);
		assert_false(user[i].kernel);
		assert_int_equal(user[i].method == SEAM_METHOD_GUESS,
				 methods[i] == SEAM_METHOD_GUESS);
	}
}

static void check_patterns(struct seam_pd_reader *r)
{
	uint8_t methods[16];
	struct seam_stitch *st;

	assert_int_equal(seam_stitch_new(r, &st), 0);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		size_t n = methods_of(patterns[i], methods);

		check_sample(st, methods, n, SEAM_GUESSED);
	}
	seam_stitch_free(st);
}

/* Taken apart, and merged again. */
static void check_again(const struct merged *m)
{
	struct seam_errinfo err = {0};
	struct seam_unmerged parted;
	struct seam_pd_reader *r;
	struct merged again;
	char path[32];
	int fd = memfd_create("parted", 0);

	assert_int_equal(seam_unmerge(m->r, fd, false, &parted), 0);
	assert_int_equal(parted.kept, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(seam_pd_open(path, &r, &err), 0);
	assert_true(seam_inject_needed(r));
	check_patterns(r);
	again = merge(r);
	assert_int_equal(again.size, m->size);
	assert_memory_equal(again.p, m->p, m->size);
	merged_free(&again);
	seam_pd_close(r);
	close(fd);
}

/* What knows no marks takes each for what it is: the user's mode, again. */
static void check_plain(struct seam_pd_reader *r)
{
	struct seam_pd_rec rec;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		uint64_t next = BASE;

		seam_pd_record(r, i, &rec);
		assert_int_equal(rec.type, PERF_RECORD_SAMPLE);
		assert_int_equal(rec.sample.has_guesses,
				 strchr(patterns[i], '?') != NULL);
		for (size_t k = 0; k < rec.sample.chain.n; k++) {
			uint64_t ip = seam_pd_word(rec.sample.chain, k);

			assert_true(ip == next || next == BASE ||
				    ip == (uint64_t)PERF_CONTEXT_USER);
			next += ip == next;
		}
		assert_int_equal(next - BASE, strlen(patterns[i]));
	}
}

static void test_kept(void **state)
{
	uint8_t methods[16];
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct merged m;
	struct folder f;

	(void)state;
	folder_make(&f);
	w = open_writer(f.file, 0);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		put_guessed(w, 100 + 10 * i, methods,
			    methods_of(patterns[i], methods));
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	check_patterns(r);
	m = merge(r);
	assert_int_equal(m.n.cut, 0);
	check_patterns(m.r);
	check_plain(m.r);
	check_again(&m);
	merged_free(&m);
	seam_pd_close(r);
	folder_remove(&f);
}

/* Every second frame is guessed: there is no room for so many marks. */
static void test_cut(void **state)
{
	static uint8_t methods[DEEP];
	struct seam_stitched s;
	struct seam_stitch *st;
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct merged m;
	struct folder f;
	size_t n;

	(void)state;
	folder_make(&f);
	for (size_t i = 0; i < DEEP; i++)
		methods[i] = i % 2 ? SEAM_METHOD_GUESS : SEAM_METHOD_FP;
	w = open_writer(f.file, 0);
	put_guessed(w, 100, methods, DEEP);
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	m = merge(r);
	assert_int_equal(m.n.cut, 1);
	assert_int_equal(seam_stitch_new(m.r, &st), 0);
	assert_int_equal(seam_stitch_next(st, &s), 1);
	n = s.n_frames - s.n_kernel;
	seam_stitch_free(st);
	assert_in_range(n, DEEP / 2, DEEP - 1);
	assert_int_equal(seam_stitch_new(m.r, &st), 0);
	check_sample(st, methods, n, SEAM_MAX_STACK);
	seam_stitch_free(st);
	merged_free(&m);
	seam_pd_close(r);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
