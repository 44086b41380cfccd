// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: clients that no session takes, and what they are told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "seam/tracer.h"

/* No kernel gives so high a number. */
#define NOBODY 0x7ffffffe

static struct seam_session *opened(void)
{
	const struct seam_session_opts opts = {.sz = sizeof(opts),
					       .table_memory = 1 << 20,
					       .engine = SEAM_ENGINE_DEFERRED};
	struct seam_session *s = NULL;
	struct seam_errinfo info = {0};

	assert_int_equal(seam_session_open(&opts, &s, &info), 0);
	return s;
}

static void refused(struct seam_session *s, const struct seam_client_opts *opts,
		    int err, const char *why)
{
	struct seam_errinfo info = {0};

	assert_int_equal(seam_client_add(s, opts, &info), err);
	assert_non_null(strstr(info.reason, why));
	assert_null(strchr(info.reason, '\n'));
}

static const uint32_t nobody = NOBODY;
static const struct seam_client_opts client = {.sz = sizeof(client),
					       .name = "client",
					       .max_frames = 16,
					       .tasks = SEAM_TASKS_PROCESSES,
					       .ids = &nobody,
					       .n_ids = 1};

static void gone_and_twice(void **state)
{
	struct seam_session *s = opened();

	(void)state;
	refused(s, &client, -ESRCH, "there is no process 2147483646");
	refused(s, &client, -EBUSY, "a session has one client");
	seam_session_close(s);
}

static void too_much(void **state)
{
	struct seam_session *s = opened();
	struct seam_client_opts opts = client;

	(void)state;
	opts.max_frames = UINT32_MAX;
	refused(s, &opts, -EINVAL, "frames");
	opts.max_frames = 0;
	refused(s, &opts, -EINVAL, "frames");
	opts = client;
	opts.n_events = SIZE_MAX;
	refused(s, &opts, -EINVAL, "events");
	opts = client;
	opts.sz--;
	refused(s, &opts, -EINVAL, "");
	opts = client;
	opts.unwind = "magic";
	refused(s, &opts, -EINVAL, "magic");
	/* None of them was one. */
	refused(s, &client, -ESRCH, "there is no process");
	seam_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gone_and_twice),
		cmocka_unit_test(too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
