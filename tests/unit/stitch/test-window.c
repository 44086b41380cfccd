// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: where more comes within the window than may be held, the older
 * half leaves as if the window had passed, and memory is bounded by that. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/uapi.h"
#include "perfdata/format.h"
#include "perfdata/stream.h"
#include "stitch/stitch.h"

#define N_SAMPLES 100000
#define HELD_MAX (1u << 20)

struct sample {
	struct perf_event_header h;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns, n, chain[4];
};

struct head {
	uint64_t magic, size;
	struct perf_event_header h;
	struct perf_event_attr attr;
};

static void send(int fd, const void *p, size_t n)
{
	assert_int_equal(write(fd, p, n), n);
}

/* All of one time, so that the window never passes. */
static void *writer(void *arg)
{
	const int fd = *(int *)arg;
	struct head head = {
		.magic = PD_MAGIC,
		.size = PD_PIPE_HEADER_SIZE,
		.h = {PD_HEADER_ATTR, 0, 8 + sizeof(head.attr)},
		.attr = {.size = sizeof(head.attr),
			 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					PERF_SAMPLE_TIME |
					PERF_SAMPLE_CALLCHAIN},
	};
	struct sample s = {
		.h = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, sizeof(s)},
		.pid = 1,
		.tid = 1,
		.time_ns = 5,
		.n = 4,
		.chain = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000,
			  SEAM_CONTEXT_USER_DEFERRED, 7},
	};

	send(fd, &head, sizeof(head));
	for (int i = 0; i < N_SAMPLES; i++)
		send(fd, &s, sizeof(s));
	close(fd);
	return NULL;
}

static void test_full(void **state)
{
	int fds[2];
	struct seam_pd_stream_opts opts = {.window_ns = 1000};
	struct seam_pd_reader *r = NULL;
	struct seam_stitch *st = NULL;
	struct seam_stitched s;
	uint64_t n_early = 0, n = 0;
	pthread_t thread;
	int rc;

	(void)state;
	seam_pd_stream_max = HELD_MAX;
	assert_int_equal(pipe(fds), 0);
	opts.fd = fds[0];
	assert_int_equal(pthread_create(&thread, NULL, writer, &fds[1]), 0);
	assert_int_equal(seam_pd_open_stream(&opts, &r, NULL), 0);
	assert_true(seam_pd_is_stream(r));
	assert_int_equal(seam_stitch_new(r, &st), 0);
	while ((rc = seam_stitch_next(st, &s)) > 0) {
		n++;
		n_early += s.end == SEAM_WINDOW;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(n, N_SAMPLES);
	/* But those that were held at the end. */
	assert_in_range(n_early, N_SAMPLES - HELD_MAX / sizeof(struct sample),
			N_SAMPLES - 1);
	assert_int_equal(seam_stitch_stats(st)->end[SEAM_WINDOW], n_early);
	seam_stitch_free(st);
	seam_pd_close(r);
	pthread_join(thread, NULL);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
