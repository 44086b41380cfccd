// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Description: around an exec a sample's stack is of the program that it was
 * taken in, on whichever side of it, or of more, the sample and record lie. */
#include "session.h"
#include "stitch/space.h"

static void expect_paths(struct session *t, const char *a, const char *b)
{
	struct seam_stitched out;

	assert_int_equal(seam_stitch_next(t->s, &out), 1);
	assert_int_equal(out.n_frames, 5);
	assert_string_equal(path_of(&out.frames[2]), a);
	assert_string_equal(path_of(&out.frames[4]), b);
}

/* Samples of an exec with a stack taken before it are of the old program,
 * with one taken on the way back of the new one; wherever they lie. */
static void exec(unsigned flags, const char *path, uint64_t ip)
{
	struct session t;

	begin(&t);
	put_map(t.w, 5, 10, 0x10000, 0x10000, "/bin/old");
	put_sample(t.w, 5, 100, 0x1001);
	put_comm(t.w, 5, 110, "new", true);
	put_map(t.w, 5, 120, 0x50000, 0x10000, "/bin/new");
	put_sample(t.w, 5, 130, 0x1001);
	put_stack(t.w, 5, 140, 0x1001, ip, SEAM_OUTERMOST, flags);
	put_sample(t.w, 5, 200, 0x2001);
	put_stack(t.w, 5, 210, 0x2001, 0x50000, SEAM_OUTERMOST, 0);
	stitch(&t);
	expect_paths(&t, path, path);
	expect_paths(&t, path, path);
	expect_paths(&t, "/bin/new", "/bin/new");
	end(&t);
}

static void test_exec(void **state)
{
	(void)state;
	exec(SEAM_PD_STACK_EXEC, "/bin/old", 0x10000);
	exec(0, "/bin/new", 0x50000);
}

/* A thread that an exec ended was kept from its last steps while its process
 * went through more of them: its last sample is late by as many. */
static void test_exec_late(void **state)
{
	struct session t;

	(void)state;
	begin(&t);
	put_map(t.w, 5, 10, 0x10000, 0x10000, "/bin/old");
	put_sample(t.w, 5, 100, 0x1001);
	for (unsigned i = 0; i < SEAM_SPACE_EXECS; i++) {
		uint64_t ns = 110 + 100 * i, at = 0x50000 + 0x20000 * i;

		put_comm(t.w, 5, ns, "new", true);
		put_map(t.w, 5, ns + 1, at, 0x10000, "/bin/new");
		put_sample(t.w, 5, ns + 2, 0x2001 + i);
		put_stack(t.w, 5, ns + 3, 0x2001 + i, at, SEAM_OUTERMOST, 0);
	}
	put_sample(t.w, 5, 2000, 0x1001);
	put_stack(t.w, 5, 2001, 0x1001, 0x10000, SEAM_OUTERMOST,
		  SEAM_PD_STACK_EXEC);
	stitch(&t);
	expect_paths(&t, "/bin/old", "/bin/old");
	for (int i = 0; i < SEAM_SPACE_EXECS; i++)
		expect_paths(&t, "/bin/new", "/bin/new");
	expect_paths(&t, "/bin/old", "/bin/old");
	assert_int_equal(finish(&t)->half[SEAM_HALF_JOINED],
			 SEAM_SPACE_EXECS + 2);
	end(&t);
}

/* A sample that has its user half with it, as old recordings do. */
static void put_whole(struct seam_pd_writer *w, uint64_t time_ns, uint64_t ip)
{
	struct {
		struct perf_event_header h;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time_ns;
		uint32_t cpu, reserved;
		uint64_t period, n, chain[4];
	} r = {
		.h = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, sizeof(r)},
		.id = EVENT_ID,
		.ip = kernel_ips[0],
		.pid = 5,
		.tid = 5,
		.time_ns = time_ns,
		.n = 4,
		.chain = {(uint64_t)PERF_CONTEXT_KERNEL, kernel_ips[0],
			  (uint64_t)PERF_CONTEXT_USER, ip},
	};

	assert_int_equal(seam_pd_write_raw(w, &r.h), 0);
}

/* In execve the user registers are still those of the old program. */
static void test_exec_whole(void **state)
{
	static const char *const paths[] = {"/bin/old", "/bin/new", ""};
	static const uint64_t ips[] = {0x10800, 0x50800, 0x90800};
	struct seam_stitched out;
	struct session t;

	(void)state;
	begin(&t);
	put_map(t.w, 5, 10, 0x10000, 0x10000, "/bin/old");
	put_comm(t.w, 5, 110, "new", true);
	put_map(t.w, 5, 120, 0x50000, 0x10000, "/bin/new");
	for (int i = 0; i < 3; i++)
		put_whole(t.w, 130, ips[i]);
	stitch(&t);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(seam_stitch_next(t.s, &out), 1);
		assert_int_equal(out.half, SEAM_HALF_WITH);
		assert_int_equal(out.end, 0);
		assert_int_equal(out.n_frames, 2);
		assert_int_equal(out.n_kernel, 1);
		assert_string_equal(path_of(&out.frames[1]), paths[i]);
	}
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_exec_late),
		cmocka_unit_test(test_exec_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
