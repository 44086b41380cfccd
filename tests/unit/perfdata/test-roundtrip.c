// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what the writer writes the reader reads, field by field,
 * plain and compressed, as a file and as a stream, within a round and behind
 * it; the file is private and the old one is kept. */
#include <errno.h>
#include <fcntl.h>

#include "perfdata/format.h"
#include "recording.h"

static void write_all(struct seam_pd_writer *w)
{
	assert_int_equal(put_comm(w, 5, 100, "prog", false), 0);
	assert_int_equal(put_map(w, 5, 110, 0x400000, 0x1000, "/bin/prog"), 0);
	assert_int_equal(put_sample(w, 5, 1000, 0x10001), 0);
	assert_int_equal(put_sample(w, 5, 2000, 0), 0);
	assert_int_equal(
		put_stack(w, 5, 3000, 0x10001, 0x400010, 3, SEAM_PD_STACK_EXEC),
		0);
	assert_int_equal(put_fork(w, 5, 6, 4000, false), 0);
}

static void check_events(const struct seam_pd_reader *r)
{
	const struct seam_pd_attr *ev = seam_pd_event(r, 0);

	assert_int_equal(seam_pd_n_events(r), 2);
	assert_string_equal(ev->name, "cpu-clock:test");
	assert_int_equal(ev->attr.size, 128);
	assert_int_equal(ev->attr.sample_type, SEAM_PD_SAMPLE_TYPE);
	assert_int_equal(ev->attr.sample_id_all, 1);
	assert_int_equal(ev->attr.use_clockid, 1);
	assert_int_equal(ev->attr.clockid, 1);
	assert_true(ev->flags >> SEAM_ATTR_DEFER_CALLCHAIN & 1);
	assert_int_equal(ev->n_ids, 2);
	assert_int_equal(ev->ids[1], EVENT_ID + 1);
	assert_string_equal(seam_pd_event(r, 1)->name, "dummy:u");
}

