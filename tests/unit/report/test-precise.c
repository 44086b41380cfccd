// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: a precise event's instruction is told beside a stack that begins
 * with another, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <jansson.h>

#include "report/text.h"

/* Return: what JSON says of it; NULL: nothing. The caller frees. */
static char *told(struct seam_pd_attr *event, uint64_t ip, size_t n_frames)
{
	const struct seam_frame frame = {.ip = 0x1004, .exact = true};
	const struct seam_name name = {.sym = "f"};
	const struct seam_pd_rec rec = {.sample.ip = ip};
	const struct seam_stitched s = {.rec = &rec,
					.comm = "sh",
					.event = "cycles:pp",
					.frames = &frame,
					.n_frames = n_frames};
	struct seam_text t = {.sample = &s, .attr = event, .names = &name};
	struct seam_strbuf b = {0};
	const json_t *it;
	char *ret = NULL;
	json_t *all;

	seam_text_json(&b, &t);
	all = json_loads(b.s, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(all);
	it = json_object_get(all, "precise_ip");
	if (it)
		ret = strdup(json_string_value(it));
	json_decref(all);
	seam_strbuf_fini(&b);
	return ret;
}

static void beside_another(void **state)
{
	struct seam_pd_attr event = {
		.attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
			 .precise_ip = 2}};
	char *ip;

	(void)state;
	ip = told(&event, 0x1000, 1);
	assert_string_equal(ip, "0x1000");
	free(ip);
	ip = told(&event, 0x1000, 0);
	assert_string_equal(ip, "0x1000");
	free(ip);
	assert_null(told(&event, 0x1004, 1));
	event.attr.precise_ip = 0;
	assert_null(told(&event, 0x1000, 1));
	event.attr.precise_ip = 1;
	event.attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	assert_null(told(&event, 0x1000, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(beside_another)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
