// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: records of other recorders, laid out by hand after
 * perf_event_open(2): every field that sample_type can ask for before the
 * user stack, events told apart by id, pipe streams, older MMAP records. */
#include <errno.h>
#include <sys/wait.h>

#include "image.h"

static void add_sample(struct image *m)
{
	size_t at = m->n;

	add(m, 0);
	add(m, 0x1234); /* ip */
	add(m, pair(7, 8)); /* pid, tid */
	add(m, 999); /* time */
	add(m, 0xadd); /* addr */
	add(m, 100); /* id */
	add(m, 55); /* stream id */
	add(m, pair(3, 0)); /* cpu */
	add(m, 77); /* period */
	add(m, 2); /* read: a group of two */
	add(m, 1); /* time enabled */
	for (int i = 0; i < 4; i++)
		add(m, 1); /* value and id of each */
	add(m, 2); /* chain */
	add(m, (uint64_t)PERF_CONTEXT_USER);
	add(m, 0x1234);
	add(m, pair(4, 0xabcd)); /* raw: 4 bytes */
	add(m, 1); /* branches */
	for (int i = 0; i < 3; i++)
		add(m, 2);
	add(m, 2); /* registers: 64 bit */
	for (uint64_t i = 0; i < 3; i++)
		add(m, 0x1000 + i);
	add(m, 16); /* stack: 16 bytes, 8 of them copied */
	add(m, 0x57ac);
	add(m, 0);
	add(m, 8);
	add(m, 1); /* weight */
	add(m, 1); /* transaction */
	m->w[at] =
		pair(PERF_RECORD_SAMPLE,
		     PERF_RECORD_MISC_USER | (uint32_t)(8 * (m->n - at)) << 16);
}

static void check_fields(const struct seam_pd_rec *rec)
{
	assert_int_equal(rec->sample.ip, 0x1234);
	assert_int_equal(rec->pid, 7);
	assert_int_equal(rec->tid, 8);
	assert_int_equal(rec->time_ns, 999);
	assert_int_equal(rec->sample.addr, 0xadd);
	assert_int_equal(rec->id, 100);
	assert_int_equal(rec->sample.stream_id, 55);
	assert_int_equal(rec->cpu, 3);
	assert_int_equal(rec->sample.period, 77);
	assert_int_equal(rec->sample.chain.n, 2);
	assert_int_equal(seam_pd_word(rec->sample.chain, 1), 0x1234);
	assert_int_equal(rec->sample.raw_len, 4);
	assert_int_equal(rec->sample.raw[0], 0xcd);
	assert_int_equal(rec->sample.user_regs_abi, 2);
	assert_int_equal(rec->sample.user_regs_mask, 0x181);
	assert_int_equal(rec->sample.user_regs.n, 3);
	assert_int_equal(seam_pd_word(rec->sample.user_regs, 2), 0x1002);
	assert_int_equal(rec->sample.user_stack_len, 8);
	assert_int_equal(rec->sample.user_stack[0], 0xac);
}

static const struct perf_event_attr all_fields = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		       PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
		       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
		       PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
		       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
		       PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
		       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |
		       PERF_SAMPLE_TRANSACTION,
	.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
		       PERF_FORMAT_TOTAL_TIME_ENABLED,
	.sample_regs_user = 0x181,
};

static void test_all_fields(void **state)
{
	struct image m = {0};
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;

	(void)state;
	begin(&m, &all_fields, 1);
	add_sample(&m);
	r = open_image(&m);
	assert_int_equal(seam_pd_n_records(r), 1);
	seam_pd_record(r, 0, &rec);
	check_fields(&rec);
	seam_pd_close(r);
}

/* A sample that ends before any of the fields it must have. Behind the stack
 * are two words that nobody reads. */
