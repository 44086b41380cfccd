// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: payloads that older recordings lost, which name no tracepoint,
 * name the one of lost payloads when they are merged, and it is described; all
 * else of payloads stays. So perf reads them. */
#include <fcntl.h>

#include "../perfdata/hit.h"
#include "merged.h"

static const char format[] = HIT_FORMAT "\n"
					"print fmt: \"x=%d\", REC->x\n";

struct payload {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid, x;
};

static const struct payload whole = {.type = TRACEPOINT, .pid = 5, .x = -3};

static struct seam_pd_writer *open_traced(const char *path)
{
	static const uint64_t ids[] = {EVENT_ID};
	static char *argv[] = {(char *)"record"};
	struct seam_pd_event event = {.name = "test:hit",
				      .ids = ids,
				      .n_ids = 1,
				      .tracepoint = "test:hit",
				      .format = format,
				      .payload_size = sizeof(whole)};
	struct seam_pd_opts opts = {.sz = sizeof(opts),
				    .events = &event,
				    .n_events = 1,
				    .argv = argv,
				    .argc = 1,
				    .header_page = "page\n",
				    .header_event = "event\n"};
	struct seam_pd_writer *w = NULL;

	event.attr.type = PERF_TYPE_TRACEPOINT;
	event.attr.config = TRACEPOINT;
	event.attr.sample_type = PERF_SAMPLE_RAW;
	assert_int_equal(seam_pd_writer_open(path, &opts, &w, NULL), 0);
	return w;
}

static void put(struct seam_pd_writer *w, uint64_t time_ns, uint64_t cookie,
		const struct payload *payload)
{
	struct seam_pd_sample s = {
		.id = id_of(5, time_ns),
		.misc = PERF_RECORD_MISC_KERNEL,
		.ip = kernel_ips[0],
		.cookie = cookie,
		.kernel_ips = kernel_ips,
		.n_kernel = 2,
		.payload = payload,
		.payload_size = payload ? sizeof(*payload) : 0,
	};

	assert_int_equal(seam_pd_write_sample(w, &s), 0);
}

/* As an older recorder has it: of the same size. */
static void age(uint8_t *p, size_t size)
{
	static const char now[] = "name: payload_lost\nID: 65535",
			  before[] = "name: payload_else\nID: 65534";
	const uint16_t lost = SEAM_PD_PAYLOAD_LOST;
	const struct payload none = {.type = lost};
	uint8_t *at = memmem(p, size, now, strlen(now));

	assert_non_null(at);
	memcpy(at, before, strlen(before));
	while ((at = memmem(p, size, &none, sizeof(none))))
		memset(at, 0, sizeof(lost));
}

