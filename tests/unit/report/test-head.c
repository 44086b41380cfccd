// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: heads of samples whose parts are kept are what they are made
 * anew, whatever changes from one to the next, also what is too long to be
 * kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/text.h"

#define SAMPLES 20000

static char long_name[200];

static const struct seam_pd_attr events[] = {
	{.name = "cpu-clock",
	 .attr.sample_type =
		 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN},
	{.name = "cycles", .attr.sample_type = PERF_SAMPLE_CALLCHAIN},
	{.name = "sched:x",
	 .attr.type = PERF_TYPE_TRACEPOINT,
	 .attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN},
	{.name = long_name, .attr.sample_type = PERF_SAMPLE_CALLCHAIN},
};

static const char *const comms[] = {"sh", "a b", "\033[31m", long_name};

/* Of n things one of the first two, mostly. */
static size_t any(size_t n)
{
	size_t i = (size_t)rand();

	return i % 16 ? i / 16 % 2 : i / 16 % n;
}

static void test_heads(void **state)
{
	struct seam_text_head heads[SEAM_TEXT_HEADS] = {0};
	struct seam_strbuf kept = {0}, anew = {0};

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	for (int i = 0; i < SAMPLES; i++) {
		const struct seam_pd_attr *event = &events[any(4)];
		const struct seam_pd_rec rec = {
			.tid = any(3) == 2 ? UINT32_MAX : (uint32_t)any(2) + 7,
			.cpu = (uint32_t)any(2) * SEAM_TEXT_HEADS,
			.time_ns = (uint64_t)i * 1000003,
			.sample.period = 4000 + any(2),
		};
		const struct seam_stitched s = {.rec = &rec,
						.comm = comms[any(4)],
						.event = event->name};
		struct seam_text t = {.sample = &s, .attr = event};

		seam_strbuf_reset(&anew);
		seam_strbuf_reset(&kept);
		seam_text_perf(&anew, &t);
		t.heads = heads;
		seam_text_perf(&kept, &t);
		assert_int_equal(anew.err | kept.err, 0);
		assert_string_equal(kept.s, anew.s);
	}
	seam_strbuf_fini(&kept);
	seam_strbuf_fini(&anew);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_heads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
