// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what tracepoints tell, from the writer to text: whole, lost,
 * and where the recording lies about it; and to perf's. */
#include "hit.h"
#include "recording.h"
#include "report/payload.h"

static const char format[] = HIT_FORMAT
	"\tfield:__data_loc char[] what;\toffset:12;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"x=%d what=%s\", REC->x, __get_str(what)\n";

struct payload {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid, x;
	uint16_t what_at, what_len;
	char what[4];
};

static const struct payload whole = {.type = TRACEPOINT,
				     .pid = 5,
				     .x = -3,
				     .what_at = 16,
				     .what_len = 4,
				     .what = "abc"};

/* By which libtraceevent 1.7.1 compares a name that is not there. */
static const char crash[] =
	"name: hit\nID: 77\nformat:\n"
	"\tfield:__data_lochort common_type;\toffset:0eld4;\tsize:4;"
	"\tsigned:1;\n\n"
	"\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[\xddwhat;\toffset:12;\tsize:4;\tsigned:0;\n\n"
	"print f(what)\n";

static struct seam_pd_writer *open_traced(const char *path, const char *text)
{
	static const uint64_t ids[] = {EVENT_ID}, clock[] = {EVENT_ID + 1};
	static char *argv[] = {(char *)"record"};
	struct seam_pd_event events[] = {
		{.name = "test:hit",
		 .ids = ids,
		 .n_ids = 1,
		 .tracepoint = "test:hit",
		 .format = text,
		 .payload_size = 16},
		{.name = "cpu-clock", .ids = clock, .n_ids = 1},
	};
	struct seam_pd_opts opts = {.sz = sizeof(opts),
				    .events = events,
				    .n_events = 2,
				    .argv = argv,
				    .argc = 1,
				    .header_page = "page\n",
				    .header_event = "event\n"};
	struct seam_pd_writer *w = NULL;
	struct seam_errinfo err = {0};

	events[0].attr.type = PERF_TYPE_TRACEPOINT;
	events[0].attr.config = TRACEPOINT;
	events[0].attr.sample_type = PERF_SAMPLE_RAW;
	events[1].attr.type = PERF_TYPE_SOFTWARE;
	assert_int_equal(seam_pd_writer_open(path, &opts, &w, &err), 0);
	return w;
}

static void put(struct seam_pd_writer *w, uint64_t id, uint64_t time_ns,
		const void *payload, size_t size)
{
	struct seam_pd_sample s = {
		.id = id_of(5, time_ns),
		.misc = PERF_RECORD_MISC_KERNEL,
		.ip = kernel_ips[0],
		.kernel_ips = kernel_ips,
		.n_kernel = 2,
		.payload = payload,
		.payload_size = size,
	};

	s.id.id = id;
	assert_int_equal(seam_pd_write_sample(w, &s), 0);
}

static void print(struct seam_payload_printer *p,
		  const struct seam_pd_reader *r, size_t i, const char *want)
{
	struct seam_strbuf b = {0};
	struct seam_pd_rec rec;

	seam_pd_record(r, i, &rec);
	assert_int_equal(rec.type, PERF_RECORD_SAMPLE);
	/* Nothing before the payload has moved. */
	assert_int_equal(rec.sample.chain.n, 3);
	seam_payload_print(p, seam_pd_event(r, (size_t)rec.event), &rec, &b);
	assert_string_equal(b.s ? b.s : "", want);
	seam_strbuf_fini(&b);
}

static void texts(void **state)
{
	struct payload lies = whole;
	struct seam_payload_printer *p;
	struct seam_pd_reader *r;
	struct seam_pd_writer *w;
	struct folder f;

	(void)state;
	folder_make(&f);
	w = open_traced(f.file, format);
	put(w, EVENT_ID, 1000, &whole, sizeof(whole));
	put(w, EVENT_ID, 2000, NULL, 0);
	put(w, EVENT_ID + 1, 3000, &whole, sizeof(whole));
	put(w, EVENT_ID, 4000, &whole, 10); /* ends inside a field */
	lies.what_len = 5;
	put(w, EVENT_ID, 5000, &lies, sizeof(lies));
	lies = whole;
	lies.type = TRACEPOINT + 1;
	put(w, EVENT_ID, 6000, &lies, sizeof(lies));
	put(w, EVENT_ID, 7000, &whole, sizeof(whole));
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	assert_int_equal(seam_pd_n_records(r), 7);
	assert_int_equal(seam_payload_printer_new(r, &p), 0);
	assert_non_null(p);
	print(p, r, 0, "x=-3 what=abc");
	print(p, r, 1, "[payload lost]");
	print(p, r, 2, "");
	/* Padding makes up for what is missing, but not for what is told. */
	print(p, r, 3, "[payload malformed]");
	print(p, r, 4, "[payload malformed]");
	print(p, r, 5, "[payload malformed]");
	print(p, r, 6, "x=-3 what=abc");
	seam_payload_printer_free(p);
	seam_pd_close(r);
	folder_remove(&f);
}

/* perf looks for what a payload names, and 6.1 ends where there is no such
 * tracepoint. */
