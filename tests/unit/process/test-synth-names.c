// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: what a recording says of threads that run already has their
 * names as the kernel's own records do, whatever characters these have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "process/synth.h"

struct comm { /* PERF_RECORD_COMM */
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[64];
};

static struct comm got;

static int take(void *ctx, const struct perf_event_header *record)
{
	(void)ctx;
	if (record->type == PERF_RECORD_COMM && record->size <= sizeof(got))
		memcpy(&got, record, record->size);
	return 0;
}

static void names(void **state)
{
	static const char *const all[] = {
		"a\nb",	 "\n",	  "a\n", "\n\nb",
		"plain", "a\\nb", "",	 "fifteen letters"};
	const struct seam_synth synth = {.time_ns = 1, .id = 2, .fn = take};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		got = (struct comm){0};
		assert_int_equal(prctl(PR_SET_NAME, all[i]), 0);
		assert_int_equal(seam_synth_process(&synth, (uint32_t)getpid()),
				 0);
		assert_int_equal(got.pid, getpid());
		assert_string_equal(got.name, all[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