static void check_sample(const struct seam_pd_reader *r)
{
	struct seam_pd_rec rec;

	seam_pd_record(r, 2, &rec);
	assert_int_equal(rec.type, PERF_RECORD_SAMPLE);
	assert_int_equal(rec.misc, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(rec.event, 0);
	assert_int_equal(rec.tid, 5);
	assert_int_equal(rec.time_ns, 1000);
	assert_int_equal(rec.id, EVENT_ID);
	assert_int_equal(rec.sample.period, 7);
	assert_int_equal(rec.sample.ip, kernel_ips[0]);
	assert_int_equal(rec.sample.chain.n, 5);
	assert_int_equal(seam_pd_word(rec.sample.chain, 0),
			 (uint64_t)PERF_CONTEXT_KERNEL);
	assert_int_equal(seam_pd_word(rec.sample.chain, 2), kernel_ips[1]);
	assert_int_equal(seam_pd_word(rec.sample.chain, 3),
			 SEAM_CONTEXT_USER_DEFERRED);
	assert_int_equal(seam_pd_word(rec.sample.chain, 4), 0x10001);
	seam_pd_record(r, 3, &rec);
	assert_int_equal(rec.sample.chain.n, 3);
}

static void check_others(const struct seam_pd_reader *r)
{
	struct seam_pd_rec rec;

	seam_pd_record(r, 0, &rec);
	assert_string_equal(rec.comm, "prog");
	seam_pd_record(r, 1, &rec);
	assert_string_equal(rec.map.path, "/bin/prog");
	assert_int_equal(rec.map.start, 0x400000);
	assert_int_equal(rec.map.pgoff, 0x1000);
	assert_true(rec.map.has_inode);
	assert_int_equal(rec.map.ino, 42);
	assert_int_equal(rec.event, 1);
	seam_pd_record(r, 4, &rec);
	assert_int_equal(rec.type, SEAM_RECORD_CALLCHAIN_DEFERRED);
	assert_int_equal(rec.stack.cookie, 0x10001);
	assert_int_equal(rec.stack.ips.n, 3);
	assert_int_equal(seam_pd_word(rec.stack.ips, 2), 0x400210);
	assert_int_equal(rec.stack.end, 3);
	assert_int_equal(rec.stack.flags, SEAM_PD_STACK_EXEC);
	assert_int_equal(rec.misc & 7, PERF_RECORD_MISC_USER);
	seam_pd_record(r, 5, &rec);
	assert_int_equal(rec.type, PERF_RECORD_FORK);
	assert_int_equal(rec.pid, 6);
	assert_int_equal(rec.task.ppid, 5);
}

static void check_info(const struct seam_pd_reader *r, int zstd)
{
	const struct seam_pd_info *info = seam_pd_info(r);

	assert_non_null(info->hostname);
	assert_non_null(info->osrelease);
	assert_string_equal(info->version, "seam " SEAM_VERSION);
	assert_non_null(strstr(info->cmdline, " record -- true"));
	assert_int_equal(info->clockid, 1);
	assert_true(info->wall_clock_ns > 1600000000000000000);
	assert_int_equal(info->compressed, zstd);
	assert_true(info->n_cpus_online > 0);
}

static void check_file(const char *path, int zstd)
{
	struct seam_pd_reader *r = open_reader(path);

	assert_false(seam_pd_damage(r)->damaged);
	assert_int_equal(seam_pd_damage(r)->n_malformed, 0);
	assert_int_equal(seam_pd_n_records(r), 6);
	assert_int_equal(seam_pd_count(r, PERF_RECORD_SAMPLE), 2);
	check_events(r);
	check_sample(r);
	check_others(r);
	check_info(r, zstd);
	seam_pd_close(r);
}

static void round_trip(int zstd)
{
	struct seam_pd_writer *w;
	struct folder f;
	struct stat st;

	folder_make(&f);
	w = open_writer(f.file, zstd);
	write_all(w);
	assert_int_equal(seam_pd_flush(w), 0);
	check_file(f.file, zstd); /* as a killed writer leaves it */
	assert_int_equal(stat(f.file, &st), 0);
	assert_int_equal(seam_pd_bytes(w), st.st_size);
	assert_int_equal(seam_pd_writer_close(w), 0);
	check_file(f.file, zstd);
	assert_int_equal(st.st_mode & 0777, 0600);
	folder_remove(&f);
}

/* Within a round the file is whole, too, and the round goes on. */
static void within_round(void **state)
{
	struct seam_pd_reader *r;
	struct seam_pd_writer *w;
	struct folder f;

	(void)state;
	folder_make(&f);
	w = open_writer(f.file, 0);
	write_all(w);
	assert_int_equal(seam_pd_flush_within(w), 0);
	check_file(f.file, 0);
	r = open_reader(f.file);
	assert_int_equal(seam_pd_count(r, PD_FINISHED_ROUND), 0);
	seam_pd_close(r);
	write_all(w);
	assert_int_equal(seam_pd_flush(w), 0);
	r = open_reader(f.file);
	assert_int_equal(seam_pd_count(r, PD_FINISHED_ROUND), 1);
	assert_int_equal(seam_pd_n_records(r), 12);
	seam_pd_close(r);
	assert_int_equal(seam_pd_writer_close(w), 0);
	folder_remove(&f);
}

/* Standard output is a file for a moment: the stream that a pipe gets. */
static void stream(int zstd)
{
	int fd, out = dup(STDOUT_FILENO);
	struct seam_pd_writer *w;
	struct folder f;

	folder_make(&f);
	fd = open(f.file, O_RDWR | O_CREAT, 0600);
	fflush(stdout);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	w = open_writer("-", zstd);
	assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
	write_all(w);
	assert_int_equal(seam_pd_flush(w), 0);
	check_file(f.file, zstd);
	assert_int_equal(seam_pd_bytes(w), lseek(fd, 0, SEEK_END));
	assert_int_equal(seam_pd_writer_close(w), 0);
	check_file(f.file, zstd);
	close(fd);
	close(out);
	folder_remove(&f);
}

static void test_stream(void **state)
{
	(void)state;
	stream(0);
	stream(1);
}

static void test_plain(void **state)
{
	(void)state;
	round_trip(0);
}

static void test_zstd(void **state)
{
	(void)state;
	round_trip(1);
}

/* More than fits the buffer, so that it spills between flushes. */
static void many(int zstd)
{
	enum { N = 200000 };
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;
	struct folder f;

	folder_make(&f);
	w = open_writer(f.file, zstd);
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(put_sample(w, 5, i, i * 3), 0);
		if (i % 70000 == 69999)
			assert_int_equal(seam_pd_flush(w), 0);
	}
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	assert_int_equal(seam_pd_n_records(r), N);
	for (uint64_t i = 0; i < N; i++) {
		seam_pd_record(r, i, &rec);
		assert_int_equal(rec.time_ns, i);
		if (i)
			assert_int_equal(seam_pd_word(rec.sample.chain, 4),
					 i * 3);
	}
	seam_pd_close(r);
	folder_remove(&f);
}

