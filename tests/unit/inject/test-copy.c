// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what is not merged is copied byte for byte: other records, the
 * bytes behind them, the rest of a sample, features; no event asks for
 * deferral any more, and the index of AUX data follows it. */
#include <errno.h>
#include <fcntl.h>

#include "inject/unmerge.h"
#include "merged.h"
#include "perfdata/copy.h"

#define ID 100
#define DEFERRED SEAM_RECORD_CALLCHAIN_DEFERRED
#define RAW_TYPE                                                               \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |           \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |          \
	 PERF_SAMPLE_WEIGHT)

static const struct perf_event_attr raw_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.sample_type = RAW_TYPE,
	.sample_id_all = 1,
};

static uint64_t deferral(const void *attr)
{
	uint64_t flags;

	memcpy(&flags, (const uint8_t *)attr + SEAM_ATTR_FLAGS_OFFSET,
	       sizeof(flags));
	return flags & (1ULL << SEAM_ATTR_DEFER_CALLCHAIN |
			1ULL << SEAM_ATTR_DEFER_OUTPUT);
}

static void ask_deferral(uint64_t *attr)
{
	attr[SEAM_ATTR_FLAGS_OFFSET / 8] |= 1ULL << SEAM_ATTR_DEFER_CALLCHAIN |
					    1ULL << SEAM_ATTR_DEFER_OUTPUT;
}

static void add_sample(struct image *m, uint64_t time_ns, uint64_t cookie)
{
	add_header(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, 12);
	add(m, ID);
	add(m, 0xffffffff81000000); /* ip */
	add(m, pair(5, 5));
	add(m, time_ns);
	add(m, 3); /* chain */
	add(m, 0xffffffff81000000);
	add(m, SEAM_CONTEXT_USER_DEFERRED);
	add(m, cookie);
	add(m, pair(12, 0x11111111)); /* raw */
	add(m, 0x2222222222222222);
	add(m, 0x3333333333333333); /* weight */
}

static void add_stack(struct image *m, uint64_t time_ns, uint64_t cookie)
{
	add_header(m, DEFERRED, PERF_RECORD_MISC_USER, 8);
	add(m, cookie);
	add(m, 2);
	add(m, 0xa000);
	add(m, 0xb000);
	add(m, pair(5, 5));
	add(m, time_ns);
	add(m, ID);
}

static void add_merged(struct image *m, uint64_t time_ns)
{
	add_sample(m, time_ns, 0);
	m->n -= 12;
	add_header(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, 13);
	m->n += 4;
	add(m, 4);
	add(m, 0xffffffff81000000);
	add(m, (uint64_t)PERF_CONTEXT_USER);
	add(m, 0xa000);
	add(m, 0xb000);
	add(m, pair(12, 0x11111111));
	add(m, 0x2222222222222222);
	add(m, 0x3333333333333333);
}

/* Records that the reader reads over, two with bytes behind them. */
static void add_others(struct image *m)
{
	add_header(m, 99, 0x1234, 3); /* nobody's yet */
	add(m, 1);
	add(m, 2);
	add_header(m, PD_HEADER_TRACING_DATA, 0, 2);
	add(m, pair(15, 0));
	add(m, 3);
	add(m, 4);
	add_header(m, PD_AUXTRACE, 0, 6);
	add(m, 8);
	for (int i = 0; i < 5; i++)
		add(m, 5 + (uint64_t)i);
	add_header(m, PD_FINISHED_ROUND, 0, 1);
}

/* A feature as a record: its words. */
static void add_feature(struct image *m, unsigned bit, uint64_t word)
{
	add_header(m, PD_HEADER_FEATURE, 0, 3);
	add(m, bit);
	add(m, word);
}

