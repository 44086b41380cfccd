// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a pipe's recording that becomes a file is read as the pipe's,
 * record by record, in either byte order, cut off and damaged ones too; what
 * pipes alone have in records is where a file has it, and no record any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "perfdata/copy.h"
#include "perfdata/reader-priv.h"
#include "piped.h"
#include "tests/unit/oom-wrap.h"
#include "tests/unit/perfdata/made.h"
#include "tests/unit/random.h"

struct filed {
	int fd;
	uint8_t *p;
	size_t size;
	struct seam_pd_reader *r;
};

static struct seam_pd_reader *open_bytes(const uint8_t *p, size_t size)
{
	struct seam_errinfo err = {0};
	struct seam_pd_reader *r = NULL;

	assert_int_equal(seam_pd_open_mem(p, size, &r, &err), 0);
	return r;
}

static struct pd_header header_of(const struct filed *f)
{
	struct pd_header h;

	assert_true(f->size >= sizeof(h));
	memcpy(&h, f->p, sizeof(h));
	if (f->r->swap)
		seam_pd_swap_header(&h);
	return h;
}

static struct filed file_of(struct seam_pd_reader *r)
{
	struct filed f = {.fd = memfd_create("filed", MFD_CLOEXEC)};
	uint64_t cut;

	assert_int_equal(seam_pd_copy_plain(r, f.fd, true, false, &cut), 0);
	f.size = (size_t)lseek(f.fd, 0, SEEK_END);
	f.p = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, f.fd, 0);
	assert_true(f.p != MAP_FAILED);
	f.r = open_bytes(f.p, f.size);
	assert_false(seam_pd_damage(f.r)->damaged);
	assert_int_equal(seam_pd_damage(f.r)->n_malformed, 0);
	return f;
}

static void filed_free(struct filed *f)
{
	seam_pd_close(f->r);
	munmap(f->p, f->size);
	close(f->fd);
}

static void same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a)
		assert_string_equal(a, b);
}

static void same_front(struct seam_pd_reader *a, struct seam_pd_reader *b)
{
	const struct seam_pd_info *x = seam_pd_info(a), *y = seam_pd_info(b);

	same_text(x->hostname, y->hostname);
	same_text(x->osrelease, y->osrelease);
	same_text(x->cmdline, y->cmdline);
	assert_int_equal(x->n_cpus_online, y->n_cpus_online);
	assert_int_equal(x->clockid_ns, y->clockid_ns);
	assert_int_equal(x->swapped, y->swapped);
	assert_int_equal(x->tracing_len, y->tracing_len);
	if (x->tracing)
		assert_memory_equal(x->tracing, y->tracing, x->tracing_len);
	assert_int_equal(seam_pd_n_events(a), seam_pd_n_events(b));
	for (size_t i = 0; i < seam_pd_n_events(a); i++) {
		const struct seam_pd_attr *p = seam_pd_event(a, i);
		const struct seam_pd_attr *q = seam_pd_event(b, i);
		struct perf_event_attr attr = p->attr;

		attr.size = q->attr.size;
		assert_memory_equal(&attr, &q->attr, sizeof(attr));
		assert_int_equal(p->flags, q->flags);
		assert_string_equal(p->name, q->name);
		assert_int_equal(p->n_ids, q->n_ids);
		if (p->n_ids)
			assert_memory_equal(p->ids, q->ids, 8 * p->n_ids);
	}
}

/* Byte by byte, in the order of time. */
static void same_records(struct seam_pd_reader *a, struct seam_pd_reader *b)
{
	assert_int_equal(seam_pd_n_records(a), seam_pd_n_records(b));
	for (size_t i = 0; i < seam_pd_n_records(a); i++) {
		const uint8_t *p = seam_pd_raw(a, i), *q = seam_pd_raw(b, i);
		struct seam_pd_rec x, y;

		assert_memory_equal(p, q, pd_record_header(p, a->swap).size);
		seam_pd_record(a, i, &x);
		seam_pd_record(b, i, &y);
		assert_int_equal(x.event, y.event);
		assert_int_equal(x.time_ns, y.time_ns);
	}
}

static bool is_gone(uint32_t type)
{
	return type == PD_HEADER_ATTR || type == PD_HEADER_FEATURE ||
	       type == PD_HEADER_BUILD_ID || type == PD_HEADER_TRACING_DATA ||
	       type == PD_COMPRESSED;
}

static void check_same(struct seam_pd_reader *r)
{
	struct filed f = file_of(r);
	struct pd_header h = header_of(&f);

	assert_int_equal(h.size, sizeof(h));
	assert_int_equal(h.features[0] & 1ULL << PD_FEAT_COMPRESSED, 0);
	same_front(r, f.r);
	same_records(r, f.r);
	for (uint32_t t = 0; t < PD_COUNTED_TYPES; t++)
		if (t != PD_EVENT_UPDATE && t != PD_FINISHED_ROUND)
			assert_int_equal(seam_pd_count(f.r, t),
					 is_gone(t) ? 0 : seam_pd_count(r, t));
	filed_free(&f);
}

