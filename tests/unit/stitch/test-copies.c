// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Description: samples that hold a copy of their stack are unwound. One that is
 * cut says so, and what size would have done; merged into the samples, the
 * stacks are the same, and the copies gone. What the stack before had in common
 * is no other than unwound alone.
 */
#include "moment.h"

#include <sys/mman.h>

#include "inject/inject.h"

static void whole(void **state)
{
	struct image m;
	struct read in;

	(void)state;
	start(&m, false);
	add_sample(&m, &now, (struct with){0});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	check_frames(&in.out, 0);
	assert_true(in.out.from_copy);
	assert_int_equal(in.out.n_kernel, 0);
	assert_int_equal(seam_stitch_stats(in.s)->copies, 1);
	close_all(&in);
}

/* The size that is told is one that does, and 8 bytes less does not. */
static void cut(void **state)
{
	const struct seam_stitch_stats *st;
	struct image m;
	struct read in;
	size_t size;

	(void)state;
	start(&m, false);
	add_sample(&m, &now, (struct with){.room = 64});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_UNREADABLE);
	assert_true(in.out.depth <= 64);
	close_all(&in);

	start(&m, false);
	add_sample(&m, &now, (struct with){.room = 64});
	add_sample(&m, &now, (struct with){0});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_UNREADABLE);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	assert_int_equal(seam_stitch_next(in.s, &in.out), 0);
	st = seam_stitch_stats(in.s);
	assert_int_equal(st->copies_cut, 1);
	assert_false(st->copy_size_is_least);
	size = st->copy_size;
	assert_true(size > 64 && size <= now.size);
	close_all(&in);

	start(&m, false);
	add_sample(&m, &now, (struct with){.room = size});
	add_sample(&m, &now, (struct with){.room = size - 8});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	next(&in, SEAM_HALF_WITH, SEAM_UNREADABLE);
	close_all(&in);
}

/* Kernel threads map nothing. */
static void no_user(void **state)
{
	struct perf_event_attr attr = clock_attr;
	struct image m = {0};
	struct read in;

	(void)state;
	begin(&m, &attr, 1);
	add_sample(&m, &now,
		   (struct with){.misc = PERF_RECORD_MISC_KERNEL,
				 .no_regs = true});
	open_all(&in, &m);
	next(&in, SEAM_HALF_NONE, SEAM_NO_USER);
	assert_int_equal(seam_stitch_stats(in.s)->copies, 0);
	close_all(&in);
}

static void add_exec(struct image *m)
{
	add_header(m, PERF_RECORD_COMM, 1 << 13, 4);
	add(m, pair(5, 5));
	add(m, 'x');
	add(m, 0);
}

/* In a system call at an ip that no mapping has. */
static struct moment call_at(uint64_t ip)
{
	struct moment at = now;

	at.regs[AX] = (uint64_t)-38;
	at.regs[IP] = at.regs[CX] = ip;
	at.regs[FLAGS] = at.regs[13] = 0x246; /* r11 */
	return at;
}

static void add_call(struct image *m, uint64_t ip)
{
	const struct moment at = call_at(ip);

	add_sample(m, &at,
		   (struct with){.misc = PERF_RECORD_MISC_KERNEL,
				 .ip = UINT64_MAX - 4095});
}

/* The call may be of the program that was replaced, until there are others;
 * else its mapping was lost. */
static void replaced(void **state)
{
	struct image m;
	struct read in;

	(void)state;
	start(&m, false);
	add_call(&m, 0x5000);
	add_exec(&m);
	add_call(&m, 0x5000);
	add_call(&m, 0x5000);
	add_call(&m, 0x6000);
	add_call(&m, 0x5000);
	add_exec(&m);
	add_maps(&m, 5);
	add_call(&m, 0x5000);
	add_sample(&m, &now, (struct with){0});
	add_call(&m, 0x5000);
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_NO_TABLE);
	next(&in, SEAM_HALF_WITH, SEAM_EXEC);
	next(&in, SEAM_HALF_WITH, SEAM_EXEC);
	next(&in, SEAM_HALF_WITH, SEAM_NO_TABLE);
	next(&in, SEAM_HALF_WITH, SEAM_NO_TABLE);
	next(&in, SEAM_HALF_WITH, SEAM_EXEC);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	next(&in, SEAM_HALF_WITH, SEAM_NO_TABLE);
	close_all(&in);
}

/* What is said to be of another machine: a copy, and a sample without one. */
static void foreign(void **state)
{
	const struct seam_stitch_stats *st;
	struct image m;
	struct read in;

	(void)state;
	start(&m, false);
	add_header(&m, PD_HEADER_FEATURE, 0, 4);
	add(&m, PD_FEAT_ARCH);
	add(&m, pair(8, 0x30393373)); /* s390 */
	add(&m, 0);
	add_sample(&m, &now, (struct with){0});
	add_sample(&m, &now, (struct with){.no_regs = true});
	open_all(&in, &m);
	next(&in, SEAM_HALF_WITH, SEAM_NO_TABLE);
	assert_int_equal(in.out.n_frames, 1);
	next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
	st = seam_stitch_stats(in.s);
	assert_int_equal(st->copies, 1);
	assert_int_equal(st->copies_foreign, 1);
	close_all(&in);
}