static void test_cut_fields(void **state)
{
	struct image whole = {0};
	size_t at, size;

	(void)state;
	begin(&whole, &all_fields, 1);
	at = whole.n;
	add_sample(&whole);
	size = whole.n - at;
	for (size_t words = 1; words <= size; words++) {
		/* Of that size exactly, for sanitizers to see. */
		uint64_t *cut = malloc(8 * (at + words));
		bool good = words >= size - 2;
		struct seam_pd_reader *r = NULL;
		struct seam_errinfo err;

		assert_non_null(cut);
		memcpy(cut, whole.w, 8 * (at + words));
		cut[at] = pair(PERF_RECORD_SAMPLE,
			       PERF_RECORD_MISC_USER | (uint32_t)(8 * words)
							       << 16);
		assert_int_equal(
			seam_pd_open_mem(cut, 8 * (at + words), &r, &err), 0);
		assert_int_equal(seam_pd_n_records(r), good);
		assert_int_equal(seam_pd_damage(r)->n_malformed, !good);
		seam_pd_close(r);
		free(cut);
	}
}

static void add_text(struct image *m, const char *text)
{
	size_t words = strlen(text) / 8 + 1;

	assert_true(m->n + words <= 4096);
	memcpy(&m->w[m->n], text, strlen(text) + 1);
	m->n += words;
}

/* len: as older recorders leave it, 0, or the id's own. */
static void add_build_id(struct image *m, uint8_t len, const char *path)
{
	uint8_t id[24] = {0};
	size_t at = m->n;

	memset(id, path[1], 20);
	id[20] = len;
	add(m, 0);
	/* The pid, then bytes that begin in the middle of a word. */
	memcpy((uint8_t *)&m->w[m->n] + 4, id, sizeof(id));
	memcpy((uint8_t *)&m->w[m->n] + 4 + sizeof(id), path, strlen(path) + 1);
	m->n += (4 + sizeof(id) + strlen(path) + 8) / 8;
	m->w[at] = pair(PD_HEADER_BUILD_ID, (uint32_t)(8 * (m->n - at)) << 16);
}

/* What a stream says of its events and files beside the kernel's records. */
static void test_user_records(void **state)
{
	const struct perf_event_attr attrs[] = {
		{.sample_type = PERF_SAMPLE_IP},
		{.sample_type = PERF_SAMPLE_IP, .config = 1},
	};
	struct image m = {0};
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;
	const uint8_t *id = NULL;
	uint64_t n;

	(void)state;
	begin(&m, attrs, 2);
	add_header(&m, PD_EVENT_UPDATE, 0, 5);
	add(&m, 2); /* a name */
	add(&m, 101);
	add_text(&m, "second event");
	add_header(&m, PD_EVENT_UPDATE, 0, 4);
	add(&m, 2);
	add(&m, 999); /* of no event */
	add_text(&m, "nobody");
	add_build_id(&m, 0, "/z");
	add_build_id(&m, 8, "/a");
	add_build_id(&m, 200, "/longer");
	add_build_id(&m, 12, "/a"); /* the last counts */
	add_header(&m, PD_HEADER_BUILD_ID, 0, 2); /* too short for an id */
	add(&m, 0);
	add_header(&m, PERF_RECORD_LOST_SAMPLES, 0, 2);
	add(&m, 17);
	add_header(&m, PERF_RECORD_LOST_SAMPLES, 1 << 15,
		   2); /* perf's filter */
	add(&m, 30);
	add_header(&m, 76, 0, 1);
	r = open_image(&m);
	assert_int_equal(seam_pd_lost_samples(r), 17);
	assert_int_equal(seam_pd_filtered_samples(r), 30);
	assert_string_equal(seam_pd_passed_over(r, 16, &n), "stat");
	assert_int_equal(n, 1);
	assert_string_equal(seam_pd_event(r, 1)->name, "second event");
	assert_int_equal(seam_pd_path_build_id(r, "/z", &id), 20);
	assert_int_equal(id[19], 'z');
	assert_int_equal(seam_pd_path_build_id(r, "/a", &id), 12);
	assert_int_equal(id[7], 'a');
	assert_int_equal(seam_pd_path_build_id(r, "/longer", &id), 20);
	assert_int_equal(seam_pd_path_build_id(r, "/none", &id), 0);
	assert_int_equal(seam_pd_n_records(r), 2);
	seam_pd_record(r, 0, &rec);
	assert_int_equal(rec.type, PERF_RECORD_LOST_SAMPLES);
	assert_int_equal(rec.lost, 17);
	assert_int_equal(seam_pd_offset(r, 0), 8 * (m.n - 5));
	seam_pd_close(r);
}