static void test_stream(void **state)
{
	struct image old = {0}, new = {0};
	struct seam_pd_reader *r;
	struct merged m;

	(void)state;
	begin(&old, &raw_attr, 1);
	begin(&new, &raw_attr, 1);
	ask_deferral(old.w + 3);
	add_feature(&old, PD_FEAT_NRCPUS, pair(2, 2));
	add_feature(&old, PD_FEAT_COMPRESSED, 0);
	add_feature(&new, PD_FEAT_NRCPUS, pair(2, 2));
	add_sample(&old, 100, 7);
	add_others(&old);
	add_stack(&old, 110, 7);
	add_sample(&old, 120, 8);
	add_stack(&old, 130, 8);
	add_merged(&new, 100);
	add_others(&new);
	add_merged(&new, 120);
	r = open_image(&old);
	m = merge(r);
	assert_int_equal(m.size, 8 * new.n);
	assert_memory_equal(m.p, new.w, m.size);
	merged_free(&m);
	seam_pd_close(r);
}

/* A file: header, an id, an attribute, data, features. */
static void begin_file(struct image *m, size_t attr_words)
{
	const size_t front = sizeof(struct pd_header) / 8;
	struct pd_header h = {.magic = PD_MAGIC,
			      .size = sizeof(h),
			      .attr_size = 8 * attr_words + 16,
			      .attrs = {8 * (front + 1), 8 * attr_words + 16},
			      .data.offset = 8 * (front + 1 + attr_words + 2)};
	struct perf_event_attr attr = raw_attr;

	attr.size = (uint32_t)(8 * attr_words);
	memset(m->w, 0, h.data.offset);
	memcpy(m->w, &h, sizeof(h));
	m->w[front] = ID;
	memcpy(m->w + front + 1, &attr, 128);
	m->n = front + 1 + attr_words;
	add(m, 8 * front);
	add(m, 8);
}

static struct pd_header *header_of(struct image *m)
{
	return (struct pd_header *)m->w;
}

static void end_data(struct image *m)
{
	struct pd_header *h = header_of(m);

	h->data.size = 8 * m->n - h->data.offset;
}

static struct pd_header new_header(const struct merged *m)
{
	struct pd_header h;

	memcpy(&h, m->p, sizeof(h));
	return h;
}

static struct pd_section new_section(const struct merged *m, size_t i)
{
	struct pd_header h = new_header(m);
	struct pd_section s;

	memcpy(&s, m->p + h.data.offset + h.data.size + i * sizeof(s),
	       sizeof(s));
	assert_true(s.offset <= m->size && s.size <= m->size - s.offset);
	return s;
}

static void check_file(size_t attr_words, size_t new_words)
{
	const size_t front = sizeof(struct pd_header) / 8;
	struct image old = {0};
	struct seam_pd_reader *r;
	struct merged m;
	struct pd_header h;
	uint64_t index[3];
	uint32_t size;
	size_t aux, features;

	begin_file(&old, attr_words);
	ask_deferral(old.w + front + 1);
	add_sample(&old, 100, 7);
	add_stack(&old, 110, 7);
	aux = 8 * old.n;
	add_header(&old, PD_AUXTRACE, 0, 6);
	add(&old, 8);
	for (int i = 0; i < 5; i++)
		add(&old, 5 + (uint64_t)i);
	end_data(&old);
	header_of(&old)->features[0] = 1ULL << PD_FEAT_HOSTNAME |
				       1ULL << PD_FEAT_AUXTRACE |
				       1ULL << PD_FEAT_COMPRESSED;
	features = 8 * old.n + 3 * 16;
	add(&old, features);
	add(&old, 16);
	add(&old, features + 16);
	add(&old, 24);
	add(&old, features);
	add(&old, 16);
	add(&old, pair(5, 0x74736f68)); /* "host" */
	add(&old, 0);
	add(&old, 1);
	add(&old, aux);
	add(&old, 7);

	r = open_image(&old);
	m = merge(r);
	h = new_header(&m);
	assert_int_equal(h.features[0],
			 1ULL << PD_FEAT_HOSTNAME | 1ULL << PD_FEAT_AUXTRACE);
	assert_int_equal(h.attr_size, 8 * new_words + 16);
	assert_int_equal(h.attrs.size, h.attr_size);
	assert_int_equal(deferral(m.p + h.attrs.offset), 0);
	memcpy(&size, m.p + h.attrs.offset + 4, sizeof(size));
	assert_int_equal(size, 8 * new_words);
	assert_int_equal(h.data.size, 8 * (13 + 7));
	assert_int_equal(seam_pd_event_by_id(m.r, ID), 0);
	assert_memory_equal(m.p + new_section(&m, 0).offset,
			    old.w + features / 8, 16);
	assert_int_equal(new_section(&m, 1).size, sizeof(index));
	memcpy(index, m.p + new_section(&m, 1).offset, sizeof(index));
	assert_int_equal(index[0], 1);
	assert_int_equal(index[1], h.data.offset + 8 * 13);
	assert_memory_equal(m.p + index[1], old.w + aux / 8, 8 * 7);
	merged_free(&m);
	seam_pd_close(r);
}