/* path: "-": a pipe's. */
static size_t record(const struct folder *f, bool is_pipe, uint8_t **ret)
{
	int out = dup(STDOUT_FILENO), fd = -1;
	struct seam_pd_writer *w;
	struct stat st;

	fflush(stdout);
	if (is_pipe) {
		fd = open(f->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
		close(fd);
	}
	w = open_traced(is_pipe ? "-" : f->file);
	put(w, 1000, 0, &whole);
	put(w, 2000, 0, NULL);
	put(w, 3000, 1, NULL);
	assert_int_equal(put_stack(w, 5, 3500, 1, 0x1000, SEAM_OUTERMOST, 0),
			 0);
	put(w, 4000, 2, &whole);
	assert_int_equal(put_stack(w, 5, 4500, 2, 0x2000, SEAM_OUTERMOST, 0),
			 0);
	assert_int_equal(seam_pd_writer_close(w), 0);
	assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
	close(out);
	fd = open(f->file, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*ret = malloc((size_t)st.st_size);
	assert_non_null(*ret);
	assert_int_equal(read(fd, *ret, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static void on_page(void *ctx, const char *text, size_t size)
{
	(void)ctx;
	assert_int_equal(size, 5);
	assert_memory_equal(text, "page\n", 5);
}

static void on_format(void *ctx, const char *system, const char *text,
		      size_t size)
{
	static const char *const systems[] = {"test", "seam", "seam"};
	static const char *const names[] = {"name: hit\n",
					    "name: payload_else\n",
					    "name: payload_lost\nID: 65535\n"};
	size_t *n = ctx;

	assert_true(*n < 3);
	assert_string_equal(system, systems[*n]);
	assert_true(size > strlen(names[*n]));
	assert_memory_equal(text, names[*n], strlen(names[*n]));
	++*n;
}

static void has_payloads(struct seam_pd_reader *r)
{
	static const size_t n_chain[] = {3, 3, 7, 7};
	static const bool is_lost[] = {false, true, true, false};
	const struct payload none = {.type = SEAM_PD_PAYLOAD_LOST};
	struct seam_pd_rec rec;
	size_t n = 0;
	const struct seam_pd_format_ops ops = {on_page, on_format, &n};

	assert_true(seam_pd_formats(r, &ops));
	assert_int_equal(n, 3);
	assert_int_equal(seam_pd_n_records(r), 4);
	for (size_t i = 0; i < 4; i++) {
		seam_pd_record(r, i, &rec);
		assert_int_equal(rec.type, PERF_RECORD_SAMPLE);
		assert_int_equal(rec.sample.chain.n, n_chain[i]);
		assert_true(rec.sample.raw_len >= sizeof(whole));
		assert_memory_equal(rec.sample.raw, is_lost[i] ? &none : &whole,
				    sizeof(whole));
	}
	/* What lies behind the tracing data. */
	assert_non_null(seam_pd_info(r)->osrelease);
	assert_non_null(seam_pd_info(r)->cmdline);
}

static void merges(bool is_pipe)
{
	struct seam_pd_reader *r;
	struct merged m;
	struct folder f;
	uint8_t *p;
	size_t size;

	folder_make(&f);
	size = record(&f, is_pipe, &p);
	age(p, size);
	assert_int_equal(seam_pd_open_mem(p, size, &r, NULL), 0);
	assert_true(seam_inject_needed(r));
	m = merge(r);
	has_payloads(m.r);
	merged_free(&m);
	seam_pd_close(r);
	free(p);
	folder_remove(&f);
}

static void of_file(void **state)
{
	(void)state;
	merges(false);
}

static void of_pipe(void **state)
{
	(void)state;
	merges(true);
}

static void script_of(const char *perf, const char *path)
{
	char command[512], out[4096];
	size_t n, lost = 0;
	FILE *f;

	snprintf(command, sizeof(command),
		 "'%s' script -F event,trace -i %s 2>&1", perf, path);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(out, 1, sizeof(out) - 1, f);
	out[n] = 0;
	assert_int_equal(pclose(f), 0);
	for (const char *at = out; (at = strstr(at, "[payload lost]")); at++)
		lost++;
	if (lost != 2)
		print_error("%s: %s", perf, out);
	assert_int_equal(lost, 2);
	assert_non_null(strstr(out, "test:hit: x=-3"));
}

static void in_perf(void **state)
{
	const char *newest = getenv("SEAM_PERF");
	struct seam_pd_reader *r;
	struct merged m;
	struct folder f;
	uint8_t *p;
	size_t size;
	FILE *out;

	(void)state;
	if (system("perf --version >/dev/null 2>&1")) {
		puts("perf does not run here: skipped");
		skip();
	}
	folder_make(&f);
	size = record(&f, false, &p);
	age(p, size);
	assert_int_equal(seam_pd_open_mem(p, size, &r, NULL), 0);
	m = merge(r);
	out = fopen(f.file, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(m.p, 1, m.size, out), m.size);
	assert_int_equal(fclose(out), 0);
	script_of("perf", f.file);
	if (newest && *newest)
		script_of(newest, f.file);
	merged_free(&m);
	seam_pd_close(r);
	free(p);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_file),
		cmocka_unit_test(of_pipe),
		cmocka_unit_test(in_perf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
