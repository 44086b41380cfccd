// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: perf 6.19 or later, named by $SEAM_PERF, reads and merges what
 * the writer leaves: closed, killed after a flush, killed inside one; and all
 * its features. Without $SEAM_PERF the test is skipped. */
#include <time.h>

#include "perfdata/format.h"
#include "recording.h"

enum state { CLOSED, KILLED, KILLED_INSIDE };

static void write_file(const char *path, int zstd, enum state state)
{
	struct seam_pd_writer *w = open_writer(path, zstd);
	uint64_t i;

	put_comm(w, 77, 1000, "prog", false);
	put_map(w, 77, 1100, 0x400000, 0x1000, "/no/such/prog");
	for (i = 1; i <= 40; i++) {
		put_sample(w, 77, 10000 * i, i << 16 | 1);
		put_sample(w, 77, 10000 * i + 1000, i << 16 | 1);
		/* End codes and flags must be invisible to perf. */
		put_stack(w, 77, 10000 * i + 2000, i << 16 | 1, 0x400010,
			  (int)i % 32, (unsigned)i % 32);
		if (i % 10 == 0)
			assert_int_equal(seam_pd_flush(w), 0);
	}
	if (state == CLOSED) {
		assert_int_equal(seam_pd_writer_close(w), 0);
		return;
	}
	/* Killed: nothing that close does is in the file. Its memory is
	 * freed here all the same. */
	uint8_t *data;
	size_t size = slurp_file(path, &data);
	struct pd_header h;
	FILE *f;

	assert_int_equal(seam_pd_writer_close(w), 0);
	if (state == KILLED_INSIDE) {
		memcpy(&h, data, sizeof(h));
		memset(h.features, 0, sizeof(h.features));
		memcpy(data, &h, sizeof(h));
		size = h.data.offset + h.data.size;
	}
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	free(data);
}

static char *run_perf(const char *args, const char *path)
{
	char cmd[512], *out = calloc(1, 1 << 20);
	FILE *f;

	assert_non_null(out);
	snprintf(cmd, sizeof(cmd), "'%s' %s -i %s 2>&1", getenv("SEAM_PERF"),
		 args, path);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_true(fread(out, 1, (1 << 20) - 1, f) > 0);
	assert_int_equal(pclose(f), 0);
	return out;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static void check_script(const char *path)
{
	char *out = run_perf("script --no-inline", path);

	assert_int_equal(count(out, "cpu-clock:test: \n"), 80);
	assert_int_equal(count(out, "prog      77 [000]"), 80);
	assert_int_equal(count(out, "\tffffffff81000010 "), 80);
	assert_int_equal(count(out, "\t          400010 [unknown] "
				    "(/no/such/prog)\n"),
			 80);
	assert_int_equal(count(out, "\t          400210 "), 80);
	assert_null(strstr(out, "[unknown] (cookie)"));
	assert_null(strstr(out, "rror"));
	assert_null(strstr(out, "nordered"));
	free(out);
}

/* Those in the file's table; the ones in the data do not show here. */
static void check_features(const char *path, int zstd)
{
	static const char *const lines[] = {
		"# hostname : ",
		"# os release : ",
		"# perf version : seam ",
		"# arch : ",
		"# nrcpus online : ",
		"# cmdline : ",
		" record -- true",
		"# event : name = cpu-clock:test, , id = { 11, 12 }",
		"# event : name = dummy:u, , id = { 21, 22 }",
		"defer_callchain = 1",
		"# time of first sample : 0.000010",
		"# time of last sample : 0.000401",
		"# clockid: monotonic (1)",
		"# reference time: ",
	};
	char *out = run_perf("script --header-only", path);

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (!strstr(out, lines[i]))
			print_error("missing: %s\n%s", lines[i], out);
		assert_non_null(strstr(out, lines[i]));
	}
	assert_int_equal(count(out, "# compressed : Zstd"), zstd);
	free(out);
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(id, &ts), 0);
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* By the wall clock, as the recording says where that stood. */
static void check_wall_clock(const char *path)
{
	const uint64_t second_ns = 1000000000;
	const int64_t ahead_ns =
		clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	char *out = run_perf("script --ns -F time,tod", path), want[64];
	struct seam_pd_reader *r = open_reader(path);
	const struct seam_pd_info *info = seam_pd_info(r);
	uint64_t at_ns, time_ns = 10000; /* the first sample's */
	struct tm tm;
	time_t at;
	size_t n;

	assert_int_equal(info->clockid, CLOCK_MONOTONIC);
	at_ns = info->wall_clock_ns - info->clockid_ns + time_ns;
	assert_true(llabs((int64_t)(at_ns - time_ns) - ahead_ns) <
		    (int64_t)second_ns / 2);
	at = (time_t)(at_ns / second_ns);
	assert_non_null(localtime_r(&at, &tm));
	n = strftime(want, sizeof(want), "%F %T", &tm);
	snprintf(want + n, sizeof(want) - n, ".%09llu ",
		 (unsigned long long)(at_ns % second_ns));
	if (!strstr(out, want))
		print_error("missing: %s\n%.300s", want, out);
	assert_non_null(strstr(out, want));
	seam_pd_close(r);
	free(out);
}

static void check_all(int zstd)
{
	struct folder f;

	for (enum state s = CLOSED; s <= KILLED_INSIDE; s++) {
		folder_make(&f);
		write_file(f.file, zstd, s);
		check_script(f.file);
		if (s != KILLED_INSIDE) {
			check_features(f.file, zstd);
			check_wall_clock(f.file);
		}
		folder_remove(&f);
	}
}

static void test_plain(void **state)
{
	(void)state;
	check_all(0);
}

static void test_zstd(void **state)
{
	(void)state;
	check_all(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_zstd),
	};

	if (!getenv("SEAM_PERF")) {
		puts("SEAM_PERF names no perf of 6.19 or later: skipped");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