/* Attributes as short as the oldest, and longer ones. */
static void test_file(void **state)
{
	(void)state;
	check_file(16, 16);
	check_file(18, 16);
}

/* One that says something where perf 6.1 knows nothing: no copy for perf 6.1,
 * but one for those who know deferral. */
static void test_says_more(void **state)
{
	const size_t front = sizeof(struct pd_header) / 8;
	int file = memfd_create("copy", MFD_CLOEXEC);
	struct seam_pd_reader *r;
	struct seam_unmerged undone;
	struct seam_injected done;
	struct image old = {0};
	struct pd_header h;
	uint64_t cut;

	(void)state;
	begin_file(&old, 18);
	old.w[front + 18] = 1;
	add_merged(&old, 100);
	end_data(&old);
	r = open_image(&old);
	assert_int_equal(seam_inject(r, file, NULL, &done), -EOPNOTSUPP);
	assert_int_equal(seam_pd_copy_bytes(r, file, true, &cut), -EOPNOTSUPP);
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(seam_unmerge(r, file, false, &undone), 0);
	assert_int_equal(pread(file, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(h.attr_size, 18 * 8 + 16);
	close(file);
	seam_pd_close(r);
}

static void words_are(int fd, const struct image *m)
{
	uint64_t words[sizeof(m->w) / 8];

	assert_int_equal(pread(fd, words, sizeof(words), 0), 8 * m->n);
	assert_memory_equal(words, m->w, 8 * m->n);
}

/* What waits for no stack: but for attributes the file stays, with zeros left
 * between; of a pipe, what is behind them comes closer. */
static void test_as_it_is(void **state)
{
	const size_t front = sizeof(struct pd_header) / 8;
	int file = memfd_create("copy", MFD_CLOEXEC);
	int stream = memfd_create("copy", MFD_CLOEXEC);
	struct image old = {0}, pipe = {0}, new = {0};
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r;
	uint64_t cut;

	(void)state;
	begin_file(&old, 18);
	add_merged(&old, 100);
	end_data(&old);
	r = open_image(&old);
	assert_int_equal(seam_pd_copy_bytes(r, file, false, &cut), 0);
	assert_int_equal(cut, 0);
	words_are(file, &old);
	assert_int_equal(seam_pd_copy_bytes(r, file, true, &cut), 0);
	assert_int_equal(cut, 1);
	seam_pd_close(r);
	old.w[2] = 16 * 8 + 16;
	old.w[4] = 16 * 8 + 16;
	old.w[front + 1] = pair(PERF_TYPE_SOFTWARE, 128);
	old.w[front + 1 + 16] = 8 * front;
	old.w[front + 1 + 17] = 8;
	words_are(file, &old);

	begin(&new, &raw_attr, 1);
	memcpy(pipe.w, new.w, 8 * (2 + 1 + 16));
	memcpy(pipe.w + 2 + 1 + 18, new.w + 2 + 1 + 16, 8);
	pipe.n = new.n + 2;
	((struct perf_event_header *)(pipe.w + 2))->size += 16;
	pipe.w[3] = pair(PERF_TYPE_SOFTWARE, 144);
	new.w[3] = pair(PERF_TYPE_SOFTWARE, 128);
	add_merged(&pipe, 100);
	add_merged(&new, 100);
	add_others(&pipe);
	add_others(&new);
	pipe.w[pipe.n++] = new.w[new.n++] = 1; /* no whole record */
	assert_int_equal(seam_pd_open_mem(pipe.w, 8 * pipe.n, &r, &err), 0);
	assert_int_equal(seam_pd_copy_bytes(r, stream, true, &cut), 0);
	assert_int_equal(cut, 1);
	words_are(stream, &new);
	seam_pd_close(r);
	close(file);
	close(stream);
}

/* A user stack alone: the data must not have the size of nobody's. */
static void test_nothing_left(void **state)
{
	struct image old = {0};
	struct seam_pd_reader *r;
	struct merged m;

	(void)state;
	begin_file(&old, 16);
	add_stack(&old, 110, 7);
	end_data(&old);
	r = open_image(&old);
	m = merge(r);
	assert_int_equal(seam_pd_n_records(m.r), 0);
	assert_int_equal(m.n.joins.stacks_unused, 1);
	merged_free(&m);
	seam_pd_close(r);
}

/* What the writer leaves: features as records and as a table. */
static void test_features(void **state)
{
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	const struct seam_pd_info *a, *b;
	struct merged m;
	struct folder f;
	size_t n = 0;

	(void)state;
	folder_make(&f);
	w = open_writer(f.file, 3);
	put_sample(w, 5, 100, 0x1001);
	put_stack(w, 5, 120, 0x1001, 0xa000, SEAM_OUTERMOST, 0);
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	m = merge(r);
	a = seam_pd_info(r);
	b = seam_pd_info(m.r);
	assert_true(a->compressed && !b->compressed);
	assert_string_equal(a->hostname, b->hostname);
	assert_string_equal(a->osrelease, b->osrelease);
	assert_string_equal(a->version, b->version);
	assert_string_equal(a->cmdline, b->cmdline);
	assert_int_equal(a->wall_clock_ns, b->wall_clock_ns);
	assert_int_equal(seam_pd_n_events(m.r), seam_pd_n_events(r));
	for (size_t i = 0; i < seam_pd_n_events(r); i++) {
		const struct seam_pd_attr *x = seam_pd_event(r, i);
		const struct seam_pd_attr *y = seam_pd_event(m.r, i);

		assert_true(deferral(&x->attr) && !deferral(&y->attr));
		assert_string_equal(x->name, y->name);
		assert_int_equal(x->n_ids, y->n_ids);
		assert_memory_equal(x->ids, y->ids, 8 * x->n_ids);
	}
	/* Wherever an attribute of ours is, it does not ask. */
	for (size_t at = 0; at + SEAM_ATTR_SIZE <= m.size; at++) {
		struct perf_event_attr attr;

		memcpy(&attr, m.p + at, sizeof(attr));
		if (attr.type != PERF_TYPE_SOFTWARE ||
		    attr.size != SEAM_ATTR_SIZE ||
		    attr.sample_type != SEAM_PD_SAMPLE_TYPE)
			continue;
		n++;
		assert_int_equal(deferral(m.p + at), 0);
	}
	assert_int_equal(n, 3 * 2); /* itself, the table's, the record's */
	merged_free(&m);
	seam_pd_close(r);
	folder_remove(&f);
}

static void test_refused(void **state)
{
	struct image old = {0};
	struct seam_pd_reader *r;
	struct seam_injected n;
	uint64_t cut;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)state;
	begin(&old, &raw_attr, 1);
	add_sample(&old, 100, 7);
	r = open_image(&old);
	assert_int_equal(seam_inject(r, zero, NULL, &n), -EBADF);
	assert_int_equal(seam_pd_copy_bytes(r, zero, false, &cut), -EBADF);
	if (full >= 0) {
		assert_int_equal(seam_inject(r, full, NULL, &n), -ENOSPC);
		close(full);
	}
	close(zero);
	seam_pd_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_says_more),
		cmocka_unit_test(test_as_it_is),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
