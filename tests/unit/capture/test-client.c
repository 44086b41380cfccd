// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: clients that no session takes, and what they are told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/libbpf.h>

#include "capture/session-priv.h"
#include "seam/lend.h"
#include "seam/tracer.h"

static void on_sample(void *ctx, const struct seam_sample *sample)
{
	(void)ctx;
	(void)sample;
}

static void on_stack(void *ctx, const struct seam_user_stack *stack)
{
	(void)ctx;
	(void)stack;
}

/* No kernel gives so high a number. */
#define NOBODY 0x7ffffffe

static struct seam_session *opened_with(enum seam_engine engine)
{
	const struct seam_session_opts opts = {
		.sz = sizeof(opts), .table_memory = 1 << 20, .engine = engine};
	struct seam_session *s = NULL;
	struct seam_errinfo info = {0};

	assert_int_equal(seam_session_open(&opts, &s, &info), 0);
	return s;
}

static struct seam_session *opened(void)
{
	return opened_with(SEAM_ENGINE_DEFERRED);
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
					       .n_ids = 1,
					       .on_sample = on_sample,
					       .on_stack = on_stack};

static uint32_t self; /* this process */
static const struct seam_client_opts own = {.sz = sizeof(own),
					    .name = "client",
					    .max_frames = 16,
					    .tasks = SEAM_TASKS_PROCESSES,
					    .ids = &self,
					    .n_ids = 1,
					    .on_sample = on_sample,
					    .on_stack = on_stack};

static void gone_and_twice(void **state)
{
	struct seam_session *s = opened();

	(void)state;
	refused(s, &client, -ESRCH, "there is no process 2147483646");
	/* That was none: another may be. */
	refused(s, &client, -ESRCH, "there is no process 2147483646");
	seam_session_close(s);
}

/* Who is removed gives its place free, and may come again. */
static void removed(void **state)
{
	struct seam_session *s = opened_with(SEAM_ENGINE_DUMP);
	const struct seam_client_event event = {.freq = 100,
						.name = "cpu-clock"};
	struct seam_client_opts opts = own;

	(void)state;
	opts.events = &event;
	opts.n_events = 1;
	assert_int_equal(seam_client_remove(s), -ENOENT);
	assert_int_equal(seam_session_start(s, NULL), -EINVAL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(seam_client_add(s, &opts, NULL), 0);
		refused(s, &opts, -EBUSY, "a session has one client");
		assert_int_equal(seam_session_start(s, NULL), 0);
		assert_int_equal(seam_client_remove(s), 0);
		assert_int_equal(seam_client_remove(s), -ENOENT);
		assert_int_equal(seam_session_read(s), -EINVAL);
		assert_int_equal(seam_session_stop(s), 0);
		assert_int_equal(seam_session_fd(s), -EINVAL);
	}
	seam_session_close(s);
}

static void too_much(void **state)
{
	struct seam_session *s = opened();
	struct seam_client_opts opts = client;

	(void)state;
	opts.max_frames = UINT32_MAX;
	refused(s, &opts, -EINVAL, "frames");
	opts = client;
	opts.n_events = SIZE_MAX;
	refused(s, &opts, -EINVAL, "events");
	opts = client;
	opts.unwind = "magic";
	refused(s, &opts, -EINVAL, "magic");
	/* None of them was one. */
	refused(s, &client, -ESRCH, "there is no process");
	seam_session_close(s);
}

static void nobody_listens(void **state)
{
	const struct seam_client_event event = {.freq = 1, .name = "cpu-clock"};
	const struct seam_client_event deep = {
		.freq = 1, .name = "cpu-clock/max-stack=3/"};
	struct seam_session *s = opened();
	struct seam_client_opts opts = client;

	(void)state;
	opts.on_stack = NULL;
	refused(s, &opts, -EINVAL, "needs on_stack");
	opts.n_events = 1;
	refused(s, &opts, -EINVAL, "are NULL");
	opts.events = &event;
	refused(s, &opts, -EINVAL, "needs on_stack");
	opts.on_sample = NULL;
	refused(s, &opts, -EINVAL, "needs on_sample");
	opts = client;
	opts.max_frames = 0;
	refused(s, &opts, -EINVAL, "needs max_frames");
	opts.ids = NULL;
	refused(s, &opts, -EINVAL, "are NULL");
	opts = client;
	opts.tasks = 7;
	refused(s, &opts, -EINVAL, "tasks are all");
	seam_session_close(s);
	/* An event's own wish is seen when it is open. */
	s = opened_with(SEAM_ENGINE_DUMP);
	opts = own;
	opts.events = &deep;
	opts.n_events = 1;
	opts.max_frames = 0;
	opts.on_stack = NULL;
	refused(s, &opts, -EINVAL, "it wants user stacks");
	seam_session_close(s);
}