/* Writes a stream of n samples into a pipe. */
static void write_samples(int fd, size_t n)
{
	const struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP};
	struct image m = {0};
	FILE *to = fdopen(fd, "wb");

	begin(&m, &attr, 1);
	if (!to || fwrite(m.w, 8, m.n, to) != m.n)
		_exit(1);
	m.n = 0;
	add_header(&m, PERF_RECORD_SAMPLE, 0, 2);
	for (uint64_t i = 0; i < n; i++) {
		m.w[1] = i;
		if (fwrite(m.w, 8, 2, to) != 2)
			_exit(1);
	}
	_exit(fclose(to) ? 1 : 0);
}

/* From a pipe, whose size nobody knows before its end: what is kept in memory,
 * exactly that much and one more, and what goes to a file. */
static void test_pipe(void **state)
{
	static const size_t head = 16 + 16 + sizeof(struct perf_event_attr);
	static const size_t sizes[] = {0, 1, ((32 << 20) - head) / 16,
				       ((32 << 20) - head) / 16 + 1, 3000000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fds[2], status, in = dup(0);
		struct seam_pd_reader *r = NULL;
		struct seam_pd_rec rec;
		struct seam_errinfo err;
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (!pid)
			write_samples(fds[1], sizes[i]);
		close(fds[1]);
		assert_int_equal(dup2(fds[0], 0), 0);
		close(fds[0]);
		assert_int_equal(seam_pd_open("-", &r, &err), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_int_equal(dup2(in, 0), 0);
		close(in);
		assert_int_equal(seam_pd_n_records(r), sizes[i]);
		if (sizes[i]) {
			seam_pd_record(r, sizes[i] - 1, &rec);
			assert_int_equal(rec.sample.ip, sizes[i] - 1);
		}
		assert_false(seam_pd_damage(r)->damaged);
		seam_pd_close(r);
	}
}

static void test_refused(void **state)
{
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err = {0};

	(void)state;
	assert_int_equal(seam_pd_open("/", &r, &err), -EBADMSG);
	assert_non_null(strstr(err.reason, "folder"));
	assert_int_equal(seam_pd_open("/no/such/file", &r, &err), -ENOENT);
	assert_int_equal(seam_pd_open("/dev/null", &r, &err), -EBADMSG);
	assert_null(r);
}

/* All of them lie in the file: that is not why. */
static void test_too_many_events(void **state)
{
	const size_t each = 64 + sizeof(struct pd_section), n = 65537;
	const struct pd_header h = {
		.magic = PD_MAGIC,
		.size = sizeof(h),
		.attr_size = each,
		.attrs = {.offset = sizeof(h), .size = n * each},
	};
	const size_t size = sizeof(h) + n * each;
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err = {0};
	uint8_t *file = calloc(1, size);

	(void)state;
	assert_non_null(file);
	memcpy(file, &h, sizeof(h));
	assert_int_equal(seam_pd_open_mem(file, size, &r, &err), -EBADMSG);
	assert_string_equal(err.reason, "it has more attributes of events than "
					"the 65536 that seam reads");
	assert_int_equal(seam_pd_open_mem(file, size - 1, &r, &err), -EBADMSG);
	assert_non_null(strstr(err.reason, "do not lie in the file"));
	free(file);
}

/* Those of a pipe are records like any other, and none of them is malformed. */
static void test_too_many_in_pipe(void **state)
{
	const size_t each = sizeof(struct perf_event_header) + 64, n = 65537;
	const size_t size = PD_PIPE_HEADER_SIZE + n * each;
	const struct perf_event_header h = {.type = PD_HEADER_ATTR,
					    .size = (uint16_t)each};
	const uint64_t head[] = {PD_MAGIC, PD_PIPE_HEADER_SIZE};
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err = {0};
	uint8_t *pipe = calloc(1, size);

	(void)state;
	assert_non_null(pipe);
	memcpy(pipe, head, sizeof(head));
	for (size_t i = 0; i < n; i++)
		memcpy(pipe + PD_PIPE_HEADER_SIZE + i * each, &h, sizeof(h));
	assert_int_equal(seam_pd_open_mem(pipe, size, &r, &err), 0);
	assert_true(seam_pd_damage(r)->damaged);
	assert_int_equal(seam_pd_damage(r)->err.offset, size - each);
	assert_string_equal(seam_pd_damage(r)->err.reason,
			    "it has more attributes of events than the 65536 "
			    "that seam reads");
	assert_int_equal(seam_pd_damage(r)->n_malformed, 0);
	seam_pd_close(r);
	assert_int_equal(seam_pd_open_mem(pipe, size - each, &r, &err), 0);
	assert_false(seam_pd_damage(r)->damaged);
	seam_pd_close(r);
	free(pipe);
}

/* Two events with different fields; ids where both have them. */
static void test_two_events(void **state)
{
	struct perf_event_attr attrs[2] = {
		{.type = PERF_TYPE_SOFTWARE,
		 .config = PERF_COUNT_SW_PAGE_FAULTS,
		 .sample_period = 5,
		 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME,
		 .sample_id_all = 1},
		{.type = PERF_TYPE_TRACEPOINT,
		 .config = 312,
		 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
				PERF_SAMPLE_PERIOD,
		 .sample_id_all = 1},
	};
	struct image m = {0};
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;

	(void)state;
	begin(&m, attrs, 2);
	add_header(&m, PERF_RECORD_SAMPLE, 0, 3);
	add(&m, 100);
	add(&m, 4444);
	add_header(&m, PERF_RECORD_SAMPLE, 0, 4);
	add(&m, 101);
	add(&m, 0x99);
	add(&m, 6);
	add_header(&m, PERF_RECORD_LOST, 0, 1 + 2 + 2);
	add(&m, 100);
	add(&m, 17);
	add(&m, 5555); /* sample_id: time, identifier */
	add(&m, 100);

	r = open_image(&m);
	assert_string_equal(seam_pd_event(r, 0)->name, "page-faults");
	assert_string_equal(seam_pd_event(r, 1)->name, "tracepoint 312");
	seam_pd_record(r, 0, &rec);
	assert_int_equal(rec.event, 0);
	assert_int_equal(rec.time_ns, 4444);
	assert_int_equal(rec.sample.period, 5); /* fixed: not in the sample */
	seam_pd_record(r, 1, &rec);
	assert_int_equal(rec.event, 1);
	assert_false(rec.has_time);
	assert_int_equal(rec.sample.ip, 0x99);
	assert_int_equal(rec.sample.period, 6);
	seam_pd_record(r, 2, &rec);
	assert_int_equal(rec.lost, 17);
	assert_int_equal(rec.time_ns, 5555);
	seam_pd_close(r);
}

/* Without sample_id_all the others have no time: they keep their place. */
static void test_old_map(void **state)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP |
						      PERF_SAMPLE_TIME};
	struct image m = {0};
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;

	(void)state;
	begin(&m, &attr, 1);
	add_header(&m, PERF_RECORD_SAMPLE, 0, 3);
	add(&m, 1);
	add(&m, 10);
	add_header(&m, PERF_RECORD_MMAP, 0, 6);
	add(&m, pair(5, 5));
	add(&m, 0x400000);
	add(&m, 0x1000);
	add(&m, 0);
	memcpy(&m.w[m.n++], "/bin/a", 7);
	add_header(&m, PERF_RECORD_SAMPLE, 0, 3);
	add(&m, 2);
	add(&m, 11);

	r = open_image(&m);
	seam_pd_record(r, 1, &rec);
	assert_int_equal(rec.type, PERF_RECORD_MMAP);
	assert_string_equal(rec.map.path, "/bin/a");
	assert_int_equal(rec.map.build_id_len, 0);
	seam_pd_record(r, 2, &rec);
	assert_int_equal(rec.sample.ip, 2);
	seam_pd_close(r);
}

