// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: records that are full, as no kernel writes them, stay records:
 * what has no room in one is left out and counted. */
#define IMAGE_WORDS 16384

#include "merged.h"

#define LARGEST 65535
#define IP 0x401000

static void add_map(struct image *m)
{
	add_header(m, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, 6);
	add(m, pair(5, 5));
	add(m, 0x400000);
	add(m, 0x10000);
	add(m, 0);
	add(m, pair(0x00007000, 0)); /* what no file is */
}

/* A header alone, of a record that goes on to the end of what is read. */
static size_t begin_sample(struct image *m, uint16_t size)
{
	size_t at = m->n;

	add(m, pair(PERF_RECORD_SAMPLE,
		    PERF_RECORD_MISC_USER | (uint32_t)size << 16));
	add(m, IP);
	add(m, pair(5, 5));
	return 8 * at + size;
}

static struct merged check(struct image *m, size_t size)
{
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r;
	struct merged merged;

	assert_true(size <= sizeof(m->w));
	assert_int_equal(seam_pd_open_mem(m->w, size, &r, &err), 0);
	assert_false(seam_pd_damage(r)->damaged);
	assert_int_equal(seam_pd_damage(r)->n_malformed, 0);
	assert_int_equal(seam_pd_count(r, PERF_RECORD_SAMPLE), 1);
	assert_true(seam_inject_needed(r));
	merged = merge(r);
	assert_int_equal(seam_pd_count(merged.r, PERF_RECORD_SAMPLE), 1);
	seam_pd_close(r);
	return merged;
}

static struct seam_pd_rec sample_of(const struct merged *m)
{
	struct seam_pd_rec rec = {0};

	for (size_t i = 0; i < seam_pd_n_records(m->r); i++) {
		seam_pd_record(m->r, i, &rec);
		if (rec.type == PERF_RECORD_SAMPLE)
			break;
	}
	assert_int_equal(rec.sample.ip, IP);
	return rec;
}

/*
 * A copy of one byte and no registers: what tells that nothing came of it
 * takes more than the copy did. The size is one that no room is left at, or
 * just enough for the leaf.
 */
static void check_copy(uint16_t size, size_t n_words)
{
	static const struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_stack_user = 8,
		.exclude_callchain_user = 1,
	};
	struct image *m = calloc(1, sizeof(*m));
	struct merged merged;
	size_t end;

	assert_non_null(m);
	begin(m, &attr, 1);
	add_map(m);
	end = begin_sample(m, size);
	add(m, 0); /* chain */
	add(m, 2); /* of 64 bits */
	add(m, 1);
	merged = check(m, end);
	assert_int_equal(sample_of(&merged).sample.chain.n, n_words);
	assert_int_equal(merged.n.missing, 1);
	assert_int_equal(merged.n.cut, !n_words);
	merged_free(&merged);
	free(m);
}

static void test_copy(void **state)
{
	(void)state;
	check_copy(LARGEST, 0);
	check_copy(65528, 0);
	/* 25 bytes are replaced by 16, and two words of the chain. */
	check_copy(65522, 0);
	check_copy(65521, 2);
	check_copy(4096, 2);
}

/* A stack of three words for a sample of which little else can be left. */
static void check_stack(uint16_t size, size_t n_words)
{
	static const struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_CALLCHAIN,
	};
	struct image *m = calloc(1, sizeof(*m));
	struct merged merged;
	size_t end;

	assert_non_null(m);
	begin(m, &attr, 1);
	add_header(m, SEAM_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER, 7);
	add(m, 7);
	add(m, 3);
	for (uint64_t i = 0; i < 3; i++)
		add(m, IP + i);
	add(m, pair(5, 5));
	end = begin_sample(m, size);
	add(m, 2);
	add(m, SEAM_CONTEXT_USER_DEFERRED);
	add(m, 7);
	merged = check(m, end);
	assert_int_equal(sample_of(&merged).sample.chain.n, n_words);
	assert_int_equal(merged.n.merged, 1);
	assert_int_equal(merged.n.cut, n_words < 4);
	merged_free(&merged);
	free(m);
}

static void test_stack(void **state)
{
	(void)state;
	check_stack(LARGEST, 0);
	check_stack(65529, 0);
	check_stack(65528, 2);
	check_stack(65520, 3);
	check_stack(65512, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