static void script_of(const char *perf, const char *path)
{
	char command[512], out[4096];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command),
		 "'%s' script -F event,trace -i %s 2>&1", perf, path);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(out, 1, sizeof(out) - 1, f);
	out[n] = 0;
	assert_int_equal(pclose(f), 0);
	if (!strstr(out, "test:hit: [payload lost]"))
		print_error("%s: %s", perf, out);
	assert_non_null(strstr(out, "test:hit: [payload lost]"));
	assert_non_null(strstr(out, "test:hit: x=-3 what=abc"));
}

static void in_perf(void **state)
{
	const char *newest = getenv("SEAM_PERF");
	struct seam_pd_writer *w;
	struct folder f;

	(void)state;
	if (system("perf --version >/dev/null 2>&1")) {
		puts("perf does not run here: skipped");
		skip();
	}
	folder_make(&f);
	w = open_traced(f.file, format);
	put(w, EVENT_ID, 1000, &whole, sizeof(whole));
	put(w, EVENT_ID, 2000, NULL, 0);
	put(w, EVENT_ID, 3000, &whole, sizeof(whole));
	assert_int_equal(seam_pd_writer_close(w), 0);
	script_of("perf", f.file);
	if (newest && *newest)
		script_of(newest, f.file);
	folder_remove(&f);
}

/* A recording may be anybody's: what the library makes of it is not ours to
 * end by. */
static void hostile(void **state)
{
	struct seam_payload_printer *p;
	struct seam_pd_reader *r;
	struct seam_pd_writer *w;
	struct seam_pd_rec rec;
	struct folder f;

	(void)state;
	folder_make(&f);
	w = open_traced(f.file, crash);
	put(w, EVENT_ID, 1000, &whole, sizeof(whole));
	assert_int_equal(seam_pd_writer_close(w), 0);
	r = open_reader(f.file);
	assert_int_equal(seam_payload_printer_new(r, &p), 0);
	seam_pd_record(r, 0, &rec);
	for (int i = 0; i < 3; i++) {
		struct seam_strbuf b = {0};

		seam_payload_print(p, seam_pd_event(r, 0), &rec, &b);
		/* A later version may know that it cannot parse this. */
		if (b.len)
			assert_string_equal(b.s, "[payload unreadable]");
		seam_strbuf_fini(&b);
	}
	seam_payload_printer_free(p);
	seam_pd_close(r);
	folder_remove(&f);
}

struct seen {
	unsigned pages, formats;
	size_t bytes;
};

static void on_page(void *ctx, const char *text, size_t size)
{
	struct seen *seen = ctx;

	seen->pages++;
	assert_int_equal(size, 5);
	assert_memory_equal(text, "page\n", 5);
}

static void on_format(void *ctx, const char *system, const char *text,
		      size_t size)
{
	struct seen *seen = ctx;

	if (!seen->formats++) {
		assert_string_equal(system, "test");
		assert_int_equal(size, strlen(format));
		assert_memory_equal(text, format, size);
		return;
	}
	assert_string_equal(system, "seam");
	assert_memory_equal(text, "name: payload_lost\nID: 65535\n", 29);
}

static void sum(void *ctx, const char *text, size_t size)
{
	struct seen *seen = ctx;

	for (size_t i = 0; i < size; i++)
		seen->bytes += (unsigned char)text[i];
}

static void sum_format(void *ctx, const char *system, const char *text,
		       size_t size)
{
	sum(ctx, system, strlen(system));
	sum(ctx, text, size);
}

/* Every byte of the description a lie, and every length cut: never outside. */
static void damaged(void **state)
{
	struct seen seen = {0};
	const struct seam_pd_format_ops ops = {on_page, on_format, &seen};
	const struct seam_pd_format_ops sums = {sum, sum_format, &seen};
	struct seam_pd_reader *r;
	struct seam_pd_info *info;
	struct folder f;
	uint8_t *copy;
	size_t len;

	(void)state;
	folder_make(&f);
	assert_int_equal(seam_pd_writer_close(open_traced(f.file, format)), 0);
	r = open_reader(f.file);
	assert_true(seam_pd_formats(r, &ops));
	assert_int_equal(seen.pages, 1);
	assert_int_equal(seen.formats, 2);
	info = (struct seam_pd_info *)(uintptr_t)seam_pd_info(r);
	len = info->tracing_len;
	for (size_t i = 0; i < len; i++) {
		copy = malloc(len);
		assert_non_null(copy);
		memcpy(copy, info->tracing, len);
		copy[i] ^= 0xff;
		const uint8_t *was = info->tracing;

		info->tracing = copy;
		seam_pd_formats(r, &sums);
		info->tracing = was;
		free(copy);
	}
	/* Its end, three sizes of nothing, is not looked at. */
	for (size_t i = 0; i + 16 < len; i++) {
		copy = malloc(i ? i : 1);
		assert_non_null(copy);
		memcpy(copy, info->tracing, i);
		const uint8_t *was = info->tracing;

		info->tracing = copy;
		info->tracing_len = i;
		assert_false(seam_pd_formats(r, &sums));
		info->tracing = was;
		info->tracing_len = len;
		free(copy);
	}
	seam_pd_close(r);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(in_perf),
		cmocka_unit_test(hostile),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