static void check_whole(bool swap)
{
	struct bytes o;
	struct seam_pd_reader *r;
	const uint8_t *id;
	struct pd_header h;
	struct filed f;

	whole(&o, swap);
	r = open_bytes(o.b, o.n);
	assert_int_equal(seam_pd_n_records(r), 4);
	check_same(r);
	f = file_of(r);
	h = header_of(&f);
	assert_int_equal(h.features[0], 1ULL << PD_FEAT_HOSTNAME |
						1ULL << PD_FEAT_OSRELEASE |
						1ULL << PD_FEAT_NRCPUS |
						1ULL << PD_FEAT_TRACING_DATA |
						1ULL << PD_FEAT_BUILD_ID);
	/* One has no ids, and so no name: those of the others stay records. */
	assert_int_equal(seam_pd_count(f.r, PD_EVENT_UPDATE), 5);
	assert_int_equal(h.attr_size, 128 + sizeof(struct pd_section));
	for (size_t i = 0; i < seam_pd_n_events(f.r); i++)
		assert_int_equal(seam_pd_event(f.r, i)->attr.size, 128);
	assert_int_equal(seam_pd_path_build_id(f.r, PATH, &id), 20);
	assert_int_equal(id[0], 4);
	assert_int_equal(seam_pd_path_build_id(f.r, "/bin/other", &id), 20);
	filed_free(&f);
	seam_pd_close(r);
}

static void test_whole(void **state)
{
	(void)state;
	check_whole(false);
	check_whole(true);
}

/* A list of names for all, in the file's own form; what else such records say
 * stays. */
static void test_names(void **state)
{
	struct seam_pd_reader *r;
	struct bytes o;
	struct filed f;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		memset(&o, 0, sizeof(o));
		o.swap = swap;
		u64(&o, PD_MAGIC);
		u64(&o, PD_PIPE_HEADER_SIZE);
		add_attr(&o, 144, 0, 100, 2);
		add_name(&o, 2, 100, "first");
		add_attr(&o, 128, 7, 200, 1);
		add_name(&o, 2, 200, "second");
		add_name(&o, 2, 101, "another");
		add_name(&o, 2, 999, "of no event");
		add_name(&o, 3, 100, "its CPUs");
		add_sample(&o, 200, 1);
		r = open_bytes(o.b, o.n);
		f = file_of(r);
		same_front(r, f.r);
		same_records(r, f.r);
		assert_string_equal(seam_pd_event(f.r, 0)->name, "another");
		assert_true(header_of(&f).features[0] &
			    1ULL << PD_FEAT_EVENT_DESC);
		assert_int_equal(seam_pd_count(f.r, PD_EVENT_UPDATE), 2);
		filed_free(&f);
		seam_pd_close(r);
	}
}

/* A file's table is taken for all of them, so beside those of mappings they
 * stay records. */