/* With events of its own, which want no user stack. */
static void no_frames(void **state)
{
	const struct seam_client_event event = {.freq = 1, .name = "cpu-clock"};
	struct seam_session *s = opened_with(SEAM_ENGINE_DUMP);
	struct seam_client_opts opts = own;

	(void)state;
	opts.events = &event;
	opts.n_events = 1;
	opts.max_frames = 0;
	opts.on_stack = NULL;
	assert_int_equal(seam_client_add(s, &opts, NULL), 0);
	refused(s, &opts, -EBUSY, "a session has one client");
	seam_session_close(s);
}

/* What a later version's structure may look like. */
struct later {
	struct seam_client_opts opts;
	uint64_t more[2];
};

static void versions(void **state)
{
	struct seam_session *s = opened();
	struct later later = {.opts = client};
	struct {
		struct seam_counts counts;
		uint64_t more;
	} counts = {.more = 7};
	struct seam_session_opts session = {.sz = sizeof(session)};
	struct seam_errinfo info = {0};

	(void)state;
	later.opts.sz = 0;
	refused(s, &later.opts, -EINVAL, "sizeof");
	later.opts.sz = SIZE_MAX;
	refused(s, &later.opts, -EINVAL, "sizeof");
	later.opts.sz = sizeof(later);
	refused(s, &later.opts, -ESRCH, "there is no process");
	later.more[1] = 1;
	refused(s, &later.opts, -E2BIG, "a later version");
	/* An earlier one, without all behind the depth. */
	later.opts.sz = offsetof(struct seam_client_opts, unwind);
	refused(s, &later.opts, -EINVAL, "needs on_stack");
	session.sz = 0;
	assert_int_equal(seam_session_open(&session, &s, &info), -EINVAL);
	assert_non_null(strstr(info.reason, "seam_session_opts"));
	session.sz = offsetof(struct seam_session_opts, engine);
	session.engine = 77; /* is not looked at */
	seam_session_close(s);
	assert_int_equal(seam_session_open(&session, &s, &info), 0);
	/* What is filled is as large as it says. */
	assert_int_equal(seam_session_counts(s, &counts.counts), -EINVAL);
	counts.counts.sz = sizeof(counts);
	assert_int_equal(seam_session_counts(s, &counts.counts), 0);
	assert_int_equal(counts.more, 0);
	assert_int_equal(counts.counts.sz, sizeof(counts));
	counts.counts.sz = offsetof(struct seam_counts, images_gone);
	counts.counts.images_gone = 7;
	assert_int_equal(seam_session_counts(s, &counts.counts), 0);
	assert_int_equal(counts.counts.images_gone, 7);
	seam_session_close(s);
}

/* Where it has all stacks, nobody would delete others' from its map. */
static void keeps_no_others(void **state)
{
	struct seam_session s = {.lent = true, .client = {.all = true}};
	struct seam_errinfo info = {0};

	(void)state;
	assert_int_equal(seam_session_keep_in(&s, 0, &info), -EINVAL);
	assert_non_null(strstr(info.reason, "all stacks"));
}

/* What a tool says begins with its client's name, or else its programs'. */
static void tool_name(void **state)
{
	const struct seam_client_opts unnamed = {.sz = sizeof(unnamed)};
	struct bpf_object *obj = NULL;
	struct bpf_object_skeleton skel = {
		.sz = sizeof(skel), .name = "tool", .obj = &obj};
	FILE *was = stderr, *said = tmpfile();
	static const char begin[] =
		"tool: opening a session failed (Invalid argument); ";
	char text[256] = "";
	unsigned int number;

	(void)state;
	assert_non_null(said);
	stderr = said;
	assert_int_equal(seam_tool_run(&skel, &unnamed, &number), 1);
	stderr = was;
	rewind(said);
	assert_non_null(fgets(text, sizeof(text), said));
	assert_memory_equal(text, begin, strlen(begin));
	fclose(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gone_and_twice),
		cmocka_unit_test(removed),
		cmocka_unit_test(too_much),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(no_frames),
		cmocka_unit_test(versions),
		cmocka_unit_test(keeps_no_others),
		cmocka_unit_test(tool_name),
	};

	self = (uint32_t)getpid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