static void test_many_plain(void **state)
{
	(void)state;
	many(0);
}

static void test_many_zstd(void **state)
{
	(void)state;
	many(1);
}

/* Records that one COMPRESSED record cannot hold, and do not compress. */
static void test_big_zstd(void **state)
{
	static uint64_t ips[SEAM_PD_MAX_IPS + 1];
	static uint8_t methods[SEAM_PD_MAX_IPS + 1];
	struct seam_pd_stack s = {.id = id_of(5, 1), .cookie = 1, .ips = ips};
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;
	uint64_t x = 88172645463325252;
	struct folder f;

	(void)state;
	for (size_t i = 0; i <= SEAM_PD_MAX_IPS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		ips[i] = x;
	}
	folder_make(&f);
	w = open_writer(f.file, 3);
	s.n_ips = SEAM_PD_MAX_IPS + 1;
	assert_int_equal(seam_pd_write_stack(w, &s), -E2BIG);
	/* How each was found takes room, too. */
	s.methods = methods;
	s.n_ips = SEAM_PD_MAX_IPS_METHODS + 1;
	assert_int_equal(seam_pd_write_stack(w, &s), -E2BIG);
	s.methods = NULL;
	s.n_ips = SEAM_PD_MAX_IPS;
	for (int i = 0; i < 20; i++)
		assert_int_equal(seam_pd_write_stack(w, &s), 0);
	s.methods = methods;
	s.n_ips = SEAM_PD_MAX_IPS_METHODS;
	assert_int_equal(seam_pd_write_stack(w, &s), 0);
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	assert_int_equal(seam_pd_n_records(r), 21);
	seam_pd_record(r, 19, &rec);
	assert_int_equal(rec.stack.ips.n, SEAM_PD_MAX_IPS);
	assert_memory_equal(rec.stack.ips.p, ips, 8 * SEAM_PD_MAX_IPS);
	seam_pd_record(r, 20, &rec);
	assert_int_equal(rec.stack.ips.n, SEAM_PD_MAX_IPS_METHODS);
	seam_pd_close(r);
	folder_remove(&f);
}

static void test_keeps_old(void **state)
{
	struct seam_pd_writer *w;
	struct seam_pd_reader *r;
	struct folder f;

	(void)state;
	folder_make(&f);
	w = open_writer(f.file, 0);
	put_sample(w, 5, 1, 2);
	assert_int_equal(seam_pd_writer_close(w), 0);
	w = open_writer(f.file, 0);
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	assert_int_equal(seam_pd_n_records(r), 0);
	assert_false(seam_pd_damage(r)->damaged);
	seam_pd_close(r);
	r = open_reader(f.old);
	assert_int_equal(seam_pd_n_records(r), 1);
	seam_pd_close(r);
	folder_remove(&f);
}

static void test_refuses(void **state)
{
	struct perf_event_header bad = {PERF_RECORD_COMM, 0, 12};
	struct seam_pd_opts opts = {.sz = sizeof(opts)};
	struct seam_pd_writer *w = NULL;
	struct seam_errinfo err;
	struct folder f;

	(void)state;
	assert_int_equal(seam_pd_writer_open("-", &opts, &w, &err), -EINVAL);
	assert_int_equal(seam_pd_writer_open("x", &opts, &w, &err), -EINVAL);
	assert_null(w);
	folder_make(&f);
	w = open_writer(f.file, 0);
	assert_int_equal(seam_pd_write_raw(w, &bad), -EINVAL);
	assert_int_equal(put_stack(w, 1, 1, 1, 1, 32, 0), -EINVAL);
	assert_int_equal(seam_pd_writer_close(w), 0);
	assert_int_equal(seam_pd_writer_close(NULL), 0);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(within_round),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_many_plain),
		cmocka_unit_test(test_many_zstd),
		cmocka_unit_test(test_big_zstd),
		cmocka_unit_test(test_keeps_old),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