/* Time decides, and among equal times the place in the file. */
static void test_order(void **state)
{
	static const uint64_t times[] = {5, 9, 9, 1, 5, 2, 9, 0, 5};
	static const uint64_t places[] = {7, 3, 5, 0, 4, 8, 1, 2, 6};
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP |
						      PERF_SAMPLE_TIME};
	struct image m = {0};
	struct seam_pd_reader *r;
	struct seam_pd_rec rec;

	(void)state;
	begin(&m, &attr, 1);
	for (uint64_t i = 0; i < 9; i++) {
		add_header(&m, PERF_RECORD_SAMPLE, 0, 3);
		add(&m, i);
		add(&m, times[i]);
	}
	r = open_image(&m);
	for (size_t i = 0; i < 9; i++) {
		seam_pd_record(r, i, &rec);
		assert_int_equal(rec.sample.ip, places[i]);
	}
	seam_pd_close(r);
}

/* Fields that claim more than their record: left out and counted. */
static void test_malformed(void **state)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP |
						      PERF_SAMPLE_CALLCHAIN};
	struct image m = {0};
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err;

	(void)state;
	begin(&m, &attr, 1);
	add_header(&m, PERF_RECORD_SAMPLE, 0, 4);
	add(&m, 1);
	add(&m, 2); /* two entries, but there is room for one */
	add(&m, 1);
	add_header(&m, PERF_RECORD_SAMPLE, 0, 4);
	add(&m, 1);
	add(&m, UINT64_MAX / 8 + 2);
	add(&m, 1);
	add_header(&m, PERF_RECORD_SAMPLE, 0, 3);
	add(&m, 1);
	add(&m, 0);
	assert_int_equal(seam_pd_open_mem(m.w, 8 * m.n, &r, &err), 0);
	assert_int_equal(seam_pd_n_records(r), 1);
	assert_int_equal(seam_pd_damage(r)->n_malformed, 2);
	seam_pd_close(r);
}

/* What was read must not change its meaning by what comes later. */
static void test_late_attr(void **state)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP};
	struct image m = {0}, late = {0};
	struct seam_pd_reader *r = NULL;
	struct seam_errinfo err;

	(void)state;
	begin(&m, &attr, 1);
	add_header(&m, PERF_RECORD_SAMPLE, 0, 2);
	add(&m, 1);
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	begin(&late, &attr, 1);
	memcpy(&m.w[m.n], &late.w[2], 8 * (late.n - 2));
	m.n += late.n - 2;
	assert_int_equal(seam_pd_open_mem(m.w, 8 * m.n, &r, &err), 0);
	assert_int_equal(seam_pd_n_events(r), 1);
	assert_int_equal(seam_pd_n_records(r), 1);
	assert_true(seam_pd_damage(r)->damaged);
	seam_pd_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_fields),
		cmocka_unit_test(test_cut_fields),
		cmocka_unit_test(test_user_records),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_many_events),
		cmocka_unit_test(test_too_many_in_pipe),
		cmocka_unit_test(test_two_events),
		cmocka_unit_test(test_old_map),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_late_attr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