static void test_ids_of_maps(void **state)
{
	struct seam_pd_reader *r;
	const uint8_t *id;
	struct bytes o;
	struct filed f;

	(void)state;
	begin(&o, false);
	add_build_id(&o, PATH, 7);
	u32(&o, PERF_RECORD_MMAP2);
	u16(&o, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
	u16(&o, 72 + 16 + 24);
	u32(&o, 5);
	u32(&o, 6);
	u64(&o, 0x400000);
	u64(&o, 0x1000);
	u64(&o, 0);
	u32(&o, 20); /* the build-id's length, and it */
	for (int i = 0; i < 5; i++)
		u32(&o, 0x01010101);
	u32(&o, 5);
	u32(&o, 2);
	raw(&o, "/bin/of-the-map", 16);
	u32(&o, 5);
	u32(&o, 6);
	u64(&o, 1);
	u64(&o, 200);
	r = open_bytes(o.b, o.n);
	assert_int_equal(seam_pd_n_records(r), 1);
	f = file_of(r);
	same_records(r, f.r);
	assert_int_equal(header_of(&f).features[0] & 1ULL << PD_FEAT_BUILD_ID,
			 0);
	assert_int_equal(seam_pd_count(f.r, PD_HEADER_BUILD_ID), 1);
	assert_int_equal(seam_pd_path_build_id(f.r, PATH, &id), 20);
	filed_free(&f);
	seam_pd_close(r);
}

/* An attribute that says more than perf 6.1 knows: for those who know deferral
 * all are as long. */
static void test_long(void **state)
{
	struct seam_pd_reader *r;
	struct bytes o = {.n = 0};
	struct pd_header h;
	int fd = memfd_create("filed", MFD_CLOEXEC);
	uint64_t cut;

	(void)state;
	u64(&o, PD_MAGIC);
	u64(&o, PD_PIPE_HEADER_SIZE);
	add_attr(&o, 0, 0, 100, 1);
	add_attr(&o, 144, 1, 200, 1);
	r = open_bytes(o.b, o.n);
	assert_int_equal(seam_pd_copy_plain(r, fd, true, false, &cut),
			 -EOPNOTSUPP);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(seam_pd_copy_plain(r, fd, true, true, &cut), 0);
	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(h.attr_size, 144 + sizeof(struct pd_section));
	seam_pd_close(r);
	/* Longer than those of any file that is read. */
	begin(&o, false);
	add_attr(&o, PD_ATTR_SIZE_MAX, 1, 500, 1);
	r = open_bytes(o.b, o.n);
	assert_int_equal(seam_pd_copy_plain(r, fd, true, true, &cut),
			 -EOPNOTSUPP);
	seam_pd_close(r);
	close(fd);
}

/* Up to the last whole record, wherever it ends; without an attribute it stays
 * a pipe's. */
static void test_cut(void **state)
{
	static struct bytes o;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		whole(&o, swap);
		for (size_t n = PD_PIPE_HEADER_SIZE; n <= o.n; n++) {
			struct seam_pd_reader *r = open_bytes(o.b, n);

			if (seam_pd_n_events(r)) {
				check_same(r);
			} else {
				struct filed f = file_of(r);

				assert_true(seam_pd_info(f.r)->pipe);
				filed_free(&f);
			}
			seam_pd_close(r);
		}
	}
}

/* Whatever the bytes are, records are those that were read, and the file is
 * sound. */
static void test_damaged(void **state)
{
	static struct bytes o, bad;
	struct random random = {1};

	(void)state;
	whole(&o, false);
	for (int i = 0; i < 4000; i++) {
		struct filed f;
		struct seam_pd_reader *r;
		struct seam_errinfo err;
		uint64_t cut;
		int fd, rc;

		bad = o;
		for (uint32_t j = 1 + next(&random, 4); j; j--)
			bad.b[16 + next(&random, (uint32_t)o.n - 16)] =
				(uint8_t)next(&random, 256);
		if (seam_pd_open_mem(bad.b, bad.n, &r, &err))
			continue;
		fd = memfd_create("filed", MFD_CLOEXEC);
		rc = seam_pd_copy_plain(r, fd, true, false, &cut);
		assert_true(!rc || rc == -EOPNOTSUPP);
		if (!rc) {
			f = file_of(r);
			same_records(r, f.r);
			filed_free(&f);
		}
		close(fd);
		seam_pd_close(r);
	}
}

/* What the writer makes, compressed or not. */
static void test_made(void **state)
{
	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		struct made m = make_pipe(zstd);
		struct seam_pd_reader *r = open_bytes(m.p, m.size);

		assert_int_equal(seam_pd_n_records(r), RECORDS);
		check_same(r);
		seam_pd_close(r);
		free(m.p);
	}
}

/* A record before an attribute that it could be read with is none. */
static void test_early(void **state)
{
	struct seam_pd_reader *r;
	struct bytes o;

	(void)state;
	begin(&o, false);
	add_sample(&o, 500, 1);
	add_attr(&o, 128, 0, 500, 1);
	add_sample(&o, 500, 2);
	r = open_bytes(o.b, o.n);
	assert_int_equal(seam_pd_damage(r)->n_malformed, 1);
	assert_int_equal(seam_pd_n_records(r), 1);
	check_same(r);
	seam_pd_close(r);
}

static void test_full(void **state)
{
	struct seam_pd_reader *r;
	struct bytes o;
	uint64_t cut;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	whole(&o, false);
	r = open_bytes(o.b, o.n);
	if (full >= 0) {
		assert_int_equal(seam_pd_copy_plain(r, full, true, false, &cut),
				 -ENOSPC);
		close(full);
	}
	seam_pd_close(r);
}

static void test_oom(void **state)
{
	struct seam_pd_reader *r;
	struct bytes o;
	uint64_t cut;
	int fd = memfd_create("filed", MFD_CLOEXEC), rc = -ENOMEM;
	long n;

	(void)state;
	whole(&o, false);
	r = open_bytes(o.b, o.n);
	for (n = 0; rc; n++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		left = n;
		rc = seam_pd_copy_plain(r, fd, true, false, &cut);
		left = -1;
		assert_true(!rc || rc == -ENOMEM);
	}
	assert_true(n > 3);
	close(fd);
	seam_pd_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_ids_of_maps),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_oom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