/* More than a window, so that threads are at it: each in its place. */
static void many(void **state)
{
	struct image *m = malloc(sizeof(*m));
	struct moment *at = malloc(7 * sizeof(*at));
	struct read in;
	size_t n = 0;

	(void)state;
	assert_non_null(m);
	assert_non_null(at);
	for (size_t i = 0; i < 7; i++) {
		at[i] = now;
		at[i].regs[IP] += i;
	}
	start(m, false);
	for (; m->n + 64 < IMAGE_WORDS; n++)
		add_sample(m, &at[n % 7],
			   (struct with){.room = 8 * (1 + n % 3),
					 .tid = (uint32_t)(100 + n)});
	open_all(&in, m);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(seam_stitch_next(in.s, &in.out), 1);
		assert_int_equal(in.out.rec->tid, 100 + i);
		assert_true(in.out.depth <= 8 * (1 + i % 3));
		assert_int_equal(in.out.frames[0].ip, now.regs[IP] + i % 7);
	}
	assert_int_equal(seam_stitch_stats(in.s)->copies, n);
	close_all(&in);
	free(at);
	free(m);
}

/* Where the word is in the copy that leads to the outer caller. */
static uint8_t *outer_word(struct moment *m)
{
	for (size_t at = 16; at < 16 + m->size; at += 8)
		if (!memcmp(m->stack + at, &now.callers[1], 8))
			return m->stack + at;
	return NULL;
}

struct variant {
	struct moment of;
	struct with with;
	bool is_hidden; /* the outer caller is in no file */
};

static void add_variant(struct image *m, const struct variant *v)
{
	const uint64_t at[3] = {now.callers[1] - 1, now.callers[1] + 1, 0};

	if (v->is_hidden)
		add_map(m, 5, at, "//anon");
	add_sample(m, &v->of, v->with);
}

static void same_as_alone(struct read *in, const struct variant *v)
{
	struct image *m = malloc(sizeof(*m));
	struct read alone;

	assert_non_null(m);
	start(m, false);
	add_variant(m, v);
	open_all(&alone, m);
	assert_int_equal(seam_stitch_next(alone.s, &alone.out), 1);
	assert_int_equal(seam_stitch_next(in->s, &in->out), 1);
	assert_int_equal(in->out.end, alone.out.end);
	assert_int_equal(in->out.depth, alone.out.depth);
	assert_int_equal(in->out.n_frames, alone.out.n_frames);
	for (size_t i = 0; i < alone.out.n_frames; i++) {
		assert_int_equal(in->out.frames[i].ip, alone.out.frames[i].ip);
		assert_int_equal(in->out.frames[i].method,
				 alone.out.frames[i].method);
	}
	close_all(&alone);
	free(m);
}

/* The first stack's steps are taken again in those where nothing of them has
 * changed: not where a word has, or is behind the copy, or what is mapped. */
static void again(void **state)
{
	const uint64_t other = (uint64_t)(uintptr_t)push_first + 1;
	struct variant *v = calloc(6, sizeof(*v));
	struct image *m = malloc(sizeof(*m));
	struct read in;
	size_t off;

	(void)state;
	assert_non_null(v);
	assert_non_null(m);
	for (size_t i = 0; i < 6; i++)
		v[i].of = now;
	assert_non_null(outer_word(&v[2].of));
	memcpy(outer_word(&v[2].of), &other, 8);
	off = (size_t)(outer_word(&v[3].of) - v[3].of.stack) - 16;
	v[3].with.room = off;
	v[4].with.room = off + 8;
	v[5].is_hidden = true;
	start(m, false);
	for (size_t i = 0; i < 6; i++)
		add_variant(m, &v[i]);
	open_all(&in, m);
	for (size_t i = 0; i < 6; i++) {
		same_as_alone(&in, &v[i]);
		if (i == 2)
			assert_int_equal(in.out.frames[2].ip, other);
		assert_int_equal(in.out.end == SEAM_OUTERMOST, i < 2);
	}
	close_all(&in);
	free(m);
	free(v);
}

/* The same stacks without copies; and there is nothing left to merge. */
static void merged(void **state)
{
	const struct with kernel = {.misc = PERF_RECORD_MISC_KERNEL};
	struct seam_injected n;
	struct seam_errinfo err;
	struct image m;
	struct read in;
	void *p;
	int fd = memfd_create("merged", 0);

	(void)state;
	start(&m, false);
	add_sample(&m, &now, (struct with){0});
	add_sample(&m, &now, (struct with){.room = 64});
	add_sample(&m, &now, (struct with){kernel.misc, .no_regs = true});
	in.r = open_image(&m);
	assert_true(seam_inject_needed(in.r));
	assert_int_equal(seam_inject(in.r, fd, NULL, &n), 0);
	seam_pd_close(in.r);
	assert_int_equal(n.merged, 2);
	p = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(seam_pd_open_mem(p, (size_t)lseek(fd, 0, SEEK_END),
					  &in.r, &err),
			 0);
	assert_false(seam_inject_needed(in.r));
	assert_int_equal(seam_stitch_new(in.r, &in.s), 0);
	next(&in, SEAM_HALF_WITH, SEAM_OUTERMOST);
	check_frames(&in.out, 0);
	assert_int_equal(in.out.rec->sample.user_stack_room, 0);
	next(&in, SEAM_HALF_WITH, SEAM_UNREADABLE);
	next(&in, SEAM_HALF_WITH, SEAM_UNSURE);
	close_all(&in);
	munmap(p, 65536);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),   cmocka_unit_test(cut),
		cmocka_unit_test(no_user), cmocka_unit_test(foreign),
		cmocka_unit_test(many),	   cmocka_unit_test(again),
		cmocka_unit_test(merged),  cmocka_unit_test(replaced),
	};

	take_now();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
